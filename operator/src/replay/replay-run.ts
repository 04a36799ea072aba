import { setImmediate } from 'node:timers/promises';
import {
  exponentialMs,
  LIMITS,
  type Events,
  type Objects,
  type ReplayPhase,
  type ResourceObject,
} from '@standin/contract';
import { readStatus } from '@standin/crds';
import type { Clock } from '@standin/kube';
import { LogStoreError, type LogStore, type ReplayResult } from '@standin/logstore';
import type { Logger } from 'pino';
import { formatSeconds } from '../status/conditions.ts';
import { NO_LOG_STORE, type Progress } from '../operations/operation-conditions.ts';
import type { Finding, RetentionSettings } from '../translate/index.ts';
import { findEntry } from './captured-requests.ts';
import type { ReplaySlots, Ticket } from './replay-slots.ts';
import { ReplayCounts } from './replay-counts.ts';
import type { ReplayMetrics } from './replay-metrics.ts';
import { resolveReplay, type ReplayPlan } from './replay-plan.ts';
import { NO_PLACE, PAUSED, ReplayReport, type ReplayReportOptions } from './replay-report.ts';
import { ReplaySender, type SenderParts } from './replay-sender.ts';
import type { RunControl } from './run-control.ts';
import { sendMany } from './send-many.ts';

export interface ReplayParts extends SenderParts, RetentionSettings {
  readonly objects: Pick<Objects, 'writeStatus'>;
  readonly events: Events;
  /** Undefined if no log store is configured. */
  readonly store: LogStore | undefined;
  /** Resolves when the store's tables exist. */
  readonly prepareStore: () => Promise<void>;
  readonly metrics: ReplayMetrics;
  readonly logger: Logger;
  readonly clock: Clock;
  /** See `Term.remainingMs`. */
  readonly remainingMs: () => number;
}

export interface RunParts extends ReplayParts, Pick<ReplayReportOptions, 'writeLater'> {
  readonly places: ReplaySlots;
}

/** The end of a run. After `over`, the status shows how the run ended. After `stopped`, no status is written. */
export type RunEnd = 'over' | 'stopped';

/**
 * The end of a turn, which is one attempt to get a slot and to continue (see `ReplaySlots`). After `again`, the run may need
 * another turn. After `blocked`, it needs another turn only when its state changes or its project is reported.
 */
type TurnEnd = RunEnd | 'again' | 'blocked';

const RETRY_BACKOFF = { baseMs: 200, capMs: 10_000 };

const ACCEPTED: Finding = { ok: true, reason: 'Accepted', message: 'The replay is valid.' };
const RUNNING: Progress = { type: 'Reconciling', reason: 'Running', message: 'Requests are being sent.' };
const waiting = (message: string): Progress => ({ type: 'Reconciling', reason: 'Waiting', message });
const NOT_YET: Finding = { ok: false, reason: 'Pending', message: 'The Replay is checked when there is room for it.' };

interface Turn {
  readonly plan: ReplayPlan;
  readonly store: LogStore;
  readonly ticket: Ticket;
}

/** Thrown when work is left for a later turn. */
class TurnOver extends Error {
  override readonly name = 'TurnOver';
}

/** Runs one Replay in turns, from the position in its status to its end. Only a Replay that has a slot sends requests. */
export class ReplayRun {
  readonly #parts: RunParts;
  readonly #object: ResourceObject;
  readonly #control: RunControl;
  readonly #report: ReplayReport;
  readonly #counts: ReplayCounts;
  readonly #logger: Logger;
  /** Whether the responses that were stored before this run have been counted. */
  #isCounted = false;
  /**
   * When the current turn began, as returned by `clock.now()`. Requests that this turn has read may still be sent, and their
   * responses stored. Undefined between turns.
   */
  readingSince: number | undefined;

