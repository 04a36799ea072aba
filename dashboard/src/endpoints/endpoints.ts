import type { LogRow, ResourceObject } from '@standin/contract';
import type { Backend } from '../backend.ts';
import type { EndpointName, ProjectName } from '../resources/names.ts';
import { NotFound } from '../resources/not-found.ts';
import { endpointSpec, endpointStatus } from '../resources/specs.ts';

/** Returns an endpoint in this project. Rejects with `NotFound` or `SourceError`. */
export const getEndpoint = async ({ resources }: Backend, names: EndpointName): Promise<ResourceObject> => {
  const { namespace, project, endpoint } = names;
  const object = await resources.get({ kind: 'Endpoint', namespace, name: endpoint });
  if (object !== undefined && endpointSpec(object).projectRef?.name === project) return object;
  throw new NotFound('endpoint', `endpoint ${endpoint} in project ${namespace}/${project}`);
};

/** Returns the endpoints in one project, sorted by path and method. */
export const listEndpoints = async (
  { resources }: Backend,
  { namespace, project }: ProjectName,
): Promise<readonly ResourceObject[]> => {
  const all = await resources.list('Endpoint', namespace);
  const sortKey = (object: ResourceObject): string => {
    const { slug = '', method = '' } = endpointSpec(object);
    return `${slug} ${method} ${object.metadata.name}`;
  };
  return all
    .filter((object) => endpointSpec(object).projectRef?.name === project)
    .map((object) => ({ object, key: sortKey(object) }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ object }) => object);
};

/** Returns the URL of an endpoint in a project with this URL, or undefined if the operator has not accepted the endpoint. */
export const endpointUrl = (object: ResourceObject, projectUrl: string | undefined): string | undefined =>
  projectUrl === undefined || endpointStatus(object).url === undefined
    ? undefined
    : `${projectUrl}${endpointSpec(object).slug ?? ''}`;

/**
 * Describes the upstream of a captured request's endpoint. Returns undefined if the endpoint no longer exists or has no upstream.
 */
export const describeUpstream = async (
  { resources }: Backend,
  { namespace, project, endpoint }: Pick<LogRow, 'namespace' | 'project' | 'endpoint'>,
): Promise<string | undefined> => {
  const object = await resources.get({ kind: 'Endpoint', namespace, name: endpoint });
  if (object === undefined) return undefined;
  const { projectRef, forward } = endpointSpec(object);
  if (projectRef?.name !== project) return undefined;
  const service = forward?.serviceRef;
  return service === undefined ? forward?.url : `Service ${service.name}:${service.port}${service.path}`;
};
