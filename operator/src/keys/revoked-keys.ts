import { configKey, keyFingerprint, type ConfigKey, type ConfigObject, type ResourceObject } from '@standin/contract';
import { z } from 'zod';
import type { ProgrammedState } from '../publish/gateway-registry.ts';
import { conditionsIn } from '../status/status-writer.ts';

/** How all gateways that may answer callers stand to an object, the lost ones among them; undefined: it is not published. */
type RevokedState = (key: ConfigKey) => ProgrammedState | undefined;

const accountStatus = z
  .looseObject({ apiKey: z.looseObject({ fingerprint: z.string().optional() }) })
  .transform(({ apiKey }) => apiKey.fingerprint)
  .optional()
  .catch(undefined);

/**
 * Accounts whose key was replaced or withdrawn and may still be accepted somewhere, for one leader's term. Until no gateway does, such an
 * Account waits for lost gateways, too; other changes do not, or a lost node would hold up every one.
 */
export class RevokedKeys {
  readonly #stateOf: RevokedState;
  /** As published last. */
  readonly #digests = new Map<ConfigKey, string | undefined>();
  readonly #pending = new Set<ConfigKey>();

  constructor(stateOf: RevokedState) {
    this.#stateOf = stateOf;
  }

  /** What a term begins with: what the leader before said of a key tells whether an older one may be left. */
  begin(objects: readonly ConfigObject[], resources: ReadonlyMap<string, ResourceObject>): void {
    this.published(objects);
    for (const object of objects) {
      if (object.kind === 'Account' && !isSettled(resources.get(object.uid), object.keySha256)) {
        this.#pending.add(configKey(object));
      }
    }
  }

  published(objects: readonly ConfigObject[]): void {
    for (const object of objects) {
      if (object.kind !== 'Account') continue;
      const key = configKey(object);
      const before = this.#digests.get(key);
      if (before !== undefined && before !== object.keySha256) this.#pending.add(key);
      this.#digests.set(key, object.keySha256);
    }
  }

  /** What is said of an Account whose old key may still be accepted; undefined: that of no other object. */
  state(key: ConfigKey): ProgrammedState | undefined {
    const state = this.#pending.has(key) ? this.#stateOf(key) : undefined;
    // Whoever was not heard in this term may have the old key, whatever was said before.
    return state?.kind === 'waiting' ? { ...state, unheard: false } : state;
  }

  /** Gateways acknowledged, or are gone. Returns the Accounts whose old keys no gateway accepts any more. */
  progress(): readonly ConfigKey[] {
    const settled = [...this.#pending].filter((key) => {
      const kind = this.#stateOf(key)?.kind;
      return kind === 'programmed' || kind === 'no-gateway';
    });
    for (const key of settled) this.#pending.delete(key);
    return settled;
  }

  forget(accountUid: string): void {
    const key = configKey({ kind: 'Account', uid: accountUid });
    this.#digests.delete(key);
    this.#pending.delete(key);
  }
}

const isSettled = (account: ResourceObject | undefined, keySha256: string | undefined): boolean => {
  const said = accountStatus.parse(account?.status);
  // No gateway was ever told one.
  if (said === undefined) return true;
  const isProgrammed = conditionsIn(account?.status).some(
    ({ type, status }) => type === 'Programmed' && status === 'True',
  );
  return isProgrammed && keySha256 !== undefined && said === keyFingerprint(keySha256);
};
