import { GROUP_VERSION, isRecord } from '@standin/contract';
import { parseObject } from './parse.ts';
import type { EndpointSpec } from './v1alpha1/endpoint.ts';

/**
 * Returns the path, the method and the Project of an Endpoint as a valid spec, or undefined if they violate the schema. An Endpoint
 * that is not accepted keeps its place with them. The parameters of the path are not checked.
 */
export const endpointRoute = (spec: unknown): EndpointSpec | undefined => {
  if (!isRecord(spec)) return undefined;
  const { projectRef, slug, method } = spec;
  const route = { projectRef, slug, method, displayName: 'route', action: 'JSON', json: { status: 204 } };
  const object = { apiVersion: GROUP_VERSION, kind: 'Endpoint', metadata: { name: 'route' }, spec: route };
  const result = parseObject(object);
  return result.ok && result.value.kind === 'Endpoint' ? result.value.spec : undefined;
};
