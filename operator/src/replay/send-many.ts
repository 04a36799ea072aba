import { parseInstant, type ResourceObject } from '@standin/contract';
import type { Clock } from '@standin/kube';
import { LogStoreError, type CountFilter, type LogStore, type ReplayResult } from '@standin/logstore';
import { capturedRequests, type Captured } from './captured-requests.ts';
import { formatPosition, parsePosition, ReplayCursor, type Position } from './replay-cursor.ts';
import type { ReplayCounts } from './replay-counts.ts';
import type { ReplayPlan } from './replay-plan.ts';
import type { ReplayReport } from './replay-report.ts';
import { ReplaySender, type SenderParts } from './replay-sender.ts';
import { ResultBuffer } from './result-buffer.ts';
import type { RunControl } from './run-control.ts';

/** Does work that needs the log store. Retries until the store is available. */
type Retry = <T>(work: () => Promise<T>) => Promise<T>;

export interface SendManyOptions {
  readonly parts: SenderParts & { readonly clock: Clock; readonly remainingMs: () => number };
  readonly replay: ResourceObject;
  readonly plan: ReplayPlan;
  readonly store: LogStore;
  readonly control: RunControl;
  readonly report: ReplayReport;
  readonly counts: ReplayCounts;
  /** Called with each result that is stored. */
  readonly note: (result: ReplayResult) => void;
  /** Does reads in the same way as `retry`. Rejects if the read is left for a later turn. */
  readonly read: Retry;
  readonly retry: Retry;
  /** Returns whether this turn is over because another Replay needs the slot. */
  readonly mustLeave: () => boolean;
  /** Called when no more requests are sent for now, before the remaining responses are awaited. */
  readonly draining: () => void;
}

/** Maximum number of concurrent requests for one Replay, unless the original order is required. */
const AT_ONCE = 64;
const GATHER_MS = 100;
const CAPTURE_BYTES_MAX_BULK = 256 * 1024;

/**
 * Sends the requests that a Replay's filter matches, from the position in its status. Settles when nothing is in flight and no
 * result is being stored. The result is true if everything was sent, and false if the run must not send now. Rejects with the
 * first failure.
 */
export const sendMany = async (options: SendManyOptions): Promise<boolean> => {
  const { parts, plan, store, replay, report, read, retry } = options;
  const { spec, project } = plan;
  if (spec.filter === undefined) throw new Error('the Replay has neither requestId nor filter');
  const { limit } = spec.filter;
  // Excludes requests that the replay itself causes.
  const [toUs = NaN, createdAtUs = NaN] = [spec.filter.to, replay.metadata.creationTimestamp].map(parseInstant);
  const untilUs = Math.min(toUs, createdAtUs);
  const { uid: projectUid, namespace, name } = project;
  const sinceUs = parseInstant(spec.filter.from);
  const filter = { projectUid, namespace, project: name, search: plan.search, sinceUs, untilUs };
  const start = parsePosition(report.facts.cursor);
  report.set({ planned: report.facts.planned ?? (await count(options, filter, limit)) });

  const skip = await doneSince(options, start);
  const left = limit - (start?.count ?? 0);
  const captured = capturedRequests({ store, filter: { ...filter, after: start?.at }, limit: left, skip, retry: read });
  const sending: Sending = {
    cursor: new ReplayCursor(start),
    buffer: new ResultBuffer({
      insert: (results) => store.replays.insert(results, parts.remainingMs),
      gatherMs: GATHER_MS,
      retry,
    }),
    inFlight: new Set(),
    failures: [],
  };
  const isComplete = await sendEach(captured, sending, options).catch((error: unknown) => {
    sending.failures.push(error);
    return false;
  });
  if (!isComplete) options.draining();
  await Promise.all(sending.inFlight);
  if (sending.failures.length > 0) throw sending.failures[0];
  return isComplete;
};

interface Sending {
  readonly cursor: ReplayCursor;
  readonly buffer: ResultBuffer;
  readonly inFlight: Set<Promise<void>>;
  readonly failures: unknown[];
}

const sendEach = async (
  captured: AsyncIterable<Captured>,
  { cursor, buffer, inFlight, failures }: Sending,
  { parts, plan, replay, control, report, counts, note, mustLeave }: SendManyOptions,
): Promise<boolean> => {
  const { ending, stopped } = control;
  const sender = new ReplaySender(parts, { plan, replay, captureBytesMax: CAPTURE_BYTES_MAX_BULK });
  const pace = new Pace(plan.spec.ratePerSecond, plan.spec.order === 'Original' ? 1 : AT_ONCE, parts.clock);
  let sentCount = 0;
  for await (const { summary, entry } of captured) {
    const done = cursor.begin(summary);
    const advance = (): void => {
      done();
      const { position } = cursor;
      report.set({ cursor: position && formatPosition(position), counts: counts.list() });
    };
    if (entry === undefined) {
      advance();
      continue;
    }
    await buffer.room();
    await pace.enter(ending);
    // Each turn sends at least one request, no matter how long the search takes.
    if (!control.maySend || failures.length > 0 || (sentCount > 0 && mustLeave())) return false;
    sentCount += 1;
    const sent = sender.send(entry, stopped).finally(() => pace.leave());
    const stored = sent.then(async (result) => {
      await buffer.add(result);
      note(result);
      advance();
    });
    const task = stored.catch((error: unknown) => void failures.push(error)).finally(() => inFlight.delete(task));
    inFlight.add(task);
  }
  return true;
};

/** Counts the matching requests. Resolves with undefined if counting takes too long. */
const count = async (
  { store, read }: SendManyOptions,
  filter: CountFilter,
  limit: number,
): Promise<number | undefined> => {
  try {
    return Math.min(limit, await read(() => store.count(filter)));
  } catch (error) {
    if (error instanceof LogStoreError && error.isTooSlow) return undefined;
    throw error;
  }
};

/** Resolves with the ids of the requests after `start` whose results were stored before this turn. */
const doneSince = async (
  { store, plan, replay, counts, read }: SendManyOptions,
  start: Position | undefined,
): Promise<Set<string>> => {
  if (counts.total === 0) return new Set();
  const sinceUs = start === undefined ? 0 : (parseInstant(start.at.receivedAt) ?? 0);
  const { uid: projectUid, namespace, name: project } = plan.project;
  const key = { projectUid, namespace, project, replayUid: replay.metadata.uid, sinceUs };
  return new Set(await read(() => store.replays.ids(key)));
};

/**
 * Limits a replay to a rate (requests per second, evenly spaced, without a burst after a pause) and a number of concurrent
 * requests.
 */
class Pace {
  readonly #intervalMs: number;
  readonly #clock: Clock;
  #nextAt = 0;
  #free: number;
  readonly #queue: (() => void)[] = [];

  constructor(ratePerSecond: number, atOnce: number, clock: Clock) {
    this.#intervalMs = 1_000 / ratePerSecond;
    this.#free = atOnce;
    this.#clock = clock;
  }

  /**
   * Resolves when the next request may start. If `signal` aborts, no longer waits for the rate, but still waits until the number
   * of concurrent requests allows another one. The caller must call `leave` when the request has ended.
   */
  async enter(signal: AbortSignal): Promise<void> {
    if (this.#free === 0) await new Promise<void>((resolve) => this.#queue.push(resolve));
    else this.#free -= 1;
    const now = this.#clock.now();
    const at = Math.max(now, this.#nextAt);
    this.#nextAt = at + this.#intervalMs;
    if (at > now) await this.#clock.sleep(at - now, signal);
  }

  leave(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
