import { randomBytes } from 'node:crypto';
import { OPERATOR_FIELD_MANAGER, SourceError } from '@standin/contract';
import { asSourceError, isConflict, isNotFound, resourcePath, type KubeClient, type KubeObject } from '@standin/kube';
import { IDENTITIES_SECRET } from './resolve-identity.ts';

/** The identities of one namespace, by `entryName`. */
export interface StoredIdentities {
  readonly entries: ReadonlyMap<string, string>;
  /** Passed back to `write`. Undefined: there is no Secret yet. */
  readonly secret: Secret | undefined;
}

export interface IdentityStore {
  /** The key that signs entries. Creates it if there is none. */
  key(): Promise<Uint8Array>;
  read(namespace: string): Promise<StoredIdentities>;
  /** Rejects with `Conflict` if the Secret has changed since `read`. */
  write(namespace: string, before: StoredIdentities, entries: ReadonlyMap<string, string>): Promise<void>;
}

type Secret = KubeObject & { readonly data?: Readonly<Record<string, string>> };

export const INSTALLATION_SECRET = 'standin-installation';
const KEY_DATA_KEY = 'identity-key';
const KEY_BYTES = 32;
/** Also selects what a backup must contain. */
const LABELS = { 'app.kubernetes.io/managed-by': OPERATOR_FIELD_MANAGER };

export interface IdentitySecretsOptions {
  /** Whether a missing installation key is created. Otherwise `key` rejects. Default: true. */
  readonly createsKey?: boolean;
}

/** The identities in one Secret per namespace. The key that signs them is in the operator's own namespace. */
export const identitySecrets = (
  client: KubeClient,
  systemNamespace: string,
  { createsKey = true }: IdentitySecretsOptions = {},
): IdentityStore => {
  const pathOf = (namespace: string, name?: string): string => {
    const secrets = { group: '', version: 'v1', plural: 'secrets', namespace };
    return resourcePath(name === undefined ? secrets : { ...secrets, name });
  };
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
  const createKey = async (): Promise<Uint8Array> => {
    if (!createsKey) {
      const place = `Secret ${INSTALLATION_SECRET} in namespace ${systemNamespace}`;
      throw new SourceError('NotFound', `${place} not found: pass the operator's namespace with --system-namespace`);
    }
    const key = randomBytes(KEY_BYTES);
    try {
      await createSecret(systemNamespace, INSTALLATION_SECRET, { [KEY_DATA_KEY]: key.toString('base64') });
      return key;
    } catch (error) {
      const other = isConflict(error) ? await readKey() : undefined;
      if (other === undefined) throw error;
      return other;
    }
  };
  let key: Uint8Array | undefined;
  return {
    key: async () => (key ??= (await asSourceError(readKey())) ?? (await asSourceError(createKey()))),
    read: async (namespace) => {
      const secret = await asSourceError(readSecret(namespace, IDENTITIES_SECRET));
      const entries = Object.entries(secret?.data ?? {}).map(
        ([name, value]) => [name, Buffer.from(value, 'base64').toString('utf8')] as const,
      );
      return { secret, entries: new Map(entries) };
    },
    write: async (namespace, { secret }, entries) => {
      const data = Object.fromEntries(
        Array.from(entries, ([name, entry]) => [name, Buffer.from(entry).toString('base64')]),
      );
      // The resourceVersion of what was read makes the replacement a compare-and-swap.
      await asSourceError(
        secret === undefined
          ? createSecret(namespace, IDENTITIES_SECRET, data)
          : client.replace<Secret>(pathOf(namespace, IDENTITIES_SECRET), { ...secret, data }),
      );
    },
  };
};