  constructor(parts: RunParts, object: ResourceObject, control: RunControl) {
    const { namespace, name, uid } = object.metadata;
    this.#parts = parts;
    this.#object = object;
    this.#control = control;
    this.#logger = parts.logger.child({ namespace, name });
    this.#counts = new ReplayCounts();
    const { objects, clock, cache, writeLater } = parts;
    const options = { objects, clock, writeLater, logger: this.#logger, object: () => cache.get(uid) };
    const { startedAt, planned, cursor, byStatus: counts = [] } = readStatus('Replay', object.status);
    const accepted = startedAt === undefined ? NOT_YET : ACCEPTED;
    const facts = { phase: 'Pending', accepted, progress: RUNNING, counts } as const;
    this.#report = new ReplayReport(options, { ...facts, startedAt, planned, cursor });
  }

  /** Runs the Replay until it ends or must stop. Rejects with unexpected errors. */
  async run(): Promise<RunEnd> {
    try {
      for (;;) {
        const end = await this.#turn();
        if (end === 'over' || end === 'stopped') return end;
      }
    } catch (error) {
      if (this.#control.stopped.aborted) return 'stopped';
      // A cancelled run ends even if the log store is unavailable. The results of its requests in flight may be lost.
      if (this.#control.state === 'Cancelled' && error instanceof LogStoreError) return await this.#end('Cancelled');
      throw error;
    } finally {
      await this.#report.close();
    }
  }

  /** Writes the status of a waiting run. Rejects if the write fails. */
  writeWaiting(): Promise<void> {
    return this.#report.writeWaiting();
  }

  /** Waits for a slot and sends as far as possible. If the run is paused or blocked, waits for a change. */
  async #turn(): Promise<TurnEnd> {
    const { places, metrics } = this.#parts;
    const { state, stopped } = this.#control;
    if (stopped.aborted) return 'stopped';
    // Changes after this point are noticed.
    const changed = this.#control.change();
    const projectSeen = this.#control.projectSeen();
    if (state === 'Suspended' && this.#isCounted) {
      this.#report.wait(PAUSED);
      await changed;
      return 'again';
    }
    // A cancelled Replay needs its slot only for a moment.
    const ticket = places.join(this.#object.metadata.namespace, state === 'Cancelled' ? 'first' : 'last');
    let end: TurnEnd = 'again';
    try {
      if (ticket.takenAt === undefined) this.#report.wait(state === 'Suspended' ? PAUSED : NO_PLACE);
      await Promise.race([ticket.granted, changed]);
      if (ticket.takenAt === undefined) return end;
      metrics.running.set(places.taken);
      this.readingSince = ticket.takenAt;
      end = await this.#run(ticket);
    } catch (error) {
      if (!(error instanceof TurnOver)) throw error;
    } finally {
      this.readingSince = undefined;
      places.leave(ticket);
      metrics.running.set(places.taken);
    }
    if (end === 'blocked') await Promise.race([changed, projectSeen]);
    return end;
  }

  async #run(ticket: Ticket): Promise<TurnEnd> {
    // There may be thousands of Replays that cannot start. Other work continues between their short turns.
    await setImmediate();
    const { store, cache } = this.#parts;
    const resolution = resolveReplay(this.#object, cache, this.#parts);
    if (resolution.kind === 'invalid') return this.#refuse(resolution.finding);
    const { startedAt } = this.#report.facts;
    if (this.#control.state === 'Cancelled' && startedAt === undefined) return this.#end('Cancelled');
    if (resolution.kind === 'waiting') return this.#block(resolution.finding);
    if (store === undefined) {
      return this.#block({ ok: false, reason: 'NoLogStore', message: NO_LOG_STORE });
    }
    await this.#read(ticket, () => this.#parts.prepareStore());
    if (!this.#isCounted) {
      // The stored results are authoritative, because a status may be outdated or lost.
      const { uid: projectUid, namespace, name: project } = resolution.plan.project;
      const key = { projectUid, namespace, project, replayUid: this.#object.metadata.uid };
      this.#counts.add(await this.#read(ticket, () => store.replays.counts(key)));
      this.#isCounted = true;
    }
    this.#report.set({ accepted: ACCEPTED, counts: this.#counts.list() });
    if (!this.#control.maySend) return this.#interrupt();
    this.#report.set({
      phase: 'Running',
      progress: RUNNING,
      startedAt: startedAt ?? formatSeconds(this.#parts.clock.date()),
    });
    const { requestId } = resolution.plan.spec;
    const turn = { plan: resolution.plan, store, ticket };
    return requestId === undefined ? this.#sendMany(turn) : this.#sendOne(turn, requestId);
  }

  async #sendOne({ plan, store, ticket }: Turn, requestId: string): Promise<TurnEnd> {
    this.#report.set({ planned: 1 });
    const { uid: projectUid, namespace, name: project } = plan.project;
    const key = { projectUid, namespace, project, replayUid: this.#object.metadata.uid, requestId };
    const earlier = this.#counts.total === 0 ? undefined : await this.#read(ticket, () => store.replays.exchange(key));
    if (earlier !== undefined) {
      this.#reportResult(earlier.status, earlier.durationMs, earlier.error);
      return this.#finish();
    }
    const entry = await findEntry(requestId, {
      store,
      project: plan.project,
      clock: this.#parts.clock,
      signal: this.#control.stopped,
      retry: (work) => this.#read(ticket, work),
    });
    if (entry === undefined) {
      const message = `The log of Project ${plan.project.name} has no request ${requestId}: the request may have expired or been purged.`;
      return this.#refuse({ ok: false, reason: 'RequestNotFound', message });
    }
    const captureBytesMax = LIMITS.responseCaptureBytesMax;
    const sender = new ReplaySender(this.#parts, { plan, replay: this.#object, captureBytesMax });
    const obstacle = plan.spec.target.kind === 'Upstream' ? await sender.obstacle(entry) : undefined;
    if (obstacle !== undefined) return this.#refuse({ ok: false, reason: 'EndpointNotFound', message: obstacle });
    const result = await sender.send(entry, this.#control.stopped);
    await this.#retry(() => store.replays.insert([result], this.#parts.remainingMs));
    this.#note(result);
    this.#reportResult(result.status, result.durationUs / 1_000, result.error);
    return this.#finish();
  }

  async #sendMany({ plan, store, ticket }: Turn): Promise<TurnEnd> {
    const isComplete = await sendMany({
      parts: this.#parts,
      replay: this.#object,
      plan,
      store,
      control: this.#control,
      report: this.#report,
      counts: this.#counts,
      note: (result) => this.#note(result),
      read: (work) => this.#read(ticket, work),
      retry: (work) => this.#retry(work),
      mustLeave: () => this.#parts.places.mustLeave(ticket),
      draining: () => {
        if (this.#control.state === 'Suspended') this.#report.set(PAUSED);
      },
    });
    return isComplete ? this.#finish() : this.#interrupt();
  }

  /** Ends the turn before everything is sent. */
  #interrupt(): Promise<TurnEnd> | TurnEnd {
    return this.#control.state === 'Cancelled' ? this.#finish() : 'again';
  }

  /**
   * Repeats work as `#retry` does, but gives the slot back when the run is paused or other Replays need the slot. Reads may be
   * repeated in the next turn.
   */
  #read<T>(ticket: Ticket, work: () => Promise<T>): Promise<T> {
    return this.#retry(work, () => {
      const isPaused = this.#control.state === 'Suspended' && this.#isCounted;
      if (isPaused || this.#parts.places.mustLeave(ticket)) throw new TurnOver('the slot is given back');
    });
  }

  /** Repeats work while the log store is unavailable, unless the replay is cancelled. */
  async #retry<T>(work: () => Promise<T>, beforeAgain: () => void = () => undefined): Promise<T> {
    const { progress } = this.#report.facts;
    for (let attempt = 0; ; attempt++) {
      this.#control.stopped.throwIfAborted();
      try {
        const result = await work();
        if (attempt > 0) this.#report.set({ progress });
        return result;
      } catch (error) {
        const mayHelp = error instanceof LogStoreError && error.kind === 'retryable' && !error.isTooSlow;
        if (!mayHelp || this.#control.state === 'Cancelled') throw error;
        const message = `The log is unavailable (${error.message}). The replay continues when the log is available again.`;
        this.#report.set({ progress: waiting(message) });
        await this.#parts.clock.sleep(exponentialMs(attempt, RETRY_BACKOFF), this.#control.ending);
        beforeAgain();
      }
    }
  }

  #note({ status, error, target }: ReplayResult): void {
    this.#counts.note(status, error);
    this.#parts.metrics.requests.inc({ target, outcome: status === 0 ? 'failed' : 'answered' });
  }

  #reportResult(status: number, durationMs: number, error: string): void {
    const shown = error === '' ? {} : { error: error.slice(0, LIMITS.conditionMessageLengthMax) };
    this.#report.set({ counts: this.#counts.list(), result: { status, durationMs: Math.round(durationMs), ...shown } });
  }

  #block(finding: Finding): TurnEnd {
    this.#report.wait({ phase: 'Pending', accepted: finding, progress: waiting(finding.message) });
    return 'blocked';
  }

  /** Ends a run that cannot send any requests. */
  #refuse(accepted: Finding): Promise<RunEnd> {
    this.#report.set({ accepted });
    return this.#end('Failed', accepted.message);
  }

  #finish(): Promise<RunEnd> {
    const phase =
      this.#control.state === 'Cancelled' ? 'Cancelled' : this.#counts.unanswered > 0 ? 'Failed' : 'Succeeded';
    return this.#end(phase);
  }

  async #end(phase: Extract<ReplayPhase, 'Succeeded' | 'Failed' | 'Cancelled'>, why?: string): Promise<RunEnd> {
    if (this.#control.stopped.aborted) return 'stopped';
    const { planned } = this.#report.facts;
    const message = why ?? `${phase === 'Cancelled' ? 'Cancelled. ' : ''}${this.#counts.describe(planned)}`;
    const completedAt = formatSeconds(this.#parts.clock.date());
    const progress: Progress = { type: phase === 'Succeeded' ? 'Complete' : 'Failed', reason: phase, message };
    this.#report.set({ phase, progress, completedAt, counts: this.#counts.list() });
    if (!(await this.#report.flush(this.#control.stopped))) return 'stopped';
    const type = phase === 'Failed' ? 'Warning' : 'Normal';
    await this.#parts.events.record(this.#object, { type, reason: phase, message });
    this.#logger.info({ phase, sent: this.#counts.total }, 'replay ended');
    return 'over';
  }
}
