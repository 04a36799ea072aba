import { randomBytes } from 'node:crypto';
import { OPERATOR_FIELD_MANAGER, SourceError, type Kind } from '@standin/contract';
import {
  asSourceError,
  collectionPath,
  isConflict,
  isNotFound,
  listAll,
  objectVersion,
  resourcePath,
  type KubeClient,
  type KubeObject,
} from '@standin/kube';
import { asSecretError } from '../secret-rights.ts';
import { IDENTITIES_SECRET } from './resolve-identity.ts';

/** The identities of one namespace, by `entryName`. */
export interface StoredIdentities {
  readonly entries: ReadonlyMap<string, string>;
  /** The Secret to pass back to `write`. Undefined if there is no Secret yet. */
  readonly secret: Secret | undefined;
}

export interface IdentityStore {
  /** Resolves with the current key for signing entries. Creates a key if there is none. */
  key(): Promise<Uint8Array>;
  read(namespace: string): Promise<StoredIdentities>;
  /**
   * Resolves with the uids of the named objects that exist, by name, bypassing all caches. The result may contain other objects.
   */
  uids(kind: Kind, namespace: string, names: readonly string[]): Promise<ReadonlyMap<string, string | undefined>>;
  /** Replaces the entries of a namespace. Rejects with `Conflict` if the Secret has changed since `read`. */
  write(namespace: string, before: StoredIdentities, entries: ReadonlyMap<string, string>): Promise<void>;
}

type Secret = KubeObject & { readonly data?: Readonly<Record<string, string>> };

export const INSTALLATION_SECRET = 'standin-installation';
const KEY_DATA_KEY = 'identity-key';
const KEY_BYTES = 32;
/** An administrator may replace the key at any time. Namespaces that are read within this time share one read of the key. */
const KEY_MS = 1_000;
/** These labels also select the Secrets that a backup must contain. */
const LABELS = { 'app.kubernetes.io/managed-by': OPERATOR_FIELD_MANAGER };

const pathOf = (namespace: string, name?: string): string => {
  const secrets = { group: '', version: 'v1', plural: 'secrets', namespace };
  return resourcePath(name === undefined ? secrets : { ...secrets, name });
};

export interface IdentitySecretsOptions {
  /** Whether a missing installation key is created. If not, `key` rejects. Default: true. */
  readonly createsKey?: boolean;
}

/** Stores the identities in one Secret per namespace. The key that signs them is in the operator's own namespace. */
export const identitySecrets = (
  client: KubeClient,
  systemNamespace: string,
  { createsKey = true }: IdentitySecretsOptions = {},
): IdentityStore => {
  const readSecret = (namespace: string, name: string): Promise<Secret | undefined> =>
    client.get<Secret>(pathOf(namespace, name)).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  const createSecret = (namespace: string, name: string, data: Readonly<Record<string, string>>): Promise<Secret> =>
    client.create<Secret>(pathOf(namespace), {
      ...{ apiVersion: 'v1', kind: 'Secret', type: 'Opaque' },
      metadata: { namespace, name, labels: LABELS },
      data,
    });
  const readKey = async (): Promise<Uint8Array | undefined> => {
    const secret = await readSecret(systemNamespace, INSTALLATION_SECRET);
    if (secret === undefined) return undefined;
    const key = Buffer.from(secret.data?.[KEY_DATA_KEY] ?? '', 'base64');
    if (key.length === KEY_BYTES) return key;
    throw new Error(
      `Secret ${systemNamespace}/${INSTALLATION_SECRET} does not contain a ${KEY_BYTES}-byte ${KEY_DATA_KEY}: restore the Secret from a backup`,
    );
  };
  /** Stores a new installation key or, if a known key was deleted, the same key again, because the entries are signed with it. */
  const createKey = async (key: Uint8Array = randomBytes(KEY_BYTES)): Promise<Uint8Array> => {
    if (!createsKey) {
      const place = `Secret ${INSTALLATION_SECRET} in namespace ${systemNamespace}`;
      throw new SourceError('NotFound', `${place} not found: pass the operator's namespace with --system-namespace`);
    }
    try {
      await createSecret(systemNamespace, INSTALLATION_SECRET, { [KEY_DATA_KEY]: Buffer.from(key).toString('base64') });
      return key;
    } catch (error) {
      const other = isConflict(error) ? await readKey() : undefined;
      if (other === undefined) throw error;
      return other;
    }
  };
  let known: Uint8Array | undefined;
  let reading: { readonly key: Promise<Uint8Array>; readonly sinceMs: number } | undefined;
  const currentKey = async (): Promise<Uint8Array> => {
    known =
      (await asSecretError(systemNamespace, readKey())) ?? (await asSecretError(systemNamespace, createKey(known)));
    return known;
  };
  return {
    key: () => {
      if (reading === undefined || performance.now() - reading.sinceMs >= KEY_MS) {
        reading = { key: currentKey(), sinceMs: performance.now() };
        reading.key.catch(() => (reading = undefined));
      }
      return reading.key;
    },
    read: async (namespace) => {
      const secret = await asSecretError(namespace, readSecret(namespace, IDENTITIES_SECRET));
      const entries = Object.entries(secret?.data ?? {}).map(
        ([name, value]) => [name, Buffer.from(value, 'base64').toString('utf8')] as const,
      );
      return { secret, entries: new Map(entries) };
    },
    uids: async (kind, namespace, names) => {
      // With a field selector for the name, the API server lists one object as fast as it gets one. `get` would require another
      // permission.
      const query = { fieldSelector: names.length === 1 ? `metadata.name=${names[0] ?? ''}` : undefined };
      const { items } = await asSourceError(listAll(client, collectionPath(kind, namespace), { query }));
      return new Map(items.map(({ metadata }) => [metadata.name, metadata.uid]));
    },
    write: async (namespace, { secret }, entries) => {
      const data = Object.fromEntries(
        Array.from(entries, ([name, entry]) => [name, Buffer.from(entry).toString('base64')]),
      );
      const replace = (replaced: Secret): Promise<Secret> =>
        client.replace(pathOf(namespace, IDENTITIES_SECRET), replaced, objectVersion(replaced));
      await asSecretError(
        namespace,
        secret === undefined ? createSecret(namespace, IDENTITIES_SECRET, data) : replace({ ...secret, data }),
      );
    },
  };
};
