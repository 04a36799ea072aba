import type { LogSummary } from '@standin/exchange';
import { LogStoreError, tailSummaries, type TailedLog, type TailFilter } from '@standin/logstore';
import type { OfProject, ProjectLog } from '../../src/backend.ts';
import type { EventSink } from '../../src/pages/event-stream.ts';
import type { RowBatch } from './feed.ts';
import { unavailableMessage, NO_RESPONSE, type Unavailable } from '../requests/read-traffic.server.ts';
import { compareRows, toTrafficRow } from '../requests/traffic-row.ts';

/** The shortest interval between two checks for new requests. A new request can wait at least this long before it is read. */
const POLL_MS = 150;
/** Requests found within this time are sent together. */
const TOGETHER_MS = 20;
const TICK_MS = 1_000;
/**
 * The silence after which the next tick sends an event. The page reopens a stream that is silent for 12 s. A log that does not
 * respond within this time is considered unavailable.
 */
const SILENCE_MS = 5_000;
/** The maximum number of rows in a batch. The page only counts older requests, because users cannot read so many rows at once. */
const BATCH_ROWS_MAX = 5_000;

export interface StreamOptions {
  readonly log: ProjectLog;
  readonly filter: OfProject<TailFilter>;
  readonly sink: EventSink;
  readonly signal: AbortSignal;
}

/** Creates a batch, newest first. Each request is in its last state. Of the oldest requests over the limit, it contains only the ids. */
const toBatch = (summaries: readonly LogSummary[]): RowBatch => {
  const latest = new Map(summaries.map((summary) => [summary.id, summary]));
  const rows = Array.from(latest.values(), toTrafficRow).sort(compareRows);
  if (rows.length <= BATCH_ROWS_MAX) return { rows };
  return { rows: rows.slice(0, BATCH_ROWS_MAX), skippedIds: rows.slice(BATCH_ROWS_MAX).map(({ id }) => id) };
};

/**
 * Sends requests to a client. If there are none for a while, sends an empty batch, or the reason why the log is unavailable, so
 * that the stream is never silent for long.
 */
class Reporter {
  readonly #sink: EventSink;
  #arrived: LogSummary[] = [];
  /** The reason why the log is unavailable. Undefined if the log is available. */
  #unavailable: string | undefined;
  /** The insert time up to which the client has received everything after the next batch. */
  #insertedMs: number;
  #sentAt = Number.NEGATIVE_INFINITY;
  #askedAt: number | undefined;
  #soon: ReturnType<typeof setTimeout> | undefined;

  constructor(sink: EventSink, insertedMs: number) {
    this.#sink = sink;
    this.#insertedMs = insertedMs;
  }

  add(summary: LogSummary): void {
    this.#arrived.push(summary);
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      if (this.#unavailable === undefined) this.#send();
    }, TOGETHER_MS);
  }

  /**
   * Waits for a query, so that `tick` can report a query that takes too long. If the query succeeds, records that the log is
   * available.
   */
  async watch<T>(query: Promise<T>): Promise<T> {
    this.#askedAt = performance.now();
    try {
      const result = await query;
      this.answered();
      return result;
    } finally {
      this.#askedAt = undefined;
    }
  }

  caughtUp(insertedMs: number): void {
    this.#insertedMs = insertedMs;
    this.answered();
  }

  answered(): void {
    if (this.#unavailable === undefined) return;
    this.#unavailable = undefined;
    this.#send();
  }

  fail(message: string): void {
    if (this.#unavailable !== undefined && !this.#isSilent()) return;
    this.#unavailable = message;
    this.#sentAt = performance.now();
    this.#sink.send('unavailable', { unavailable: message } satisfies Unavailable);
  }

  /** Reports a log that is not responding, and ends long silences. Must be called periodically. */
  tick(): void {
    if (this.#askedAt !== undefined && performance.now() - this.#askedAt > SILENCE_MS) this.fail(NO_RESPONSE);
    else if (!this.#isSilent()) return;
    else if (this.#unavailable === undefined) this.#send();
    else this.fail(this.#unavailable);
  }

  end(): void {
    clearTimeout(this.#soon);
  }

  #isSilent(): boolean {
    return performance.now() - this.#sentAt > SILENCE_MS;
  }

  #send(): void {
    this.#sentAt = performance.now();
    this.#sink.send('rows', toBatch(this.#arrived), String(this.#insertedMs));
    this.#arrived = [];
  }
}

/** Sends new log entries until `signal` aborts. Reports log outages. No entry is missed after an outage. */
export const streamTraffic = async ({ log, filter, sink, signal }: StreamOptions): Promise<void> => {
  const reporter = new Reporter(sink, filter.insertedSince?.getTime() ?? 0);
  const watched: TailedLog = {
    summaries: (wanted) => reporter.watch(log.summaries(wanted)),
    follow: (wanted) => log.follow(wanted),
  };
  const onFailure = (error: unknown): void => {
    if (!(error instanceof LogStoreError)) throw error;
    reporter.fail(unavailableMessage(error));
  };
  // Send the first event immediately, so that the client knows that the stream is open.
  reporter.tick();
  const timer = setInterval(() => reporter.tick(), TICK_MS);
  try {
    const onCaughtUp = (insertedMs: number): void => reporter.caughtUp(insertedMs);
    const tail = tailSummaries(watched, { ...filter, projectUid: log.projectUid }, signal, {
      onFailure,
      onCaughtUp,
      pollIntervalMs: POLL_MS,
    });
    for await (const summary of tail) reporter.add(summary);
  } finally {
    clearInterval(timer);
    reporter.end();
  }
};
