import type { ResourceObject } from '@standin/contract';
import { managingTool, type Owner } from '../../src/resources/ownership.ts';
import { endpointSpec } from '../../src/resources/specs.ts';
import { SCHEMES } from './schemes.ts';
import { readiness, type Readiness } from '../../src/resources/resource-view.ts';

/** An endpoint as shown on pages. */
export interface EndpointView {
  readonly endpoint: string;
  readonly title: string;
  readonly method: string;
  readonly slug: string;
  readonly action: string;
  /** What responds to requests: a mock with a status, or an upstream, shown as a URL or as a Service's `name:port/path`. */
  readonly answer:
    { readonly kind: 'mock'; readonly status: number } | { readonly kind: 'upstream'; readonly to: string };
  /** The label of the scheme of its signatures. Undefined if requests need the API key. */
  readonly signedBy: string | undefined;
  readonly readiness: Readiness;
  readonly owner: Owner | undefined;
}

const STATUS_DEFAULT = 200;

export const toEndpointView = (object: ResourceObject): EndpointView => {
  const { name } = object.metadata;
  const { displayName = name, method = '', slug = '', action = '', json, forward, credential } = endpointSpec(object);
  const service = forward?.serviceRef;
  const upstream = service === undefined ? (forward?.url ?? '') : `${service.name}:${service.port}${service.path}`;
  return {
    endpoint: name,
    title: displayName,
    method,
    slug,
    action,
    answer:
      action === 'Forward'
        ? { kind: 'upstream', to: upstream }
        : { kind: 'mock', status: json?.status ?? STATUS_DEFAULT },
    signedBy: credential?.signature && SCHEMES[credential.signature.scheme].label,
    readiness: readiness(object),
    owner: managingTool(object),
  };
};
