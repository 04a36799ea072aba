import { isDeepStrictEqual } from 'node:util';
import {
  authorityUid,
  LIMITS,
  nearestName,
  UPSTREAM_CA_LABEL,
  type AuthorityConfig,
  type CertificatesValue,
  type ConfigMapObject,
} from '@standin/contract';
import type { EndpointSpec } from '@standin/crds';
import { fails } from './findings.ts';
import type { Finding } from './types.ts';

export type CaRef = NonNullable<NonNullable<NonNullable<EndpointSpec['forward']>['tls']>['caRef']>;
type Named = Pick<ConfigMapObject, 'namespace' | 'name'>;
/** A map, because a ConfigMap can have tens of thousands of data keys, and thousands of Endpoints can refer to it. */
type Values = ReadonlyMap<string, CertificatesValue>;
const NO_VALUES: Values = new Map();

const PATH = 'spec.forward.tls.caRef';
const ALL_NAMESPACES = '';
const CONSEQUENCE = 'Until then, connections to the upstream fail.';

export const configMapKey = ({ namespace, name }: Named): string => `ConfigMap ${namespace}/${name}`;

/** The differences after a change to a ConfigMap. A value of undefined means that the authority is removed. */
export interface AuthorityChanges {
  /** By uid. */
  readonly configs: ReadonlyMap<string, AuthorityConfig | undefined>;
  /** Whether Endpoints that refer to the ConfigMap may have another finding. */
  readonly changesFindings: boolean;
}

/** The known ConfigMaps with certificates of authorities. */
export class Authorities {
  /** The values by data key. Undefined for a ConfigMap beyond the limit. */
  readonly #configMaps = new Map<string, Values | undefined>();
  /** The reason why ConfigMaps cannot be read, by namespace. If all namespaces have a single watch, the key is `ALL_NAMESPACES`. */
  readonly #problems = new Map<string, string | undefined>();

  /** Sets a ConfigMap, or removes it if `configMap` is undefined. */
  set({ namespace, name }: Named, configMap: ConfigMapObject | undefined): AuthorityChanges {
    const key = configMapKey({ namespace, name });
    const before = this.#problemsIn(key);
    const old = this.#configMaps.get(key) ?? NO_VALUES;
    if (configMap === undefined) this.#configMaps.delete(key);
    else this.#configMaps.set(key, configMap.data && new Map(Object.entries(configMap.data)));
    const current = this.#configMaps.get(key) ?? NO_VALUES;
    const configs = new Map<string, AuthorityConfig | undefined>();
    for (const dataKey of new Set([...old.keys(), ...current.keys()])) {
      const uid = authorityUid(namespace, { name, key: dataKey });
      const value = current.get(dataKey);
      if (value === undefined || 'problem' in value) configs.set(uid, undefined);
      else configs.set(uid, { kind: 'Authority', uid, namespace, name, certificates: value.certificates });
    }
    return { configs, changesFindings: !isDeepStrictEqual(before, this.#problemsIn(key)) };
  }

  /** See `ConfigMapListener.readable`. Returns whether this differs from the last call for the namespace. */
  setProblem(namespace: string | undefined, problem: string | undefined): boolean {
    const key = namespace ?? ALL_NAMESPACES;
    const isNew = this.#problems.get(key) !== problem;
    this.#problems.set(key, problem);
    return isNew;
  }

  /** Returns why the certificates that an Endpoint in that namespace refers to cannot be used, or undefined if they can. */
  fault(namespace: string, { name, key }: CaRef): Finding | undefined {
    const place = configMapKey({ namespace, name });
    if (!this.#configMaps.has(place)) {
      const problem = this.#problems.get(namespace) ?? this.#problems.get(ALL_NAMESPACES);
      return problem === undefined
        ? fails('ConfigMapNotFound', notFound(namespace, name), `${PATH}.name`)
        : fails('ConfigMapsNotReadable', `${problem} ${CONSEQUENCE}`, PATH);
    }
    const data = this.#configMaps.get(place);
    if (data === undefined)
      return fails(
        'ConfigMapInvalid',
        `ConfigMap ${name} is not used, because the older objects in this namespace already have the maximum size: delete objects, make them smaller, or use another namespace.`,
        `${PATH}.name`,
      );
    const value = data.get(key);
    if (value === undefined) return fails('ConfigMapInvalid', missingKey(name, key, data), `${PATH}.key`);
    return 'certificates' in value
      ? undefined
      : fails('ConfigMapInvalid', `The data key ${key} of ConfigMap ${name} ${value.problem}.`, `${PATH}.key`);
  }

  /** Returns what findings about a ConfigMap depend on. */
  #problemsIn(key: string): unknown {
    const data = this.#configMaps.get(key);
    if (data === undefined) return this.#configMaps.has(key);
    return Array.from(data, ([dataKey, value]) => [dataKey, 'problem' in value ? value.problem : undefined]);
  }
}

const notFound = (namespace: string, name: string): string =>
  `There is no ConfigMap ${name} with the label ${UPSTREAM_CA_LABEL}: "true" in this namespace: create it, or add the label ` +
  `(kubectl label configmap ${name} -n ${namespace} ${UPSTREAM_CA_LABEL}=true).`;

const missingKey = (name: string, key: string, data: Values): string => {
  const near = data.size > LIMITS.comparedNamesMax ? undefined : nearestName(key, data.keys());
  return `The data key ${key} of ConfigMap ${name} does not exist: ${near === undefined ? 'add it, with certificates in PEM.' : `did you mean ${near}?`}`;
};
