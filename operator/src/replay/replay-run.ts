import { LIMITS, type ReplayPhase, type ResourceObject, type ResourceSource } from '@standin/contract';
import { DEFINITIONS, type ReplayStatus } from '@standin/crds';
import type { Clock } from '@standin/kube';
import { LogStoreError, type CountFilter, type LogStore, type ReplayResult } from '@standin/logstore';
import type { Logger } from 'pino';
import type { Finding } from '../translate/index.ts';
import { capturedRequests, type Captured } from './captured-requests.ts';
import { findEntry } from './find-entry.ts';
import { Pace } from './pace.ts';
import { formatPosition, parsePosition, ReplayCursor, type Position } from './replay-cursor.ts';
import { ReplayCounts } from './replay-counts.ts';
import type { ReplayMetrics } from './replay-metrics.ts';
import { resolveReplay, type ReplayPlan } from './replay-plan.ts';
import { ReplayReport, secondsOf } from './replay-report.ts';
import { ReplaySender, type SenderParts } from './replay-sender.ts';
import { ResultBuffer } from './result-buffer.ts';
import type { RunControl } from './run-control.ts';

export interface ReplayParts extends SenderParts {
  readonly source: ResourceSource;
  /** Undefined: no log store is configured. */
  readonly store: LogStore | undefined;
  /** Resolves when the store's tables exist. */
  readonly prepareStore: () => Promise<void>;
  readonly retentionDaysMax: number;
  readonly metrics: ReplayMetrics;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** `over`: the status shows how it ended. `later`: something is missing and may appear. `stopped`: no status is written. */
export type RunEnd = 'over' | 'later' | 'stopped';

/** Maximum number of requests of one Replay in flight, unless the original order is required. */
const AT_ONCE = 64;
const GATHER_MS = 100;
const CAPTURE_BYTES_MAX_BULK = 256 * 1024;
const RETRY_MS = { base: 200, cap: 10_000 };
/** ClickHouse's error code for a query that exceeds its time limit. */
const TOO_SLOW = '159';

const ACCEPTED: Finding = { ok: true, reason: 'Accepted', message: 'The replay is valid.' };
const RUNNING: Finding = { ok: false, reason: 'Running', message: 'Requests are being sent.' };

/** Runs one Replay, from the position in its status to its end. */
export class ReplayRun {
  readonly #parts: ReplayParts;
  readonly #object: ResourceObject;
  readonly #control: RunControl;
  readonly #report: ReplayReport;
  readonly #before: ReplayStatus;
  readonly #counts: ReplayCounts;
  readonly #logger: Logger;

