import type { ResourceObject } from '@standin/contract';
import { DEFINITIONS, parseObject, type AccountSpec, type EndpointSpec, type ProjectSpec } from '@standin/crds';

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
