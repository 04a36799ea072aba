import type { Kind, ResourceObject } from '@standin/contract';
import {
  parseObject,
  readStatus,
  type AccountSpec,
  type EndpointSpec,
  type ParsedObject,
  type ProjectSpec,
  type Specs,
} from '@standin/crds';

/** Undefined if the spec is invalid. */
const parsed = new WeakMap<ResourceObject, ParsedObject | undefined>();

/** Parses an object once, because a page reads a spec several times, and parsing a large one takes milliseconds. */
const parse = (object: ResourceObject): ParsedObject | undefined => {
  if (parsed.has(object)) return parsed.get(object);
  const result = parseObject(object);
  const value = result.ok ? result.value : undefined;
  parsed.set(object, value);
  return value;
};

/** Returns the spec of an object, or undefined if it is invalid or the object is of another kind. */
export const validSpec = <K extends Kind>(kind: K, object: ResourceObject): Specs[K] | undefined => {
  const value = parse(object);
  return value?.kind === kind ? (value.spec as Specs[K]) : undefined;
};

/**
 * Returns the spec of an object. An invalid spec is returned unchanged, so any field may be missing. The functions below return the
 * same.
 */
export const parseSpec = (object: ResourceObject): object =>
  parse(object)?.spec ?? (typeof object.spec === 'object' && object.spec !== null ? object.spec : {});

export const endpointSpec = (object: ResourceObject): Partial<EndpointSpec> => parseSpec(object);
export const projectSpec = (object: ResourceObject): Partial<ProjectSpec> => parseSpec(object);
export const accountSpec = (object: ResourceObject): Partial<AccountSpec> => parseSpec(object);

export const projectStatus = ({ status }: ResourceObject) => readStatus('Project', status);
export const endpointStatus = ({ status }: ResourceObject) => readStatus('Endpoint', status);
export const accountStatus = ({ status }: ResourceObject) => readStatus('Account', status);

/** Returns the requested retention until the operator has processed the project. */
export const effectiveRetentionDays = (project: ResourceObject): number | undefined =>
  projectStatus(project).retentionDays ?? projectSpec(project).retentionDays;
