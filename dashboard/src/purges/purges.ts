import { randomBytes } from 'node:crypto';
import { GROUP_VERSION, type DesiredObject, type ResourceObject } from '@standin/contract';
import type { Problem, PurgeSpec } from '@standin/crds';
import { parseFilter } from '@standin/exchange/search';
import type { ApplyResult, Backend } from '../backend.ts';
import { checkProject } from '../projects/projects.ts';
import type { ProjectName } from '../resources/names.ts';
import { validSpec } from '../resources/specs.ts';

const NAME_BYTES = 4;

/** What a new Purge deletes, and why. The values have not been checked. */
export interface NewPurge {
  /** If undefined, a name is generated. */
  readonly name?: string | undefined;
  readonly filter: PurgeSpec['filter'];
  readonly requests?: string | undefined;
  readonly reason: string;
}

/** Returns the spec of a Purge, or undefined if the object is invalid. */
export const purgeSpec = (object: ResourceObject): PurgeSpec | undefined => validSpec('Purge', object);

const toObject = (
  { namespace, project }: ProjectName,
  { name = `purge-${randomBytes(NAME_BYTES).toString('hex')}`, ...spec }: NewPurge,
): DesiredObject => ({
  apiVersion: GROUP_VERSION,
  kind: 'Purge',
  metadata: { namespace, name },
  spec: { projectRef: { name: project }, ...spec },
});

const SEARCH = 'spec.filter.search';

/**
 * Returns the problems with the search. The operator also rejects an invalid search, but the rejected Purge would remain as a
 * record of nothing. A search that matches all requests is probably a mistake.
 */
const searchProblems = ({ filter: { search, from } }: NewPurge): readonly Problem[] => {
  if (search === undefined || search === '') return [];
  const parsed = parseFilter(search);
  if (parsed.kind === 'invalid') return [{ path: SEARCH, message: parsed.problem.message }];
  const selectsAll = parsed.filter.kind === 'everything' && from === undefined;
  return selectsAll
    ? [
        {
          path: SEARCH,
          message:
            'selects all requests: to delete all requests, choose “All requests” (requests: All) instead of a search',
        },
      ]
    : [];
};

/** Creates a Purge with the user's permissions. The operator deletes the requests. Rejects with `NotFound` or `SourceError`. */
export const createPurge = async (backend: Backend, project: ProjectName, purge: NewPurge): Promise<ApplyResult> => {
  // Permission to create a Purge is enough to delete requests.
  await checkProject(backend, project);
  const problems = searchProblems(purge);
  return problems.length > 0 ? { ok: false, problems } : backend.resources.apply(toObject(project, purge), 'absent');
};

/**
 * Returns the problems with the search, and those that a dry run finds. Creates nothing. Rejects with `SourceError` if the user may
 * not create the purge.
 */
export const checkPurge = async (
  { resources }: Backend,
  project: ProjectName,
  purge: NewPurge,
): Promise<readonly Problem[]> => [
  ...searchProblems(purge),
  ...(await resources.check(toObject(project, purge), 'absent')),
];
