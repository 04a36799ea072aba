import { randomBytes } from 'node:crypto';
import { GROUP_VERSION } from '@standin/contract';
import type { ExpectationSpec } from '@standin/crds';
import { parseFilter } from '@standin/exchange/search';
import type { ApplyResult, Backend } from '../backend.ts';
import { checkProject } from '../projects/projects.ts';
import type { ProjectName } from '../resources/names.ts';

const NAME_BYTES = 4;

/** What a new Expectation counts. The values have not been checked. */
export interface NewExpectation {
  /** If undefined, a name is generated. */
  readonly name?: string | undefined;
  readonly filter?: ExpectationSpec['filter'];
  readonly count: { readonly min?: unknown; readonly max?: unknown };
  readonly from?: string | undefined;
  readonly deadline?: string;
}

/**
 * Creates an Expectation with the user's permissions. The operator counts the requests. The operator also rejects an invalid search,
 * but the rejected Expectation would remain. Rejects with `NotFound` or `SourceError`.
 */
export const createExpectation = async (
  backend: Backend,
  project: ProjectName,
  { name = `expect-${randomBytes(NAME_BYTES).toString('hex')}`, ...spec }: NewExpectation,
): Promise<ApplyResult> => {
  // Permission to create an Expectation is enough to count requests.
  await checkProject(backend, project);
  const parsed = parseFilter(spec.filter?.search ?? '');
  if (parsed.kind === 'invalid')
    return { ok: false, problems: [{ path: 'spec.filter.search', message: parsed.problem.message }] };
  return backend.resources.apply(
    {
      apiVersion: GROUP_VERSION,
      kind: 'Expectation',
      metadata: { namespace: project.namespace, name },
      spec: { projectRef: { name: project.project }, ...spec },
    },
    'absent',
  );
};
