import { buildGoProgram, type Progress } from '../cluster/go-program.ts';
import { prepareNode } from '../cluster/node/needs.ts';
import { findFilesThatNeed } from './cluster-needs.ts';

const NODE_MODULE = 'test/cluster/node/start-node.ts';

/**
 * Returns the test files that start a real node, among those that vitest's `filters` select. Without filters, all files are
 * selected.
 */
export const findNodeNeeds = (filters: readonly string[]): Promise<readonly string[]> =>
  findFilesThatNeed(NODE_MODULE, filters);

/**
 * Installs the Debian packages and builds the DNS program that a node needs in addition to the cluster program. Throws
 * MissingToolError with instructions if this machine cannot run a node.
 */
export const prepareNodeTests = async (report: Progress): Promise<void> => {
  await prepareNode(report);
  await buildGoProgram('dns', report);
};
