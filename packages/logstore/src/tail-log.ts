import { setTimeout as delay } from 'node:timers/promises';
import type { LogEntry, LogSummary } from './log-entry.ts';
import type { LogFilter } from './log-filter.ts';
import type { LogStore } from './log-store.ts';

/** `insertedSince`: what ClickHouse took before it is known, and not looked for. */
export type TailFilter = Omit<LogFilter, 'order' | 'after' | 'until' | 'limit'>;

export interface TailOptions {
  readonly pollIntervalMs?: number;
  /** Told of each poll that fails; the next one is made all the same, unless this throws. Without it the tail ends. */
  readonly onFailure?: (error: unknown) => void | Promise<void>;
  /** Told after each poll up to which insert everything was yielded: `insertedSince` of a tail that goes on from there. */
  readonly onCaughtUp?: (insertedMs: number) => void | Promise<void>;
  /** After the abort, look once more: for who aborts when all is delivered, and wants to see the last of it. */
  readonly lookOnceMore?: boolean;
}

type Summaries = Pick<LogStore, 'summaries'>;

const POLL_INTERVAL_MS = 250;
/**
 * An insert stamps its rows when it begins and shows them when it ends, and replicas' clocks differ: each poll looks back. A
 * little every time, and now and then further than an insert may take (the client gives up after 35 s).
 */
const OVERLAP_MS = 3_000;
const WIDE_OVERLAP_MS = 60_000;
const WIDE_EVERY_MS = 10_000;
/** What was shown is remembered, to show it once. About 20 MB; above 3,000 rows/s a row may be shown twice. */
const REMEMBERED_IDS_MAX = 200_000;
const PAGE_SIZE = 1_000;

/** The last ids seen; the oldest fall out. */
export const rememberIds = (max: number = REMEMBERED_IDS_MAX) => {
  const ids = new Set<string>();
  /** `false` if the id was there. */
  return (id: string): boolean => {
    if (ids.has(id)) return false;
    ids.add(id);
    const [oldest] = ids.size > max ? ids : [];
    if (oldest !== undefined) ids.delete(oldest);
    return true;
  };
};

/** The pages of one poll, oldest first. */
async function* pages(store: Summaries, filter: LogFilter): AsyncGenerator<LogSummary[]> {
  for (let after: LogSummary | undefined; ;) {
    const page = await store.summaries({ ...filter, after });
    yield page;
    after = page.at(-1);
    if (page.length < filter.limit) return;
  }
}

const sleep = async (ms: number, signal: AbortSignal): Promise<void> => {
  try {
    await delay(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
};

const isAborted = (signal: AbortSignal): boolean => signal.aborted;

/** One poll after the other, from now on: what they find may have been found before. */
async function* polls(
  store: Summaries,
  filter: TailFilter,
  signal: AbortSignal,
  { pollIntervalMs = POLL_INTERVAL_MS, onFailure, onCaughtUp, lookOnceMore = false }: TailOptions,
): AsyncGenerator<LogSummary[]> {
  const since = filter.since ?? new Date();
  let newestInsertMs = filter.insertedSince?.getTime() ?? 0;
  // What was inserted while the last row that is known was shown, may have been shown after it.
  let widePollAt = filter.insertedSince === undefined ? performance.now() + WIDE_EVERY_MS : 0;
  for (let isLast = false; !isLast;) {
    isLast = isAborted(signal);
    if (isLast && !lookOnceMore) return;
    const wide = performance.now() >= widePollAt;
    if (wide) widePollAt = performance.now() + WIDE_EVERY_MS;
    const lookBackMs = wide ? WIDE_OVERLAP_MS : OVERLAP_MS;
    const insertedSince = new Date(Math.max(0, newestInsertMs - lookBackMs));
    let newestOfPollMs = newestInsertMs;
    try {
      for await (const page of pages(store, {
        ...filter,
        since,
        insertedSince,
        order: 'oldest-first',
        limit: PAGE_SIZE,
      })) {
        yield page;
        for (const summary of page) newestOfPollMs = Math.max(newestOfPollMs, summary.insertedAtMs);
        if (isAborted(signal) && !lookOnceMore) return;
      }
      // Pages are ordered by another time: a poll that broke off may have missed older inserts.
      newestInsertMs = newestOfPollMs;
      await onCaughtUp?.(newestInsertMs);
    } catch (error) {
      if (onFailure === undefined) throw error;
      await onFailure(error);
    }
    if (!isLast) await sleep(pollIntervalMs, signal);
  }
}

async function* unseenPages(
  store: Summaries,
  filter: TailFilter,
  signal: AbortSignal,
  options: TailOptions,
): AsyncGenerator<LogSummary[]> {
  const isNew = rememberIds();
  for await (const page of polls(store, filter, signal, options)) {
    const unseen = page.filter((summary) => isNew(summary.id));
    if (unseen.length > 0) yield unseen;
  }
}

/**
 * Follows the log until `signal` is aborted: summaries of entries received from `filter.since` on (default: from now on), each
 * once. Follows the time at which ClickHouse took the rows, in overlapping windows, so rows that a gateway delivers late, after
 * an outage, are shown too. Within a poll the oldest comes first; a row that comes late is shown late.
 *
 * Rejects with a `LogStoreError` when a poll fails, unless `onFailure` says to go on: then nothing is missed, nothing shown twice.
 */
export async function* tailSummaries(
  store: Summaries,
  filter: TailFilter,
  signal: AbortSignal,
  options: TailOptions = {},
): AsyncGenerator<LogSummary> {
  for await (const page of unseenPages(store, filter, signal, options)) yield* page;
}

/** As `tailSummaries`, with whole entries. */
export async function* tailLog(
  store: Summaries & Pick<LogStore, 'entries'>,
  filter: TailFilter,
  signal: AbortSignal,
  options: TailOptions = {},
): AsyncGenerator<LogEntry> {
  const { pollIntervalMs = POLL_INTERVAL_MS, onFailure } = options;
  for await (const page of unseenPages(store, filter, signal, options)) {
    for (let rest = page; rest.length > 0;) {
      try {
        for await (const entry of store.entries(rest)) {
          rest = rest.slice(rest.findIndex(({ id }) => id === entry.id) + 1);
          yield entry;
        }
        // What is left expired meanwhile.
        break;
      } catch (error) {
        if (onFailure === undefined) throw error;
        await onFailure(error);
        if (isAborted(signal)) return;
        await sleep(pollIntervalMs, signal);
      }
    }
  }
}
