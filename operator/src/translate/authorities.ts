import { isDeepStrictEqual } from 'node:util';
import {
  authorityUid,
  LIMITS,
  nearestName,
  ownMember,
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
  readonly #configMaps = new Map<string, ConfigMapObject>();
  /** The reason why ConfigMaps cannot be read, by namespace. If all namespaces have a single watch, the key is `ALL_NAMESPACES`. */
  readonly #problems = new Map<string, string | undefined>();

  /** Sets a ConfigMap, or removes it if `configMap` is undefined. */
  set({ namespace, name }: Named, configMap: ConfigMapObject | undefined): AuthorityChanges {
    const key = configMapKey({ namespace, name });
    const before = this.#configMaps.get(key);
    if (configMap === undefined) this.#configMaps.delete(key);
    else this.#configMaps.set(key, configMap);
    const [old, current] = [values(before), values(configMap)];
    const configs = new Map<string, AuthorityConfig | undefined>();
    for (const dataKey of new Set([...old.keys(), ...current.keys()])) {
      const uid = authorityUid(namespace, { name, key: dataKey });
      const value = current.get(dataKey);
      if (value === undefined || 'problem' in value) configs.set(uid, undefined);
      else configs.set(uid, { kind: 'Authority', uid, namespace, name, certificates: value.certificates });
    }
    return { configs, changesFindings: !isDeepStrictEqual(problems(before), problems(configMap)) };
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
    const configMap = this.#configMaps.get(configMapKey({ namespace, name }));
    if (configMap === undefined) {
      const problem = this.#problems.get(namespace) ?? this.#problems.get(ALL_NAMESPACES);
      return problem === undefined
        ? fails('ConfigMapNotFound', notFound(namespace, name), `${PATH}.name`)
        : fails('ConfigMapsNotReadable', `${problem} ${CONSEQUENCE}`, PATH);
    }
    const { data } = configMap;
    if (data === undefined)
      return fails(
        'ConfigMapInvalid',
        `ConfigMap ${name} is not used, because the older objects in this namespace already have the maximum size: delete objects, make them smaller, or use another namespace.`,
        `${PATH}.name`,
      );
    const value = ownMember(data, key);
    if (value === undefined) return fails('ConfigMapInvalid', missingKey(name, key, data), `${PATH}.key`);
    return 'certificates' in value
      ? undefined
      : fails('ConfigMapInvalid', `The data key ${key} of ConfigMap ${name} ${value.problem}.`, `${PATH}.key`);
  }
}

const values = (configMap: ConfigMapObject | undefined): ReadonlyMap<string, CertificatesValue> =>
  new Map(Object.entries(configMap?.data ?? {}));

/** Returns what findings about the ConfigMap depend on. */
const problems = (configMap: ConfigMapObject | undefined): unknown =>
  configMap && [
    configMap.data === undefined,
    Array.from(values(configMap), ([key, value]) => [key, 'problem' in value ? value.problem : undefined]),
  ];

const notFound = (namespace: string, name: string): string =>
  `There is no ConfigMap ${name} with the label ${UPSTREAM_CA_LABEL}: "true" in this namespace: create it, or add the label ` +
  `(kubectl label configmap ${name} -n ${namespace} ${UPSTREAM_CA_LABEL}=true).`;

const missingKey = (name: string, key: string, data: NonNullable<ConfigMapObject['data']>): string => {
  const keys = Object.keys(data);
  const near = keys.length > LIMITS.comparedNamesMax ? undefined : nearestName(key, keys);
  return `The data key ${key} of ConfigMap ${name} does not exist: ${near === undefined ? 'add it, with certificates in PEM.' : `did you mean ${near}?`}`;
};
