import { isDeepStrictEqual } from 'node:util';
import {
  API_KEY_DATA_KEY,
  configKey,
  exponentialMs,
  LIMITS,
  SourceError,
  type ConfigKey,
  type Events,
  type Objects,
  type ResourceObject,
  type Secrets,
  objectRef,
} from '@standin/contract';
import { parseObject, regenerationWindow, type KeyRegenerationSpec } from '@standin/crds';
import type { ReconcileResult } from '@standin/kube';
import type { Controller } from '../controller.ts';
import type { ProgrammedState } from '../gateways/gateway-record.ts';
import { reconciler, type ReconcilerParts, type Run } from '../reconciler.ts';
import { conditionContext, formatSeconds } from '../status/conditions.ts';
import { isOutdated, StatusWriter, type StatusFields } from '../status/status-writer.ts';
import { fails, invalid } from '../translate/findings.ts';
import type { Changes, Finding } from '../translate/index.ts';
import type { KeyOwner } from './account-keys.ts';
import { apiKeySha256, generateApiKey } from './api-key.ts';
import {
  isOver,
  pending,
  regenerationFacts,
  refused,
  regenerationStatus,
  WRITING,
  type RegenerationFacts,
} from './regeneration-report.ts';

export interface KeyRegenerationControllerOptions extends ReconcilerParts {
  readonly objects: Pick<Objects, 'get' | 'writeStatus'>;
  readonly secrets: Pick<Secrets, 'read' | 'replace'>;
  readonly events: Events;
  /** Returns the Account and the location of its key, or undefined if there is no such Account or its spec is invalid. */
  readonly owner: (accountUid: string) => KeyOwner | undefined;
  /** Schedules a read of the account's Secret, so that its key is published. */
  readonly readSoon: (accountUid: string) => void;
  /** Returns the state, at the gateways, of the key with this SHA-256, or undefined while it is not published. */
  readonly programmed: (accountUid: string, sha256: string) => ProgrammedState | undefined;
  /** Returns how many gateways may answer callers. */
  readonly gatewayCount: () => number;
  /** Returns the current time in milliseconds since the epoch. */
  readonly clock?: () => number;
}

/**
 * The delay until a written key is read again and published, and until an object that was changed in the meantime is read again.
 */
const SOON = { requeueAfterMs: 20 };
/** How often a written key is read again after `SOON`. A key that someone has replaced by an invalid one is never published. */
const READ_SOON_MAX = 50;
const UNPUBLISHED_BACKOFF = { baseMs: 40, capMs: 30_000 };
/**
 * The interval at which the list of pending gateways is refreshed. Reads and writes nothing if it has not changed. `gatewaysChanged` is
 * called immediately when the last gateway has replaced the key.
 */
const LATER = { requeueAfterMs: 1_000 };

/** What was last reported about a new key that is published and not yet on all gateways. */
interface Awaited {
  readonly accountUid: string;
  readonly account: ConfigKey;
  readonly sha256: string;
  readonly state: ProgrammedState;
}

/** Creates the controller of KeyRegenerations. Runs for one leader's term. */
export const keyRegenerationController = (options: KeyRegenerationControllerOptions): Controller => {
  const { cache } = options;
  const regenerations = new Regenerations(options);
  const isOpen = (regeneration: ResourceObject): boolean => !isOver(regeneration);
  const controller = reconciler(options, {
    name: 'regenerations',
    stage: 'keys',
    kinds: ['KeyRegeneration'],
    concurrency: 7,
    backoff: { baseMs: 50, capMs: 10_000 },
    // The report of its end, too, because the Account is released then.
    when: () => true,
    watch: {
      Account: ({ object, isRemoved }) =>
        isRemoved ? [] : [...cache.operationsFor(object, 'KeyRegeneration')].filter(isOpen),
      // Other regenerations for the same account may have been waiting for the removed one.
      KeyRegeneration: ({ object, isRemoved }) => (isRemoved ? [...cache.operationsBeside(object)].filter(isOpen) : []),
    },
    reconcile: (regeneration, run) => regenerations.reconcile(regeneration, run),
    finalize: (regeneration) => regenerations.finalize(regeneration),
  });
  const gatewaysChanged = (keys: readonly ConfigKey[]): void => {
    for (const uid of regenerations.awaited(keys)) controller.enqueue(uid);
  };
  // An Account that becomes valid is not reported again if its status stays the same, as after its namespace has returned.
  const translated = ({ verdicts }: Pick<Changes, 'verdicts'>): void => {
    for (const { ref, uid } of verdicts) {
      const account = ref.kind === 'Account' ? cache.get(uid) : undefined;
      if (account === undefined) continue;
      for (const regeneration of cache.operationsFor(account, 'KeyRegeneration'))
        if (isOpen(regeneration)) controller.enqueue(regeneration.metadata.uid);
    }
  };
  return { ...controller, gatewaysChanged, translated };
};

