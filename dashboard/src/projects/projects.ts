import type { ResourceObject } from '@standin/contract';
import type { Backend, ProjectLog } from '../backend.ts';
import { listEndpoints } from '../endpoints/endpoints.ts';
import type { ProjectName } from '../resources/names.ts';
import { NotFound } from '../resources/not-found.ts';
import { ownerOf, ownershipReason } from '../resources/ownership.ts';
import { projectStatus } from '../resources/specs.ts';

/** Returns a project. Rejects with `NotFound` or `SourceError`. */
export const getProject = async (
  { resources }: Pick<Backend, 'resources'>,
  { namespace, project }: ProjectName,
): Promise<ResourceObject> => {
  const object = await resources.get({ kind: 'Project', namespace, name: project });
  if (object !== undefined) return object;
  const detail = `Project ${project} does not exist in namespace ${namespace}.`;
  throw new NotFound('project', `project ${namespace}/${project}`, detail);
};

/** Opens the log of a project, after checking that the user may read it. In local mode, also opens the logs of removed projects. */
export const openLog = async (
  { resources, logs }: Pick<Backend, 'resources' | 'logs'>,
  project: ProjectName,
): Promise<ProjectLog> => {
  try {
    const { namespace, name, uid } = (await getProject({ resources }, project)).metadata;
    return await logs.open({ namespace, name, uid });
  } catch (error) {
    const log =
      error instanceof NotFound
        ? await logs.openByName?.({ namespace: project.namespace, name: project.project })
        : undefined;
    if (log === undefined) throw error;
    return log;
  }
};

/**
 * Returns the gateway URL for a project. This URL does not contain the project URI, because the targets of captured requests begin
 * with that URI. Returns undefined until the project has a URL.
 */
export const gatewayUrl = (project: ResourceObject): string | undefined => {
  const { uri, url } = projectStatus(project);
  const end = `/${uri ?? ''}`;
  return uri !== undefined && url?.endsWith(end) === true ? url.slice(0, -end.length) : undefined;
};

/**
 * Deletes a project and, if requested, its endpoints first. If a tool manages one of them, deletes nothing and resolves to the
 * reason. Rejects with `SourceError`.
 */
export const deleteProject = async (
  backend: Backend,
  project: ResourceObject,
  { withEndpoints }: { readonly withEndpoints: boolean },
): Promise<string | undefined> => {
  const { namespace, name, uid } = project.metadata;
  const owner = ownerOf(project);
  if (owner !== undefined) return ownershipReason(owner);
  const endpoints = withEndpoints ? await listEndpoints(backend, { namespace, project: name }) : [];
  for (const endpoint of endpoints) {
    const itsOwner = ownerOf(endpoint);
    if (itsOwner !== undefined) return `Cannot delete endpoint ${endpoint.metadata.name}. ${ownershipReason(itsOwner)}`;
  }
  for (const endpoint of endpoints)
    await backend.resources.delete(
      { kind: 'Endpoint', namespace, name: endpoint.metadata.name },
      endpoint.metadata.uid,
    );
  await backend.resources.delete({ kind: 'Project', namespace, name }, uid);
  return undefined;
};
