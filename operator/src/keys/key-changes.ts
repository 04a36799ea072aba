import {
  configKey,
  isRecord,
  keyFingerprint,
  signingSecretIds,
  upstreamSecretIds,
  type ConfigKey,
  type ConfigObject,
  type ResourceObject,
} from '@standin/contract';
import { conditionsIn, readStatus } from '@standin/crds';
import type { Controller } from '../controller.ts';
import type { GatewayController } from '../gateways/gateway-controller.ts';
import type { CachedObjects } from '../object-cache.ts';
import type { Changes, Translator } from '../translate/index.ts';

export interface KeyChangesOptions {
  readonly translator: Pick<Translator, 'objects'>;
  readonly cache: Pick<CachedObjects, 'values'>;
  readonly gateways: Pick<GatewayController, 'revoke' | 'cancelRevocation'>;
}

interface SecretVersion {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
  readonly version: string;
}

/**
 * Returns the id of a value of a Secret. It is derived from the place and the version of the secret, never from its value, which may be
 * short enough to guess.
 */
export const secretId = ({ namespace, name, key, version }: SecretVersion): string =>
  `${namespace}/${name}/${key}@${version}`;

/** A Secret may have both labels, and may be withdrawn for one use only. */
const ofUpstream = (id: string): string => `upstream ${id}`;

/** Returns what can be revoked: the digest of an Account's key, or the ids of an Endpoint's secrets. */
const credentialIds = (object: ConfigObject): readonly string[] => {
  switch (object.kind) {
    case 'Account':
      return object.keySha256 === undefined ? [] : [object.keySha256];
    case 'Endpoint':
      return [...signingSecretIds(object), ...upstreamSecretIds(object).map(ofUpstream)];
    case 'Project':
    case 'Authority':
      return [];
  }
};

/** Revokes the previous key of an Account, or secret of an Endpoint, that is replaced or withdrawn, for one leader's term. */
export class KeyChanges implements Controller {
  readonly name = 'key-changes';
  readonly #options: KeyChangesOptions;
  /** The last published credentials of objects that have had any in this term. */
  readonly #credentials = new Map<ConfigKey, readonly string[]>();

  constructor(options: KeyChangesOptions) {
    this.#options = options;
  }

  /**
   * Revokes the earlier keys and secrets of each object, unless the status from the previous leader shows that the object has none
   * or that the current ones are programmed.
   */
  start(): void {
    const { translator, cache, gateways } = this.#options;
    const put = new Map([...translator.objects()].map((object) => [object.uid, object]));
    this.translated({ put: [...put.values()], remove: [] });
    for (const object of cache.values()) {
      const { kind, metadata } = object;
      const { uid } = metadata;
      if (kind !== 'Account' && kind !== 'Endpoint') continue;
      const published = put.get(uid);
      if (kind === 'Account' && published === undefined) continue;
      if (!isSettled(object, published)) gateways.revoke(configKey({ kind, uid }));
    }
  }

  translated({ put, remove }: Pick<Changes, 'put' | 'remove'>): void {
    for (const key of remove) this.#published(key, []);
    for (const object of put) this.#published(configKey(object), credentialIds(object));
  }

  removed({ kind, metadata: { uid } }: ResourceObject): void {
    if (kind !== 'Account' && kind !== 'Endpoint') return;
    const key = configKey({ kind, uid });
    this.#credentials.delete(key);
    this.#options.gateways.cancelRevocation(key);
  }

  #published(key: ConfigKey, credentials: readonly string[]): void {
    const before = this.#credentials.get(key) ?? [];
    if (before.some((one) => !credentials.includes(one))) this.#options.gateways.revoke(key);
    if (credentials.length > 0) this.#credentials.set(key, credentials);
    else this.#credentials.delete(key);
  }
}

const isSettled = (object: ResourceObject, published: ConfigObject | undefined): boolean => {
  const reported = reportedIn(object);
  // According to the status, no key or secret of this object has been published.
  if (reported.length === 0) return true;
  const isProgrammed = conditionsIn(object.status).some(
    ({ type, status }) => type === 'Programmed' && status === 'True',
  );
  const current = published === undefined ? [] : credentialIds(published);
  const shown = object.kind === 'Account' ? current.map(keyFingerprint) : current;
  return isProgrammed && reported.every((one) => shown.includes(one));
};

/** Returns the fingerprint of the key, or the ids of the secrets, in an object's status. */
const reportedIn = ({ kind, metadata: { namespace }, status }: ResourceObject): readonly string[] => {
  if (kind === 'Account') return [readStatus(kind, status).apiKey?.fingerprint ?? []].flat();
  if (kind !== 'Endpoint' || !isRecord(status)) return [];
  if (status['signingSecrets'] === undefined && status['upstreamSecrets'] === undefined) return [];
  const { signingSecrets = [], upstreamSecrets = [] } = readStatus(kind, status);
  const toId = (secret: Omit<SecretVersion, 'namespace'>): string => secretId({ namespace, ...secret });
  return [...signingSecrets.map(toId), ...upstreamSecrets.map(toId).map(ofUpstream)];
};
