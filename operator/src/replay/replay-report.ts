import type { Objects, ReplayPhase, ResourceObject } from '@standin/contract';
import type { StatusCount } from '@standin/logstore';
import type { Clock } from '@standin/kube';
import type { Logger } from 'pino';
import { operationConditions, type Progress } from '../operations/operation-conditions.ts';
import { conditionContext, type ConditionContext } from '../status/conditions.ts';
import { StatusWriter, type StatusFields } from '../status/status-writer.ts';
import type { Finding } from '../translate/index.ts';
import { PLACES_IN_NAMESPACE_MAX, PLACES_MAX } from './replay-slots.ts';

/** The facts from which `replayStatus` computes a Replay's status. */
export interface ReplayFacts {
  readonly phase: ReplayPhase;
  readonly accepted: Finding;
  readonly progress: Progress;
  readonly planned?: number | undefined;
  /** The number of requests by response status. Status 0 means that there is no response. */
  readonly counts: readonly StatusCount[];
  readonly cursor?: string | undefined;
  /** The time when the Replay first ran, in RFC 3339 format. */
  readonly startedAt?: string | undefined;
  readonly completedAt?: string | undefined;
  readonly result?: { readonly status: number; readonly durationMs: number; readonly error?: string } | undefined;
}

export const PAUSED = {
  phase: 'Suspended',
  progress: {
    type: 'Reconciling',
    reason: 'Suspended',
    message: 'Paused. Requests that were already in flight are still completed.',
  },
} as const;

export const NO_PLACE = {
  phase: 'Pending',
  progress: {
    type: 'Reconciling',
    reason: 'Waiting',
    message:
      `The operator runs up to ${PLACES_MAX} Replays at a time, ${PLACES_IN_NAMESPACE_MAX} per namespace. ` +
      'This Replay starts or continues when there is room for it.',
  },
} as const;

export interface ReplayReportOptions {
  readonly objects: Pick<Objects, 'writeStatus'>;
  /** Returns the latest known version, or undefined if the object was deleted. */
  readonly object: () => ResourceObject | undefined;
  /** Calls `writeWaiting` later, because thousands of Replays may wait and their writes must not delay other writes. */
  readonly writeLater: () => void;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** A short replay is reported once, when it has ended. A long replay is reported at most once a second. */
const FIRST_WRITE_MS = 250;
const WRITE_INTERVAL_MS = 1_000;
const RETRY_MS = 1_000;
/** Only the most frequent statuses are reported. */
const BY_STATUS_MAX = 64;

const sum = (counts: readonly StatusCount[]): number => counts.reduce((total, { count }) => total + count, 0);

export const replayStatus = (facts: ReplayFacts, context: ConditionContext): StatusFields => {
  const { phase, accepted, progress, planned, counts, cursor, startedAt, completedAt, result } = facts;
  const sent = sum(counts);
  const failed = counts.find(({ status }) => status === 0)?.count ?? 0;
  const byStatus = counts.toSorted((a, b) => b.count - a.count).slice(0, BY_STATUS_MAX);
  return {
    observedGeneration: context.generation,
    conditions: operationConditions(accepted, progress, context),
    phase,
    ...(planned !== undefined && { planned }),
    ...(startedAt !== undefined && { startedAt, sent, answered: sent - failed, failed }),
    ...(sent > 0 && { byStatus: byStatus.toSorted((a, b) => a.status - b.status) }),
    ...(cursor !== undefined && { cursor }),
    ...(completedAt !== undefined && { completedAt }),
    ...(result !== undefined && { result }),
  };
};

/**
 * Writes the status of one Replay. Writes are rare, always contain the latest facts, and never affect another object with the same
 * name.
 */
export class ReplayReport {
  readonly #options: ReplayReportOptions;
  readonly #writer: StatusWriter;
  #facts: ReplayFacts;
  #isDirty = false;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #writtenAt: number | undefined;
  #isClosed = false;
  #isWaiting = false;

  constructor(options: ReplayReportOptions, facts: ReplayFacts) {
    this.#options = options;
    this.#writer = new StatusWriter(options.objects);
    this.#facts = facts;
  }

  get facts(): ReplayFacts {
    return this.#facts;
  }

  /** Sets changed facts, which are written soon. */
  set(changes: Partial<ReplayFacts>): void {
    this.#isWaiting = false;
    this.#change(changes);
  }

  /** Sets the facts of a waiting Replay. The facts are written when the reports of other Replays leave room. */
  wait(changes: Partial<ReplayFacts>): void {
    this.#isWaiting = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#change(changes);
  }

  /** Writes the facts of a Replay that is still waiting. Rejects if the write fails. */
  async writeWaiting(): Promise<void> {
    if (this.#isWaiting) await this.#write();
  }

  /** Writes the facts without delay. Resolves to whether everything is written, which is false only if `signal` has aborted. */
  async flush(signal: AbortSignal): Promise<boolean> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (;;) {
      await this.#writing;
      if (!this.#needsWrite() || signal.aborted) return !this.#isDirty;
      await this.#write();
      if (this.#needsWrite()) await this.#options.clock.sleep(RETRY_MS, signal);
    }
  }

  /** Prevents further writes. Resolves when no write is in progress. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#writing;
  }

  #needsWrite(): boolean {
    return this.#isDirty && !this.#isClosed;
  }

  #change(changes: Partial<ReplayFacts>): void {
    this.#facts = { ...this.#facts, ...changes };
    this.#writeSoon();
  }

  #writeSoon(): void {
    this.#isDirty = true;
    if (this.#isWaiting) this.#options.writeLater();
    else this.#schedule();
  }

  #schedule(): void {
    if (this.#isClosed || this.#timer !== undefined) return;
    const now = this.#options.clock.now();
    const delayMs =
      this.#writtenAt === undefined ? FIRST_WRITE_MS : Math.max(0, this.#writtenAt + WRITE_INTERVAL_MS - now);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#write().catch(() => this.#options.writeLater());
    }, delayMs);
  }

  /**
   * Writes the facts if they have changed. Rejects only if the Replay is waiting. Otherwise, a failed write is logged and
   * repeated.
   */
  #write(): Promise<void> {
    const write = async (): Promise<void> => {
      if (!this.#needsWrite()) return;
      this.#isDirty = false;
      this.#writtenAt = this.#options.clock.now();
      try {
        await this.#writeOnce();
      } catch (error) {
        this.#isDirty = true;
        if (this.#isWaiting) throw error;
        this.#options.logger.warn({ err: error }, 'cannot write replay status, retrying');
        this.#schedule();
      }
    };
    const written = this.#writing.then(write);
    this.#writing = written.catch(() => undefined);
    return written;
  }

  async #writeOnce(): Promise<void> {
    const object = this.#options.object();
    if (object === undefined) {
      // The object was deleted, or its namespace is no longer selected. In that case, another run writes the facts later.
      this.#isDirty = true;
      return;
    }
    const newest = this.#writer.newest(object);
    const status = replayStatus(this.#facts, conditionContext(newest, this.#options.clock.date()));
    if ((await this.#writer.write(newest, status)) === 'outdated') this.#writeSoon();
  }
}
