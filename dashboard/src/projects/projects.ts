import { SourceError, type ResourceObject } from '@standin/contract';
import { projectUri } from '@standin/crds';
import type { Backend, ProjectLog } from '../backend.ts';
import { listEndpoints } from '../endpoints/endpoints.ts';
import type { ProjectName } from '../resources/names.ts';
import { NotFound } from '../resources/not-found.ts';
import { managingTool, ownershipReason } from '../resources/ownership.ts';
import { projectSpec, projectStatus } from '../resources/specs.ts';

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

/** Checks that the project exists, if the user may read it. Rejects with `NotFound` or `SourceError`. */
export const checkProject = async (backend: Pick<Backend, 'resources'>, project: ProjectName): Promise<void> => {
  try {
    await getProject(backend, project);
  } catch (error) {
    if (!(error instanceof SourceError && error.kind === 'Forbidden')) throw error;
  }
};

/** Opens the log of a project, after checking that the user may read it. In local mode, also opens the logs of removed projects. */
export const openLog = async (
  { resources, logs }: Pick<Backend, 'resources' | 'logs'>,
  project: ProjectName,
): Promise<ProjectLog> => {
  try {
    return await logs.open(await resources.findIdentity(await getProject({ resources }, project)));
  } catch (error) {
    const log =
      error instanceof NotFound
        ? await logs.openByName?.({ namespace: project.namespace, name: project.project })
        : undefined;
    if (log === undefined) throw error;
    return log;
  }
};

/** Where callers reach a project. */
export interface ProjectAddress {
  readonly uri: string;
  readonly url: string;
}

/**
 * Returns the address of a project, or undefined if the operator has not accepted the project or cannot confirm its identity. Users
 * may be able to edit a status, so the address never comes from there. Otherwise, people and programs could send the API key to a
 * stranger.
 */
export const projectAddress = async (
  { resources, gatewayUrl }: Pick<Backend, 'resources' | 'gatewayUrl'>,
  project: ResourceObject,
): Promise<ProjectAddress | undefined> => {
  if (projectStatus(project).url === undefined) return undefined;
  const uri = await readProjectUri({ resources }, project).catch(() => undefined);
  return uri === undefined ? undefined : { uri, url: `${gatewayUrl}/${uri}` };
};

/** Resolves with the public URL of a project for expressions, which is empty if it is not known. Rejects with `SourceError`. */
export const projectUrl = async (
  backend: Pick<Backend, 'resources' | 'gatewayUrl'>,
  names: ProjectName,
): Promise<string> => {
  const { namespace, project: name } = names;
  const project = await backend.resources.get({ kind: 'Project', namespace, name });
  return (project && (await projectAddress(backend, project)))?.url ?? '';
};

/** Resolves with the first path segment of the project's URLs. Rejects with `SourceError`. */
export const readProjectUri = async (
  { resources }: Pick<Backend, 'resources'>,
  project: ResourceObject,
): Promise<string> => projectUri((await resources.findIdentity(project)).uid, projectSpec(project));

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
  const owner = managingTool(project);
  if (owner !== undefined) return ownershipReason(owner);
  const endpoints = withEndpoints ? await listEndpoints(backend, { namespace, project: name }) : [];
  for (const endpoint of endpoints) {
    const itsOwner = managingTool(endpoint);
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
