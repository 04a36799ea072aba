import type { ResourceObject } from '@standin/contract';
import { parseObject, readStatus, type AccountSpec, type EndpointSpec, type ProjectSpec } from '@standin/crds';

/** A page reads the spec of an object several times, and parsing a large one takes milliseconds. */
const parsed = new WeakMap<ResourceObject, object>();

/** Returns the spec of an object. An invalid spec is returned unchanged, so any field may be missing. */
const specOf = <T>(object: ResourceObject): Partial<T> => {
  const spec = parsed.get(object) ?? parseSpec(object);
  parsed.set(object, spec);
  return spec;
};

const parseSpec = (object: ResourceObject): object => {
  const result = parseObject(object);
  if (result.ok) return result.value.spec;
  return typeof object.spec === 'object' && object.spec !== null ? object.spec : {};
};

export const endpointSpec = (object: ResourceObject): Partial<EndpointSpec> => specOf<EndpointSpec>(object);
export const projectSpec = (object: ResourceObject): Partial<ProjectSpec> => specOf<ProjectSpec>(object);
export const accountSpec = (object: ResourceObject): Partial<AccountSpec> => specOf<AccountSpec>(object);

export const projectStatus = ({ status }: ResourceObject) => readStatus('Project', status);
export const endpointStatus = ({ status }: ResourceObject) => readStatus('Endpoint', status);
export const accountStatus = ({ status }: ResourceObject) => readStatus('Account', status);

/** Returns the effective retention, or the requested one until the operator has processed the project. */
export const retentionDaysOf = (project: ResourceObject): number | undefined =>
  projectStatus(project).retentionDays ?? projectSpec(project).retentionDays;