  constructor(parts: ReplayParts, object: ResourceObject, control: RunControl) {
    const { namespace, name, uid } = object.metadata;
    this.#parts = parts;
    this.#object = object;
    this.#control = control;
    this.#logger = parts.logger.child({ namespace, replay: name });
    this.#before = DEFINITIONS.Replay.status.safeParse(object.status).data ?? {};
    this.#counts = new ReplayCounts();
    const { source, clock, objects } = parts;
    const ref = { kind: 'Replay', namespace, name } as const;
    const options = { source, clock, ref, uid, logger: this.#logger, object: () => objects.get(uid) };
    const { startedAt, planned, cursor, byStatus: counts = [] } = this.#before;
    const facts = { phase: 'Pending', accepted: ACCEPTED, complete: RUNNING, counts } as const;
    this.#report = new ReplayReport(options, { ...facts, startedAt, planned, cursor });
  }

  /** Rejects with unexpected errors. */
  async run(): Promise<RunEnd> {
    try {
      return await this.#run();
    } catch (error) {
      if (this.#control.stopped.aborted) return 'stopped';
      // Requests that were in flight when the log store became unavailable are not waited for.
      if (this.#control.state === 'Cancelled' && error instanceof LogStoreError) return await this.#end('Cancelled');
      throw error;
    } finally {
      await this.#report.close();
    }
  }

  async #run(): Promise<RunEnd> {
    const { store, objects } = this.#parts;
    const resolution = resolveReplay(this.#object, objects.values(), this.#parts);
    if (resolution.kind === 'invalid') return this.#refuse(resolution.finding);
    if (this.#control.state === 'Cancelled' && this.#before.startedAt === undefined) return this.#end('Cancelled');
    if (resolution.kind === 'waiting') return this.#wait(resolution.finding);
    if (store === undefined) {
      const message = 'The operator has no log store: set STANDIN_CLICKHOUSE_URL for it.';
      return this.#wait({ ok: false, reason: 'NoLogStore', message });
    }
    await this.#retry(() => this.#parts.prepareStore());
    // The stored results are authoritative: a status may be outdated or lost.
    const key = { projectUid: resolution.plan.project.uid, replayUid: this.#object.metadata.uid };
    this.#counts.add(await this.#retry(() => store.replays.counts(key)));
    this.#report.set({ counts: this.#counts.list() });
    if (!(await this.#mayGoOn())) return this.#finish();
    const startedAt = this.#before.startedAt ?? secondsOf(this.#parts.clock.date());
    this.#report.set({ phase: 'Running', startedAt });
    const { requestId } = resolution.plan.spec;
    return requestId === undefined
      ? this.#sendMany(resolution.plan, store)
      : this.#sendOne(resolution.plan, store, requestId);
  }

  async #sendOne(plan: ReplayPlan, store: LogStore, requestId: string): Promise<RunEnd> {
    this.#report.set({ planned: 1 });
    const key = { projectUid: plan.project.uid, replayUid: this.#object.metadata.uid, requestId };
    const earlier = this.#counts.total === 0 ? undefined : await this.#retry(() => store.replays.answer(key));
    if (earlier !== undefined) {
      this.#sayResult(earlier.status, earlier.durationMs, earlier.error);
      return this.#finish();
    }
    const entry = await findEntry(requestId, {
      ...{ store, projectUid: plan.project.uid, clock: this.#parts.clock, signal: this.#control.stopped },
      retry: (work) => this.#retry(work),
    });
    if (entry === undefined) {
      const message = `The log of Project ${plan.project.name} has no entry ${requestId}; it may have expired.`;
      return this.#refuse({ ok: false, reason: 'RequestNotFound', message });
    }
    const captureBytesMax = LIMITS.responseCaptureBytesMax;
    const sender = new ReplaySender(this.#parts, { plan, replay: this.#object, captureBytesMax });
    const obstacle = plan.spec.target.kind === 'Upstream' ? await sender.obstacle(entry) : undefined;
    if (obstacle !== undefined) return this.#refuse({ ok: false, reason: 'EndpointNotFound', message: obstacle });
    const result = await sender.send(entry, this.#control.stopped);
    await this.#retry(() => store.replays.insert([result]));
    this.#note(result);
    this.#sayResult(result.status, result.durationUs / 1_000, result.error);
    return this.#finish();
  }

  async #sendMany(plan: ReplayPlan, store: LogStore): Promise<RunEnd> {
    const { spec, project } = plan;
    if (spec.filter === undefined) throw new Error('a Replay without requestId has a filter');
    const { limit } = spec.filter;
    // Excludes requests that the replay itself causes.
    const until = new Date(Math.min(Date.parse(spec.filter.to), Date.parse(this.#object.metadata.creationTimestamp)));
    const filter = { projectUid: project.uid, search: plan.search, since: new Date(spec.filter.from), until };
    const start = parsePosition(this.#before.cursor);
    const planned = this.#before.planned ?? (await this.#count(store, filter, limit));
    this.#report.set({ planned });

    const cursor = new ReplayCursor(start);
    const skip = await this.#doneSince(store, plan, start);
    const retry = <T>(work: () => Promise<T>): Promise<T> => this.#retry(work);
    const left = limit - (start?.count ?? 0);
    const captured = capturedRequests({ store, filter: { ...filter, after: start?.at }, limit: left, skip, retry });
    const buffer = new ResultBuffer({ store: store.replays, gatherMs: GATHER_MS, retry });
    await this.#sendAll(captured, { plan, cursor, buffer });
    return this.#finish();
  }

  async #sendAll(
    captured: AsyncIterable<Captured>,
    { plan, cursor, buffer }: { plan: ReplayPlan; cursor: ReplayCursor; buffer: ResultBuffer },
  ): Promise<void> {
    const { ending, stopped } = this.#control;
    const sender = new ReplaySender(this.#parts, {
      plan,
      replay: this.#object,
      captureBytesMax: CAPTURE_BYTES_MAX_BULK,
    });
    const pace = new Pace(plan.spec.ratePerSecond, plan.spec.order === 'Original' ? 1 : AT_ONCE, this.#parts.clock);
    const underWay = new Set<Promise<void>>();
    const failures: unknown[] = [];
    for await (const { summary, entry } of captured) {
      const done = cursor.begin(summary);
      const advance = (): void => {
        done();
        const { position } = cursor;
        this.#report.set({ cursor: position && formatPosition(position), counts: this.#counts.list() });
      };
      if (entry === undefined) {
        advance();
        continue;
      }
      await buffer.room();
      await pace.enter(ending);
      if (!(await this.#mayGoOn()) || failures.length > 0) break;
      const sent = sender.send(entry, stopped).finally(() => pace.leave());
      const stored = sent.then(async (result) => {
        await buffer.add(result);
        this.#note(result);
        advance();
      });
      const task = stored.catch((error: unknown) => void failures.push(error)).finally(() => underWay.delete(task));
      underWay.add(task);
    }
    await Promise.all(underWay);
    if (failures.length > 0) throw failures[0];
  }

  /** Waits while the replay is suspended. False if no more requests may be sent. */
  async #mayGoOn(): Promise<boolean> {
    const { phase, complete } = this.#report.facts;
    while (this.#control.state === 'Suspended' && !this.#control.stopped.aborted) {
      const message = 'Paused by spec.state. Requests in flight will finish.';
      this.#report.set({ phase: 'Suspended', complete: { ok: false, reason: 'Suspended', message } });
      await this.#control.change();
      this.#report.set({ phase, complete });
    }
    return !this.#control.ending.aborted;
  }

  /** Undefined: counting takes too long. */
  async #count(store: LogStore, filter: CountFilter, limit: number): Promise<number | undefined> {
    try {
      return Math.min(limit, await this.#retry(() => store.count(filter)));
    } catch (error) {
      if (error instanceof LogStoreError && error.code === TOO_SLOW) return undefined;
      throw error;
    }
  }

  /** Requests after the cursor that got a response before this operator led. */
  async #doneSince(store: LogStore, { project }: ReplayPlan, start: Position | undefined): Promise<Set<string>> {
    if (this.#counts.total === 0) return new Set();
    const sinceUs = start === undefined ? 0 : Date.parse(start.at.receivedAt) * 1_000;
    const key = { projectUid: project.uid, replayUid: this.#object.metadata.uid, sinceUs };
    return new Set(await this.#retry(() => store.replays.ids(key)));
  }

  /** Repeats work while the log store is unavailable, but not after the replay was cancelled. */
  async #retry<T>(work: () => Promise<T>): Promise<T> {
    const { complete } = this.#report.facts;
    for (let attempt = 0; ; attempt++) {
      this.#control.stopped.throwIfAborted();
      try {
        const result = await work();
        if (attempt > 0) this.#report.set({ complete });
        return result;
      } catch (error) {
        const mayHelp = error instanceof LogStoreError && error.kind === 'retryable' && error.code !== TOO_SLOW;
        if (!mayHelp || this.#control.state === 'Cancelled') throw error;
        const message = `The log store is unavailable (${error.message}). The replay continues when it is back.`;
        this.#report.set({ complete: { ok: false, reason: 'Waiting', message } });
        const waitMs = Math.min(RETRY_MS.cap, RETRY_MS.base * 2 ** Math.min(attempt, 10));
        await this.#parts.clock.sleep(waitMs, this.#control.ending);
      }
    }
  }

  #note({ status, error, target }: ReplayResult): void {
    this.#counts.note(status, error);
    this.#parts.metrics.requests.inc({ target, outcome: status === 0 ? 'failed' : 'answered' });
  }

  #sayResult(status: number, durationMs: number, error: string): void {
    const shown = error === '' ? {} : { error: error.slice(0, LIMITS.conditionMessageLengthMax) };
    this.#report.set({ counts: this.#counts.list(), result: { status, durationMs: Math.round(durationMs), ...shown } });
  }

  async #wait(finding: Finding): Promise<RunEnd> {
    const complete: Finding = { ok: false, reason: 'Waiting', message: finding.message };
    this.#report.set({ phase: 'Pending', accepted: finding, complete });
    await this.#report.flush(this.#control.stopped);
    return 'later';
  }

  /** None of its requests can be sent. */
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
    const completedAt = secondsOf(this.#parts.clock.date());
    this.#report.set({
      phase,
      complete: { ok: true, reason: phase, message },
      completedAt,
      counts: this.#counts.list(),
    });
    await this.#report.flush(this.#control.stopped);
    const type = phase === 'Failed' ? 'Warning' : 'Normal';
    await this.#parts.source.recordEvent(this.#object, { type, reason: phase, message });
    this.#logger.info({ phase, sent: this.#counts.total }, 'a replay has ended');
    return 'over';
  }
}
