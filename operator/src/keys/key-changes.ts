import { configKey, keyFingerprint, type ConfigKey, type ConfigObject, type ResourceObject } from '@standin/contract';
import { conditionsIn, readStatus } from '@standin/crds';
import type { Controller } from '../controller.ts';
import type { GatewayController } from '../gateways/gateway-controller.ts';
import type { Changes, Translator } from '../translate/index.ts';

export interface KeyChangesOptions {
  readonly translator: Pick<Translator, 'objects'>;
  readonly objects: ReadonlyMap<string, ResourceObject>;
  readonly gateways: Pick<GatewayController, 'revoke' | 'cancelRevocation'>;
}

/** Revokes the previous key of an Account when the key is replaced or withdrawn, for one leader's term. */
export class KeyChanges implements Controller {
  readonly name = 'key-changes';
  readonly #options: KeyChangesOptions;
  /** The last published digests. The value is undefined for an Account without a key. */
  readonly #digests = new Map<ConfigKey, string | undefined>();

  constructor(options: KeyChangesOptions) {
    this.#options = options;
  }

  /**
   * Revokes the earlier keys of each Account, unless the status from the previous leader shows that the Account has none or that
   * the current key is programmed.
   */
  start(): void {
    const { translator, objects, gateways } = this.#options;
    const put = [...translator.objects()];
    this.translated({ put });
    for (const object of put) {
      if (object.kind === 'Account' && !isSettled(objects.get(object.uid), object.keySha256)) {
        gateways.revoke(configKey(object));
      }
    }
  }

  translated({ put }: Pick<Changes, 'put'>): void {
    for (const object of put) if (object.kind === 'Account') this.#published(object);
  }

  removed({ kind, metadata: { uid } }: ResourceObject): void {
    if (kind !== 'Account') return;
    const key = configKey({ kind, uid });
    this.#digests.delete(key);
    this.#options.gateways.cancelRevocation(key);
  }

  #published(account: ConfigObject & { readonly kind: 'Account' }): void {
    const key = configKey(account);
    const before = this.#digests.get(key);
    if (before !== undefined && before !== account.keySha256) this.#options.gateways.revoke(key);
    this.#digests.set(key, account.keySha256);
  }
}

const isSettled = (account: ResourceObject | undefined, keySha256: string | undefined): boolean => {
  const reported = readStatus('Account', account?.status).apiKey?.fingerprint;
  // According to the status, no key of this Account has been published.
  if (reported === undefined) return true;
  const isProgrammed = conditionsIn(account?.status).some(
    ({ type, status }) => type === 'Programmed' && status === 'True',
  );
  return isProgrammed && keySha256 !== undefined && reported === keyFingerprint(keySha256);
};
