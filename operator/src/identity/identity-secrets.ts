import { randomBytes } from 'node:crypto';
import { OPERATOR_FIELD_MANAGER, SourceError, type Kind } from '@standin/contract';
import {
  asSourceError,
  collectionPath,
  isConflict,
  isNotFound,
  listPages,
  objectVersion,
  resourcePath,
  type KubeClient,
  type KubeObject,
} from '@standin/kube';
import { asSecretError } from '../secret-rights.ts';
import { IDENTITIES_SECRET, movedKey, type Assertion, type Installation } from './resolve-identity.ts';

/** The identities of one namespace, by `entryName`. */
export interface StoredIdentities {
  readonly entries: ReadonlyMap<string, string>;
  /** The Secret to pass back to `write`. Undefined if there is no Secret yet. */
  readonly secret: Secret | undefined;
}

export interface IdentityStore {
  /** Resolves with the current key for signing entries, and the epochs of moved identities. Creates a key if there is none. */
  installation(): Promise<Installation>;
  /** Makes all entries with an identity void whose epoch is earlier. Never lowers an epoch. */
  raiseEpoch(kind: Kind, moved: Assertion): Promise<void>;
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
/** The epoch of a moved identity is in the data key `epoch.KIND.ID`. */
const EPOCH_PREFIX = 'epoch.';
/** An administrator may replace the key at any time. Namespaces that are read within this time share one read of the key. */
const KEY_MS = 1_000;
/** These labels also select the Secrets that a backup must contain. */
const LABELS = { 'app.kubernetes.io/managed-by': OPERATOR_FIELD_MANAGER };

interface StoredInstallation extends Installation {
  readonly secret: Secret;
}

/** Throws if an epoch was edited and is not a number, because an entry that was moved away would be valid again. */
const epochsIn = ({ data = {} }: Secret): Installation['epochs'] =>
  new Map(
    Object.entries(data)
      .filter(([name]) => name.startsWith(EPOCH_PREFIX))
      .map(([name, value]) => {
        const text = Buffer.from(value, 'base64').toString();
        if (/^\d{1,15}$/.test(text)) return [name.slice(EPOCH_PREFIX.length), Number(text)];
        throw new Error(`Secret ${INSTALLATION_SECRET}: ${name} is not a time: restore the Secret from a backup`);
      }),
  );

const secretPath = (namespace: string, name?: string): string => {
  const secrets = { group: '', version: 'v1', plural: 'secrets', namespace };
  return resourcePath(name === undefined ? secrets : { ...secrets, name });
};

export interface IdentitySecretsOptions {
  /** Whether a missing installation key is created. If not, `key` rejects. Default: true. */
  readonly createsKey?: boolean;
}

/**
 * Stores the identities in one Secret per namespace. The key that signs them and the epochs are in the operator's own namespace, where
 * the owners of the objects cannot edit them.
 */
export const identitySecrets = (
  client: KubeClient,
  systemNamespace: string,
  { createsKey = true }: IdentitySecretsOptions = {},
): IdentityStore => {
  const readSecret = (namespace: string, name: string): Promise<Secret | undefined> =>
    client.get<Secret>(secretPath(namespace, name)).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  const createSecret = (namespace: string, name: string, data: Readonly<Record<string, string>>): Promise<Secret> =>
    client.create<Secret>(secretPath(namespace), {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      metadata: { namespace, name, labels: LABELS },
      data,
    });
  const readInstallation = async (): Promise<StoredInstallation | undefined> => {
    const secret = await readSecret(systemNamespace, INSTALLATION_SECRET);
    if (secret === undefined) return undefined;
    const key = Buffer.from(secret.data?.[KEY_DATA_KEY] ?? '', 'base64');
    if (key.length === KEY_BYTES) return { key, epochs: epochsIn(secret), secret };
    throw new Error(
      `Secret ${systemNamespace}/${INSTALLATION_SECRET} does not contain a ${KEY_BYTES}-byte ${KEY_DATA_KEY}: restore the Secret from a backup`,
    );
  };
  /**
   * Stores a new installation key or, if a known Secret was deleted, the same key and epochs again, because the entries depend on
   * them.
   */
  const createInstallation = async (known?: StoredInstallation): Promise<StoredInstallation> => {
    if (!createsKey) {
      const place = `Secret ${INSTALLATION_SECRET} in namespace ${systemNamespace}`;
      throw new SourceError('NotFound', `${place} not found: pass the operator's namespace with --system-namespace`);
    }
    const data = known?.secret.data ?? { [KEY_DATA_KEY]: randomBytes(KEY_BYTES).toString('base64') };
    try {
      const secret = await createSecret(systemNamespace, INSTALLATION_SECRET, data);
      return { key: Buffer.from(data[KEY_DATA_KEY] ?? '', 'base64'), epochs: epochsIn(secret), secret };
    } catch (error) {
      const other = isConflict(error) ? await readInstallation() : undefined;
      if (other === undefined) throw error;
      return other;
    }
  };
  let known: StoredInstallation | undefined;
  let reading: { readonly installation: Promise<StoredInstallation>; readonly sinceMs: number } | undefined;
  const currentInstallation = async (): Promise<StoredInstallation> => {
    known =
      (await asSecretError(systemNamespace, readInstallation())) ??
      (await asSecretError(systemNamespace, createInstallation(known)));
    return known;
  };
  return {
    installation: () => {
      if (reading === undefined || performance.now() - reading.sinceMs >= KEY_MS) {
        reading = { installation: currentInstallation(), sinceMs: performance.now() };
        reading.installation.catch(() => (reading = undefined));
      }
      return reading.installation;
    },
    raiseEpoch: async (kind, { id, epoch }) => {
      const { secret, epochs } = await currentInstallation();
      const name = movedKey(kind, id);
      if ((epochs.get(name) ?? 0) >= epoch) return;
      const data = { ...secret.data, [`${EPOCH_PREFIX}${name}`]: Buffer.from(String(epoch)).toString('base64') };
      const replaced = { ...secret, data };
      await asSecretError(
        systemNamespace,
        client.replace(secretPath(systemNamespace, INSTALLATION_SECRET), replaced, objectVersion(replaced)),
      );
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
      const uids = new Map<string, string | undefined>();
      const read = async (): Promise<void> => {
        for await (const { items } of listPages(client, collectionPath(kind, namespace), { query }))
          for (const { metadata } of items) uids.set(metadata.name, metadata.uid);
      };
      await asSourceError(read());
      return uids;
    },
    write: async (namespace, { secret }, entries) => {
      const data = Object.fromEntries(
        Array.from(entries, ([name, entry]) => [name, Buffer.from(entry).toString('base64')]),
      );
      const replace = (replaced: Secret): Promise<Secret> =>
        client.replace(secretPath(namespace, IDENTITIES_SECRET), replaced, objectVersion(replaced));
      await asSecretError(
        namespace,
        secret === undefined ? createSecret(namespace, IDENTITIES_SECRET, data) : replace({ ...secret, data }),
      );
    },
  };
};
