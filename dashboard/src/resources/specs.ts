import type { ResourceObject } from '@standin/contract';
import { parseObject, readStatus, type AccountSpec, type EndpointSpec, type ProjectSpec } from '@standin/crds';

/** A page reads the spec of an object several times, and parsing a large one takes milliseconds. */
const parsed = new WeakMap<ResourceObject, object>();

/**
 * Returns the spec of an object, which is parsed once. An invalid spec is returned unchanged, so any field may be missing. The
 * functions below return the same.
 */
export const parseSpec = (object: ResourceObject): object => {
  const known = parsed.get(object);
  if (known !== undefined) return known;
  const result = parseObject(object);
  const given = typeof object.spec === 'object' && object.spec !== null ? object.spec : {};
  const spec = result.ok ? result.value.spec : given;
  parsed.set(object, spec);
  return spec;
};

export const endpointSpec = (object: ResourceObject): Partial<EndpointSpec> => parseSpec(object);
export const projectSpec = (object: ResourceObject): Partial<ProjectSpec> => parseSpec(object);
export const accountSpec = (object: ResourceObject): Partial<AccountSpec> => parseSpec(object);

export const projectStatus = ({ status }: ResourceObject) => readStatus('Project', status);
export const endpointStatus = ({ status }: ResourceObject) => readStatus('Endpoint', status);
export const accountStatus = ({ status }: ResourceObject) => readStatus('Account', status);

/** Returns the effective retention, or the requested one until the operator has processed the project. */
export const retentionDaysOf = (project: ResourceObject): number | undefined =>
  projectStatus(project).retentionDays ?? projectSpec(project).retentionDays;