/** A regeneration that exists. */
interface Current {
  readonly regeneration: ResourceObject;
  readonly writeStatus: Run['writeStatus'];
}

/**
 * Carries out KeyRegenerations. Each step checks what is already done, so a regeneration resumes after a crash at any point:
 * - Write the count, and which KeyRegeneration is in progress, to the Account's status, by compare-and-swap.
 * - Write the new key to the Secret, marked with the KeyRegeneration's uid.
 * - Publish one delta that makes the gateways swap the digests.
 * - Wait for acknowledgements from all gateways that may answer callers, then complete.
 */
class Regenerations {
  readonly #options: KeyRegenerationControllerOptions;
  /** Those that wait for gateways, by uid. There is at most one for each Account. */
  readonly #awaited = new Map<string, Awaited>();
  /** How often the written key was not published when it was read, by the regeneration's uid. */
  readonly #unpublished = new Map<string, number>();

  constructor(options: KeyRegenerationControllerOptions) {
    this.#options = options;
  }

  /**
   * Returns the uids of the regenerations that wait for gateways to replace the keys of these Accounts. One tenant can have thousands of
   * others that wait.
   */
  awaited(keys: readonly ConfigKey[]): readonly string[] {
    if (keys.length === 0) return [];
    const changed = new Set(keys);
    return [...this.#awaited].filter(([, { account }]) => changed.has(account)).map(([uid]) => uid);
  }

  async reconcile(
    regeneration: ResourceObject,
    { writeStatus, isReported }: Run,
  ): Promise<ReconcileResult | undefined> {
    const { uid } = regeneration.metadata;
    if (!isReported && this.#isStillAwaited(uid)) return LATER;
    this.#awaited.delete(uid);
    return ifOutdated(isOver(regeneration) ? this.#release(regeneration) : this.#resume({ regeneration, writeStatus }));
  }

  /** Releases the Account of a removed regeneration. */
  async finalize(regeneration: ResourceObject): Promise<ReconcileResult | undefined> {
    const { namespace, uid } = regeneration.metadata;
    this.#awaited.delete(uid);
    this.#unpublished.delete(uid);
    // An object that still exists was reported as removed because its namespace is no longer served. Nothing is written there.
    const exists = (await this.#find(namespace, regeneration.metadata)) !== undefined;
    return exists ? undefined : ifOutdated(this.#release(regeneration));
  }

  /** Returns whether it waits for the same gateways as in its status, so that nothing has to be read or written. */
  #isStillAwaited(uid: string): boolean {
    const awaited = this.#awaited.get(uid);
    if (awaited === undefined) return false;
    const { accountUid, sha256, state } = awaited;
    return isDeepStrictEqual(this.#options.programmed(accountUid, sha256), state);
  }

  get #now(): number {
    return (this.#options.clock ?? Date.now)();
  }

  async #resume(current: Current): Promise<ReconcileResult | undefined> {
    const { regeneration } = current;
    const { objects, owner } = this.#options;
    const parsed = parseObject(regeneration);
    if (!parsed.ok) {
      const { reason, message } = invalid(parsed.problems);
      return this.#report(current, refused(reason, message));
    }
    const { name } = (parsed.value.spec as KeyRegenerationSpec).accountRef;
    // The read bypasses all caches, because the current status is required.
    const account = await objects.get({ kind: 'Account', namespace: regeneration.metadata.namespace, name });
    if (account === undefined)
      return this.#awaitAccount(
        current,
        fails('AccountNotFound', `There is no Account ${name} in this namespace: create it.`),
      );
    const secret = owner(account.metadata.uid);
    if (secret === undefined)
      return this.#awaitAccount(current, fails('AccountNotReady', `Account ${name} is not valid: see its conditions.`));
    if (!secret.generated) return this.#report(current, managedElsewhere(`its own Secret ${secret.secretName}`, name));
    const begun = await this.#begin(current, account);
    if (begun !== true) return begun;
    return this.#replaceKey(current, { ...secret, account });
  }

  /**
   * Counts the regeneration and marks it as in progress, in one write. Resolves with true when both are stored, even by an earlier
   * call.
   */
  async #begin(current: Current, account: ResourceObject): Promise<true | ReconcileResult | undefined> {
    const { events, logger } = this.#options;
    const { name, uid } = current.regeneration.metadata;
    const now = this.#now;
    const { recent, left, resetsAt, current: running } = regenerationWindow(account, now);
    if (running?.uid === uid) return true;
    const other = running && (await this.#find(account.metadata.namespace, running));
    if (other !== undefined && !isOver(other)) {
      // The source reports the Account when the other regeneration ends. If the other regeneration is deleted, `removed` is called.
      return this.#report(
        current,
        pending('Pending', `KeyRegeneration ${other.metadata.name} for the same Account is in progress.`),
      );
    }
    if (left === 0) {
      const message = `The key of Account ${account.metadata.name} was regenerated ${recent.length} times within the last hour. The key was not changed. The next regeneration is possible at ${String(resetsAt)}.`;
      await events.record(account, { type: 'Warning', reason: 'LimitReached', message });
      return this.#report(current, refused('LimitReached', message, resetsAt));
    }
    const regenerations = [...recent, new Date(now).toISOString()];
    const windowResetsAt = new Date(Date.parse(regenerations[0] ?? '') + LIMITS.keyRegenerationWindowMs).toISOString();
    const apiKey = { regenerations, windowResetsAt, regenerating: { name, uid } };
    const outdated = await this.#writeAccount(account, { apiKey });
    if (outdated !== undefined) return outdated;
    logger.info({ ...objectRef(account), regeneration: name, left: left - 1 }, 'regenerating API key');
    return true;
  }

  /** Returns the KeyRegeneration with this name and uid, or undefined if it does not exist. */
  async #find(
    namespace: string,
    { name, uid }: { readonly name: string; readonly uid: string },
  ): Promise<ResourceObject | undefined> {
    const found = await this.#options.objects.get({ kind: 'KeyRegeneration', namespace, name });
    return found?.metadata.uid === uid ? found : undefined;
  }

  async #replaceKey(current: Current, { account, secretName }: KeyOwner): Promise<ReconcileResult | undefined> {
    const { regeneration } = current;
    const { secrets, events, readSoon, programmed, gatewayCount } = this.#options;
    const { namespace, uid } = account.metadata;
    try {
      const data = { [API_KEY_DATA_KEY]: generateApiKey() };
      await secrets.replace(account, secretName, data, regeneration.metadata.uid);
    } catch (error) {
      if (!(error instanceof SourceError) || error.kind !== 'Invalid') throw error;
      const what = `Secret ${secretName}, which the operator did not create`;
      const outdated = await this.#withdraw(regeneration, account);
      return outdated ?? this.#report(current, managedElsewhere(what, account.metadata.name));
    }
    const key = await secrets.read(namespace, secretName, API_KEY_DATA_KEY);
    const sha256 = key === undefined ? '' : apiKeySha256(Buffer.from(key).toString('utf8'));
    const state = programmed(uid, sha256);
    if (state === undefined) {
      readSoon(uid);
      await this.#report(current, WRITING);
      return this.#readAgain(regeneration.metadata.uid);
    }
    this.#unpublished.delete(regeneration.metadata.uid);
    const facts = regenerationFacts(state, gatewayCount(), formatSeconds(new Date(this.#now)));
    const outdated = await this.#report(current, facts);
    if (outdated !== undefined) return outdated;
    if (facts.phase !== 'Completed') {
      const accountKey = configKey({ kind: 'Account', uid });
      this.#awaited.set(regeneration.metadata.uid, { accountUid: uid, account: accountKey, sha256, state });
      // Gateways may have acknowledged the key during the report.
      return this.#isStillAwaited(regeneration.metadata.uid) ? LATER : SOON;
    }
    const message = `API key regenerated by KeyRegeneration ${regeneration.metadata.name}. ${facts.progress.message}`;
    await events.record(account, { type: 'Normal', reason: 'KeyRegenerated', message });
    return undefined;
  }

  #readAgain(uid: string): ReconcileResult {
    const reads = (this.#unpublished.get(uid) ?? 0) + 1;
    this.#unpublished.set(uid, reads);
    if (reads <= READ_SOON_MAX) return SOON;
    return { requeueAfterMs: exponentialMs(reads - READ_SOON_MAX, UNPUBLISHED_BACKOFF) };
  }

  /** Writes the status. Resolves with `SOON` if the object was deleted or changed, because the next attempt reads it again. */
  async #report({ regeneration, writeStatus }: Current, facts: RegenerationFacts): Promise<typeof SOON | undefined> {
    const written = await writeStatus(regenerationStatus(facts, conditionContext(regeneration, new Date(this.#now))));
    return written === 'outdated' ? SOON : undefined;
  }

  /** Writes status fields of an Account. Resolves as `#report` does. */
  async #writeAccount(account: ResourceObject, fields: StatusFields): Promise<typeof SOON | undefined> {
    const written = await new StatusWriter(this.#options.objects).write(account, fields);
    return written === 'outdated' ? SOON : undefined;
  }

  /**
   * Removes the regeneration from the count, because the key was not changed. The regeneration's own time is the last one, because
   * other regenerations wait while this one is in progress.
   */
  async #withdraw(regeneration: ResourceObject, { metadata }: ResourceObject): Promise<typeof SOON | undefined> {
    const { namespace, name } = metadata;
    const account = await this.#options.objects.get({ kind: 'Account', namespace, name });
    if (account === undefined) return undefined;
    const { recent, current } = regenerationWindow(account, this.#now);
    if (current?.uid !== regeneration.metadata.uid) return undefined;
    const regenerations = recent.slice(0, -1);
    const [first] = regenerations;
    const windowResetsAt =
      first === undefined ? undefined : new Date(Date.parse(first) + LIMITS.keyRegenerationWindowMs).toISOString();
    return this.#writeAccount(account, { apiKey: { regenerations, windowResetsAt, regenerating: undefined } });
  }

  /** Reports that the regeneration waits for its Account, or refuses the regeneration if it was created more than a day ago. */
  async #awaitAccount(current: Current, { reason, message }: Finding): Promise<ReconcileResult | undefined> {
    const createdAtMs = Date.parse(current.regeneration.metadata.creationTimestamp);
    const leftMs = createdAtMs + LIMITS.keyRegenerationWaitMsMax - this.#now;
    if (leftMs <= 0)
      return this.#report(
        current,
        refused(reason, `${message} This KeyRegeneration waited for a day: create another one.`),
      );
    return (await this.#report(current, pending(reason, message))) ?? { requeueAfterMs: leftMs };
  }

  /** Clears the mark on the Account that this regeneration is in progress. */
  async #release(regeneration: ResourceObject): Promise<ReconcileResult | undefined> {
    const { objects } = this.#options;
    const { namespace, uid } = regeneration.metadata;
    const parsed = parseObject(regeneration);
    if (!parsed.ok) return undefined;
    const { name } = (parsed.value.spec as KeyRegenerationSpec).accountRef;
    const account = await objects.get({ kind: 'Account', namespace, name });
    if (account === undefined || regenerationWindow(account, this.#now).current?.uid !== uid) return undefined;
    return this.#writeAccount(account, { apiKey: { regenerating: undefined } });
  }
}

/** Reads the objects again soon if one of them was changed or deleted after it was read. */
const ifOutdated = async (work: Promise<ReconcileResult | undefined>): Promise<ReconcileResult | undefined> => {
  try {
    return await work;
  } catch (error) {
    if (isOutdated(error)) return SOON;
    throw error;
  }
};

const managedElsewhere = (what: string, account: string): RegenerationFacts =>
  refused('ManagedElsewhere', `Account ${account} uses ${what}: replace the key there. Nothing was changed.`);
