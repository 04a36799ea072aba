import { configKey, keyFingerprint, type ConfigKey, type ConfigObject, type ResourceObject } from '@standin/contract';
import { conditionsIn, readStatus } from '@standin/crds';
import type { ProgrammedState } from '../publish/gateway-registry.ts';

/** The state of an object at all gateways that may answer callers, including lost ones. Undefined: it is not published. */
type RevokedState = (key: ConfigKey) => ProgrammedState | undefined;

/**
 * Accounts whose key was replaced or withdrawn and may still be accepted by a gateway, for one leader's term. Until no gateway
 * accepts it, such an Account waits for lost gateways too. Other changes do not: otherwise, a lost node would block all of them.
 */
export class RevokedKeys {
  readonly #stateOf: RevokedState;
  /** The digests that were last published. */
  readonly #digests = new Map<ConfigKey, string | undefined>();
  readonly #pending = new Set<ConfigKey>();

  constructor(stateOf: RevokedState) {
    this.#stateOf = stateOf;
  }

  /** Starts a term. The status that the previous leader wrote shows whether an older key may still be accepted. */
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

  /** The state of an Account whose old key may still be accepted. Undefined for all other objects. */
  state(key: ConfigKey): ProgrammedState | undefined {
    const state = this.#pending.has(key) ? this.#stateOf(key) : undefined;
    // A gateway that was not heard in this term may have the old key, regardless of its earlier state.
    return state?.kind === 'waiting' ? { ...state, unheard: false } : state;
  }

  /** Gateways acknowledged a revision, or are gone. Returns the Accounts whose old keys no gateway accepts. */
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
  const said = readStatus('Account', account?.status).apiKey?.fingerprint;
  // No gateway ever received a key of this Account.
  if (said === undefined) return true;
  const isProgrammed = conditionsIn(account?.status).some(
    ({ type, status }) => type === 'Programmed' && status === 'True',
  );
  return isProgrammed && keySha256 !== undefined && said === keyFingerprint(keySha256);
};
