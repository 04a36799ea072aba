import type { ResourceObject } from '@standin/contract';
import { DEFINITIONS, parseObject, type AccountSpec, type EndpointSpec, type ProjectSpec } from '@standin/crds';
import type { Backend } from '../../src/backend.ts';
import { notFound, orFail } from './failures.server.ts';
import type { EndpointParams, ProjectParams } from './paths.ts';

/** A spec that the schema refuses is returned as it is: every field may be missing. */
const specOf = <T>(object: ResourceObject): Partial<T> => {
  const parsed = parseObject(object);
  if (parsed.ok) return parsed.value.spec as T;
  return typeof object.spec === 'object' && object.spec !== null ? object.spec : {};
};

export const endpointSpec = (object: ResourceObject): Partial<EndpointSpec> => specOf<EndpointSpec>(object);
export const projectSpec = (object: ResourceObject): Partial<ProjectSpec> => specOf<ProjectSpec>(object);
export const accountSpec = (object: ResourceObject): Partial<AccountSpec> => specOf<AccountSpec>(object);

export const projectStatus = ({ status }: ResourceObject) => DEFINITIONS.Project.status.safeParse(status).data ?? {};
export const endpointStatus = ({ status }: ResourceObject) => DEFINITIONS.Endpoint.status.safeParse(status).data ?? {};
export const accountStatus = ({ status }: ResourceObject) => DEFINITIONS.Account.status.safeParse(status).data ?? {};

/** The effective value or, until the operator has processed the project, the requested one. */
export const retentionDaysOf = (project: ResourceObject): number | undefined =>
  projectStatus(project).retentionDays ?? projectSpec(project).retentionDays;

/** Throws an error page if the project does not exist. */
export const getProject = async (
  { resources }: Backend,
  { namespace, project }: ProjectParams,
): Promise<ResourceObject> => {
  const object = await orFail(resources.get({ kind: 'Project', namespace, name: project }));
  if (object === undefined) throw notFound(`project ${namespace}/${project}`);
  return object;
};

/** An endpoint of this project. */
export const getEndpoint = async (backend: Backend, params: EndpointParams): Promise<ResourceObject> => {
  const { namespace, project, endpoint } = params;
  const object = await orFail(backend.resources.get({ kind: 'Endpoint', namespace, name: endpoint }));
  if (object === undefined || endpointSpec(object).projectRef?.name !== project)
    throw notFound(`endpoint ${endpoint} in project ${namespace}/${project}`);
  return object;
};

/** Endpoints of one project, sorted by path and method. */
export const listEndpoints = async (
  { resources }: Backend,
  { namespace, project }: ProjectParams,
): Promise<readonly ResourceObject[]> => {
  const all = await orFail(resources.list('Endpoint', namespace));
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
