import { buildGoProgram, type Progress } from '../cluster/go-program.ts';
import { prepareNode } from '../cluster/node/needs.ts';
import { findFilesThatNeed } from './cluster-needs.ts';

const NODE_MODULE = 'test/cluster/node/start-node.ts';

/** Test files that start a real node, of those that vitest's `filters` choose (none: all of them). */
export const findNodeNeeds = (filters: readonly string[]): Promise<readonly string[]> =>
  findFilesThatNeed(NODE_MODULE, filters);

/** Makes ready what a node needs: Debian's packages, programs. Throws MissingToolError with what to do where this machine can have none. */
export const prepareNodeTests = async (say: Progress): Promise<void> => {
  await prepareNode(say);
  await buildGoProgram('dns', say);
};
