import { OPERATOR_FIELD_MANAGER, SourceError } from '@standin/contract';
import {
  asSourceError,
  formatVersion,
  isNotFound,
  listAll,
  objectVersion,
  parseVersion,
  resourcePath,
  type KubeClient,
  type KubeObject,
} from '@standin/kube';

/** The entries of one shard, by name, as stored. */
export type ShardEntries = ReadonlyMap<string, string>;

export interface StoredShard {
  readonly entries: ShardEntries;
  /** Opaque identifier of the version that was read. */
  readonly version: string;
}

/**
 * Stores the records of claims in shards. A claim is always in the same shard, so two operators that write the same claim conflict.
 * Reads bypass all caches. Rejects with `SourceError`.
 */
export interface ClaimStore {
  list(): Promise<ReadonlyMap<string, StoredShard>>;
  read(shard: string): Promise<StoredShard | undefined>;
  /**
   * Replaces a shard, or creates it if `version` is undefined. Resolves with the new version. Rejects with `Conflict` or `NotFound`
   * if the stored version is a different one.
   */
  write(shard: string, entries: ShardEntries, version: string | undefined): Promise<string>;
}

type ConfigMap = KubeObject & { readonly data?: Readonly<Record<string, string>> };

const NAME_PREFIX = 'standin-claims-';
const LABELS = { 'app.kubernetes.io/managed-by': OPERATOR_FIELD_MANAGER, 'app.kubernetes.io/component': 'claims' };
const LABEL_SELECTOR = Object.entries(LABELS)
  .map(([name, value]) => `${name}=${value}`)
  .join(',');

const storedIn = (configMap: ConfigMap): StoredShard => ({
  entries: new Map(Object.entries(configMap.data ?? {})),
  version: formatVersion(objectVersion(configMap)),
});

/** Stores each shard in a ConfigMap in the operator's own namespace, where the owners of Accounts and Projects cannot edit it. */
export const claimConfigMaps = (client: KubeClient, namespace: string): ClaimStore => {
  const configMaps = { group: '', version: 'v1', plural: 'configmaps', namespace };
  const configMapPath = (shard: string): string => resourcePath({ ...configMaps, name: NAME_PREFIX + shard });
  return {
    list: async () => {
      const query = { labelSelector: LABEL_SELECTOR };
      const { items } = await asSourceError(listAll<ConfigMap>(client, resourcePath(configMaps), { query }));
      const shards = items.filter(({ metadata: { name } }) => name.startsWith(NAME_PREFIX));
      return new Map(
        shards.map((configMap) => [configMap.metadata.name.slice(NAME_PREFIX.length), storedIn(configMap)]),
      );
    },
    read: async (shard) => {
      const found = client.get<ConfigMap>(configMapPath(shard)).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
      const configMap = await asSourceError(found);
      return configMap && storedIn(configMap);
    },
    write: async (shard, entries, version) => {
      const metadata = { namespace, name: NAME_PREFIX + shard, labels: LABELS };
      const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: Object.fromEntries(entries) };
      const written = await asSourceError(
        version === undefined
          ? client.create<ConfigMap>(resourcePath(configMaps), configMap)
          : client.replace<ConfigMap>(configMapPath(shard), configMap, parseVersion(version)),
      );
      return formatVersion(objectVersion(written));
    },
  };
};

/** Returns whether a write failed because the shard is not the one that was read. */
export const isOtherVersion = (error: unknown): boolean =>
  error instanceof SourceError && (error.kind === 'Conflict' || error.kind === 'NotFound');
