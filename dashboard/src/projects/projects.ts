import type { ResourceObject } from '@standin/contract';
import type { Backend, ProjectLog } from '../backend.ts';
import type { ProjectName } from '../resources/names.ts';
import { NotFound } from '../resources/not-found.ts';
import { projectStatus } from '../resources/specs.ts';

/** Rejects with `NotFound` or `SourceError`. */
export const getProject = async (
  { resources }: Pick<Backend, 'resources'>,
  { namespace, project }: ProjectName,
): Promise<ResourceObject> => {
  const object = await resources.get({ kind: 'Project', namespace, name: project });
  if (object !== undefined) return object;
  const detail = `There is no project ${project} in the namespace ${namespace}.`;
  throw new NotFound('project', `project ${namespace}/${project}`, detail);
};

/** The log of a project. Checks first that the user may read it. */
export const openLog = async (backend: Backend, project: ProjectName): Promise<ProjectLog> => {
  const { namespace, name, uid } = (await getProject(backend, project)).metadata;
  return backend.logs.open({ namespace, name, uid });
};

/**
 * The gateway's URL for a project, without the project's URI: targets of captured requests begin with that URI. Undefined until the project has a
 * URL.
 */
export const gatewayUrl = (project: ResourceObject): string | undefined => {
  const { uri, url } = projectStatus(project);
  const end = `/${uri ?? ''}`;
  return uri !== undefined && url?.endsWith(end) === true ? url.slice(0, -end.length) : undefined;
};
