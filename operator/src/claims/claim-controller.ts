import { LIMITS, type ResourceObject } from '@standin/contract';
import { Turns, WorkQueue, type ReconcileResult } from '@standin/kube';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Controller } from '../controller.ts';
import type { DesiredState } from '../desired-state.ts';
import { isPrefixClaim, type Holders, type Translator } from '../translate/index.ts';
import { ClaimRecords, planSweep } from './claim-records.ts';
import type { ClaimStore } from './claim-store.ts';

/** Where the claims of an installation are recorded. */
export interface RecordedClaims {
  readonly store: ClaimStore;
  /** Resolves with the key for the names of the records. */
  readonly installationKey: () => Promise<Uint8Array>;
}

export interface ClaimControllerOptions extends RecordedClaims {
  readonly desired: DesiredState;
  readonly translator: Translator;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Returns the current time in milliseconds since the epoch. */
  readonly clock?: () => number;
}

type Task = 'record' | 'sweep';

const BACKOFF = { baseMs: 50, capMs: 10_000 };
/** A new installation needs two rounds. Each conflict with a former leader takes another one. */
const PREPARED_ROUNDS = 5;
const AGAIN = { requeueAfterMs: 0 };
const RETRY = { requeueAfterMs: BACKOFF.baseMs };
/** Objects are deleted and applied again more often than this, so most deletions cause no write. */
const SWEEP_MS = 3_600_000;
/** A sweep visits all records. It is done earlier if this part of them is new, so the work for each new record is constant. */
const NEW_PART = 1 / 16;

/**
 * Records the claims to URIs, API keys and prefixes, for one leader's term. The translator decides which object gets a claim, and
 * serves the object when the claim is recorded.
 */
export class ClaimController implements Controller {
  readonly name = 'claims';
  readonly #options: ClaimControllerOptions;
  readonly #queue: WorkQueue<Task>;
  #records: ClaimRecords | undefined;
  #recordedSinceSweep = 0;
  /** True from the start of the task until all claims are recorded, also while a retry waits. */
  #isRecording = false;
  /** True after the term. The translator may then have the records of the next term, which a late write must not replace. */
  #isStopped = false;
  readonly #holders: Holders = (claim) => this.#records?.get(claim);

  constructor(options: ClaimControllerOptions) {
    this.#options = options;
    this.#queue = new WorkQueue<Task>({
      name: this.name,
      concurrency: 1,
      backoff: BACKOFF,
      registry: options.registry,
      logger: options.logger.child({ stage: 'claims' }),
      reconcile: (task) => (task === 'record' ? this.#recordAll() : this.#sweep()),
    });
  }

  /**
   * Reads the records, and records the claims of all objects. A claim that cannot be recorded is retried after `start`, and only its
   * object is not served until then.
   */
  async prepare(signal: AbortSignal): Promise<void> {
    const { store, installationKey, desired, translator, logger } = this.#options;
    this.#records = await ClaimRecords.read(store, await installationKey());
    desired.setHolders(this.#holders);
    desired.flush();
    try {
      // More claims arise while a tenant creates objects, and no other tenant may wait for them. They are recorded after `start`.
      for (let round = 1; round <= PREPARED_ROUNDS && !signal.aborted && translator.unrecorded().length > 0; round += 1)
        await this.#record();
    } catch (error) {
      logger.error({ err: error }, 'claims cannot be recorded, and their objects are not served until they are');
    }
  }

  start(): void {
    this.#recordSoon();
    this.#queue.add('sweep');
  }

  /** Records the claims of a new object before the hold-off ends, so that its first status is final. */
  changed({ kind }: ResourceObject): void {
    if (kind === 'Account' || kind === 'Project') this.#recordSoon();
  }

  translated(): void {
    if (this.#options.translator.unrecorded().length > 0) this.#recordSoon();
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    return this.#queue.stop();
  }

  #recordSoon(): void {
    // Adding the task would cancel the backoff after a failure.
    if (!this.#isRecording) this.#queue.add('record');
  }

  async #recordAll(): Promise<ReconcileResult | undefined> {
    this.#isRecording = true;
    if (!(await this.#record())) return RETRY;
    if (this.#options.translator.unrecorded().length > 0) return AGAIN;
    this.#isRecording = false;
    const newMax = Math.max(LIMITS.absentClaimsPerNamespaceMax, NEW_PART * (this.#records?.size ?? 0));
    if (this.#recordedSinceSweep > newMax) this.#queue.add('sweep');
    return undefined;
  }

  /** Resolves with false if another operator has changed records, so that the translator must decide again. */
  async #record(): Promise<boolean> {
    const { desired, translator, clock = Date.now } = this.#options;
    const records = this.#records;
    const claims = translator.unrecorded();
    if (claims.length === 0 || records === undefined) return true;
    const now = clock();
    const { prefixes = [], others = [] } = Object.groupBy(claims, ({ claim }) =>
      isPrefixClaim(claim) ? 'prefixes' : 'others',
    );
    let isWritten: boolean;
    try {
      // A URI is recorded before a prefix, because the prefix would otherwise reserve the URI of an older Project.
      isWritten = (await records.record(others, now)) && (await records.record(prefixes, now));
    } finally {
      // If a write failed, other shards may have been written.
      if (!this.#isStopped) {
        if (records.takeReread()) desired.setHolders(this.#holders);
        else for (const { claim } of claims) translator.recorded(claim);
        desired.flush();
      }
    }
    this.#recordedSinceSweep += claims.length;
    return isWritten;
  }

  async #sweep(): Promise<ReconcileResult> {
    const { desired, translator, clock = Date.now } = this.#options;
    const records = this.#records;
    if (records === undefined) return { requeueAfterMs: SWEEP_MS };
    this.#recordedSinceSweep = 0;
    const names = await records.names(translator.consulted());
    const isClaimed = (name: string, uid: string): boolean =>
      translator.claimedBy(uid).some((claim) => (names.get(claim) ?? records.recordName(claim)) === name);
    const turns = new Turns();
    const claimed = new Set<string>();
    for (const [name, { uid }] of records.entries()) {
      await turns.pause();
      if (isClaimed(name, uid)) claimed.add(name);
    }
    const changes = planSweep(records.entries(), claimed, clock());
    // An object may have come back in the meantime. A mark does no harm, because the next sweep removes it.
    for (const [name, record] of changes)
      if (record === undefined && isClaimed(name, records.named(name)?.uid ?? '')) changes.delete(name);
    const moved = new Set<string>();
    // The others are only marked as absent or present.
    for (const [name, record] of changes)
      if (record === undefined || record.former !== records.named(name)?.former) moved.add(name);
    let isWritten: boolean;
    try {
      isWritten = await records.write(changes);
    } finally {
      // If a write failed, other shards may have been written.
      if (records.takeReread() && !this.#isStopped) desired.setHolders(this.#holders);
      else await this.#tell(moved, names);
    }
    return isWritten ? { requeueAfterMs: SWEEP_MS } : RETRY;
  }

  /** Tells the translator which records have changed. Only the objects that they concern are evaluated again. */
  async #tell(changed: ReadonlySet<string>, names: ReadonlyMap<string, string>): Promise<void> {
    const { desired, translator } = this.#options;
    const records = this.#records;
    if (changed.size === 0 || records === undefined) return;
    const turns = new Turns();
    for (const claim of translator.consulted()) {
      await turns.pause();
      if (this.#isStopped) return;
      if (changed.has(names.get(claim) ?? records.recordName(claim))) translator.recorded(claim);
    }
    desired.flush();
  }
}
