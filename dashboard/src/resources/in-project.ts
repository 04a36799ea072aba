import type { ResourceObject } from '@standin/contract';
import type { Backend } from '../backend.ts';
import type { ProjectName } from './names.ts';
import { newestFirst } from './newest-first.ts';
import { NotFound } from './not-found.ts';
import { validSpec } from './specs.ts';

/** The kinds of operations whose objects belong to a project only while they are valid. */
type ProjectKind = 'Purge' | 'Expectation';

const isInProject = (kind: ProjectKind, object: ResourceObject, project: string): boolean =>
  validSpec(kind, object)?.projectRef.name === project;

/** Returns the valid objects of a kind in one project, newest first. Rejects with `SourceError`. */
export const listInProject = async (
  { resources }: Backend,
  kind: ProjectKind,
  { namespace, project }: ProjectName,
): Promise<readonly ResourceObject[]> =>
  newestFirst((await resources.list(kind, namespace)).filter((object) => isInProject(kind, object, project)));

/** Returns an object of this project. Rejects with `NotFound` or `SourceError`. */
export const getInProject = async (
  { resources }: Backend,
  kind: ProjectKind,
  { namespace, project, name }: ProjectName & { readonly name: string },
): Promise<ResourceObject> => {
  const object = await resources.get({ kind, namespace, name });
  if (object !== undefined && isInProject(kind, object, project)) return object;
  const what = kind.toLowerCase() as Lowercase<ProjectKind>;
  throw new NotFound(what, `${what} ${name}`);
};
