import { isDeepStrictEqual } from 'node:util';
import { listText, type ServiceObject } from '@standin/contract';
import type { EndpointSpec } from '@standin/crds';
import { fails } from './findings.ts';
import type { Finding } from './types.ts';

export type ServiceRef = NonNullable<NonNullable<EndpointSpec['forward']>['serviceRef']>;
type Named = Pick<ServiceObject, 'namespace' | 'name'>;

const PATH = 'spec.forward.serviceRef';
const ALL_NAMESPACES = '';
const CONSEQUENCE = 'Until then, the gateways treat the upstream as a URL and reject private addresses.';
const PORTS_SHOWN_MAX = 10;

export const serviceKey = ({ namespace, name }: Named): string => `Service ${namespace}/${name}`;

/** The known Services. If Services are not watched, as with a directory of manifests, each Service is assumed to be valid. */
export class Services {
  readonly #services = new Map<string, ServiceObject>();
  /**
   * The reason why Services cannot be read, by namespace, or undefined if they can be read. If all namespaces have a single watch,
   * the key is `ALL_NAMESPACES`.
   */
  readonly #problems = new Map<string, string | undefined>();
  /**
   * Namespaces whose Services have been read. The Services stay active while a permission is missing, like objects of every other
   * kind.
   */
  readonly #read = new Set<string>();

  /** Returns whether the Service differs from the known one. */
  put(service: ServiceObject): boolean {
    const isNew = !isDeepStrictEqual(this.#services.get(serviceKey(service)), service);
    this.#services.set(serviceKey(service), service);
    return isNew;
  }

  /** Returns whether the Service was known. */
  remove(service: Named): boolean {
    return this.#services.delete(serviceKey(service));
  }

  /** Returns whether Endpoints can access the private addresses of the Service (ADR 013), if it has their port. */
  trusts(service: Named): boolean {
    const known = this.#services.get(serviceKey(service));
    return known !== undefined && isTrusted(known);
  }

  /** See `ServiceListener.servicesIn`. Returns whether this differs from the last call for the namespace. */
  setProblem(namespace: string | undefined, problem: string | undefined): boolean {
    const key = namespace ?? ALL_NAMESPACES;
    const isNew = !this.#problems.has(key) || this.#problems.get(key) !== problem;
    this.#problems.set(key, problem);
    if (problem === undefined) this.#read.add(key);
    return isNew;
  }

  /** Returns why an Endpoint in that namespace cannot access a Service's private addresses (ADR 013), or undefined if it can. */
  fault(namespace: string, { name, port }: Pick<ServiceRef, 'name' | 'port'>): Finding | undefined {
    const scope = [namespace, ALL_NAMESPACES].find((key) => this.#problems.has(key));
    if (scope === undefined) return undefined;
    const problem = this.#problems.get(scope);
    const service = this.#services.get(serviceKey({ namespace, name }));
    if (problem !== undefined && (service === undefined || !this.#read.has(scope)))
      return fails('ServicesNotReadable', `${problem} ${CONSEQUENCE}`, PATH);
    if (service === undefined)
      return fails('BackendNotFound', `There is no Service ${name} in this namespace: create it.`, `${PATH}.name`);
    return notAllowed(service) ?? portFault(service, port);
  }
}

/** Returns whether Kubernetes fills in the addresses of a Service. */
export const isTrusted = (service: ServiceObject): boolean => notAllowed(service) === undefined;

const notAllowed = ({ name, type, hasSelector }: ServiceObject): Finding | undefined => {
  const refuse = (what: string): Finding =>
    fails('ServiceNotAllowed', `Service ${name} ${what}. ${CONSEQUENCE}`, `${PATH}.name`);
  if (type === 'ExternalName')
    return refuse('is of type ExternalName, which can point to any host: set the host in spec.forward.url');
  if (!hasSelector)
    return refuse(
      'has no selector, so it can have any address: add a selector, or set the address in spec.forward.url',
    );
  return undefined;
};

/**
 * Returns a finding if the Service does not have the port. Any port of a headless Service is accepted, because requests to it go
 * to its pods.
 */
const portFault = ({ name, isHeadless, ports }: ServiceObject, port: number): Finding | undefined => {
  if (isHeadless || ports.includes(port)) return undefined;
  const more = ports.length > PORTS_SHOWN_MAX ? [`${ports.length - PORTS_SHOWN_MAX} more`] : [];
  const known = listText([...ports.slice(0, PORTS_SHOWN_MAX).map(String), ...more]);
  return fails(
    'BackendNotFound',
    `Service ${name} has no TCP port ${port}${known === '' ? '' : ` (it has ${known})`}: correct the port of the Endpoint or the Service.`,
    `${PATH}.port`,
  );
};
