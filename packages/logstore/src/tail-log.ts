import { setTimeout as delay } from 'node:timers/promises';
import type { LogEntry, LogSummary } from '@standin/exchange';
import type { LogFilter } from './log-filter.ts';
import type { InsertFeed } from './follow-inserts.ts';
import type { LogStore } from './log-store.ts';

/**
 * With `insertedSince`, the caller already knows the rows that ClickHouse stored before that time, so the tail does not search for
 * them. The tail may still yield rows of the last minute before that time (see `UNDER_WAY_MS`).
 */
export type TailFilter = Omit<LogFilter, 'order' | 'after' | 'untilUs' | 'limit' | 'insertedAt'>;

export interface TailOptions {
  /** The shortest interval between polls for inserts. See `LogStore.follow`. */
  readonly pollIntervalMs?: number;
  /** Called for each failed read. The read is repeated unless the callback throws. Without a callback, the tail rejects. */
  readonly onFailure?: (error: unknown) => void | Promise<void>;
  /**
   * Called each time all rows in the log have been yielded, with the time of the newest insert among them. Another tail can
   * continue from there if this time is its `insertedSince`.
   */
  readonly onCaughtUp?: (insertedMs: number) => void | Promise<void>;
}

/** The part of `LogStore` that a tail needs. */
export type TailedLog = Pick<LogStore, 'summaries' | 'follow'>;

const POLL_INTERVAL_MS = 250;
/** How long before `insertedSince` an insert that was running at that time may have begun. The client gives up after 35 s. */
const UNDER_WAY_MS = 60_000;
/**
 * The number of requests to remember, so that rows that are read again are not shown again. They take about 20 MB. A row can be shown
 * twice if it is read again after more than this number of other rows.
 */
const REMEMBERED_MAX = 200_000;
const PAGE_SIZE = 5_000;
/** The maximum number of milliseconds in one read. They are part of the URL, whose length is limited. */
const STAMPS_MAX = 200;

/** What identifies a request, and whether it has ended. */
type Remembered = Pick<LogSummary, 'id' | 'outcome'>;

/** Returns a function that remembers the last `max` requests that it was given. */
export const rememberRequests = (max: number = REMEMBERED_MAX) => {
  /** Whether each request has ended, by id. */
  const known = new Map<string, boolean>();
  /** Returns `false` if the request is already known, unless it was in progress before and has ended. */
  return ({ id, outcome }: Remembered): boolean => {
    const hasEnded = outcome !== 'in_progress';
    const hadEnded = known.get(id);
    if (hadEnded === true || hadEnded === hasEnded) return false;
    known.set(id, hasEnded);
    const [oldest] = known.size > max ? known.keys() : [];
    if (oldest !== undefined) known.delete(oldest);
    return true;
  };
};

/** The rows that one read covers. */
type Inserted = Pick<LogFilter, 'insertedSince' | 'insertedAt'>;

/** Yields the pages of one read, oldest first. */
async function* pages(store: TailedLog, filter: LogFilter): AsyncGenerator<LogSummary[]> {
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

/** A tail in progress. */
interface Tailing {
  readonly feed: InsertFeed;
  /** Aborts when the reader wants no more rows. */
  readonly signal: AbortSignal;
}

const startTailing = (
  store: TailedLog,
  { projectUid, namespace, project }: TailFilter,
  signal: AbortSignal,
  { pollIntervalMs = POLL_INTERVAL_MS }: TailOptions,
): Tailing => ({ feed: store.follow({ projectUid, namespace, project, pollIntervalMs }), signal });

/** Returns whether the reader wants no more rows, or the log store is closed, so that no read can succeed. */
const isOver = ({ feed, signal }: Tailing): boolean => signal.aborted || feed.isClosed;

const inParts = (stamps: readonly number[]): Inserted[] =>
  Array.from({ length: Math.ceil(stamps.length / STAMPS_MAX) }, (_part, index) => ({
    insertedAt: stamps.slice(index * STAMPS_MAX, (index + 1) * STAMPS_MAX),
  }));

/**
 * Yields the pages of all these reads, oldest read first. Removes a finished read from the list, so that a retry reads only the
 * rest.
 */
async function* pagesOfAll(
  store: TailedLog,
  filter: LogFilter,
  toRead: Inserted[],
  tailing: Tailing,
): AsyncGenerator<LogSummary[]> {
  for (let inserted = toRead[0]; inserted !== undefined; inserted = toRead[0]) {
    for await (const page of pages(store, { ...filter, ...inserted })) {
      yield page;
      if (isOver(tailing)) return;
    }
    toRead.shift();
  }
}

/** Yields the rows in the log first, and then the new ones. A row may be found twice. */
async function* foundPages(
  store: TailedLog,
  filter: TailFilter,
  tailing: Tailing,
  { pollIntervalMs = POLL_INTERVAL_MS, onFailure, onCaughtUp }: TailOptions,
): AsyncGenerator<LogSummary[]> {
  const { insertedSince, sinceUs = Date.now() * 1_000, ...wanted } = filter;
  const read: LogFilter = { ...wanted, sinceUs, order: 'oldest-first', limit: PAGE_SIZE };
  let newestMs = insertedSince?.getTime() ?? 0;
  const { feed, signal } = tailing;
  const close = (): void => feed.close();
  signal.addEventListener('abort', close);
  let toRead: Inserted[] = [];
  let isFirst = true;
  try {
    while (!isOver(tailing)) {
      try {
        if (toRead.length === 0) {
          const stamps = await feed.next();
          // From this point on, every inserted row is announced.
          toRead = isFirst ? [{ insertedSince: new Date(Math.max(0, newestMs - UNDER_WAY_MS)) }] : inParts(stamps);
          isFirst = false;
        }
        if (isOver(tailing)) return;
        let newestReadMs = newestMs;
        for await (const page of pagesOfAll(store, read, toRead, tailing)) {
          yield page;
          newestReadMs = Math.max(newestReadMs, ...page.map(({ insertedAtMs }) => insertedAtMs));
        }
        if (isOver(tailing)) return;
        // Set only after the whole read, because pages are ordered by `received_at`. After a part of them, older inserts may be
        // missing.
        newestMs = newestReadMs;
        await onCaughtUp?.(newestMs);
      } catch (error) {
        if (isOver(tailing)) return;
        if (onFailure === undefined) throw error;
        await onFailure(error);
        await sleep(pollIntervalMs, signal);
      }
    }
  } finally {
    signal.removeEventListener('abort', close);
    feed.close();
  }
}

async function* unseenPages(
  store: TailedLog,
  filter: TailFilter,
  tailing: Tailing,
  options: TailOptions,
): AsyncGenerator<LogSummary[]> {
  const isNew = rememberRequests();
  for await (const page of foundPages(store, filter, tailing, options)) {
    const unseen = page.filter(isNew);
    if (unseen.length > 0) yield unseen;
  }
}

/**
 * Follows the log until `signal` aborts or the log store is closed. Yields summaries of entries received since `filter.sinceUs` (by
 * default, from now on), each one once, and a second time if it was in progress and then ended. Follows the time at which ClickHouse
 * stored the rows, so that rows that a gateway delivers late, after an outage, are also shown. Within a read, the oldest row comes
 * first, and a row that arrives late is shown late. Rejects with a `LogStoreError` when a read fails, unless there is an `onFailure`,
 * in which case it neither misses nor repeats a row.
 */
export async function* tailSummaries(
  store: TailedLog,
  filter: TailFilter,
  signal: AbortSignal,
  options: TailOptions = {},
): AsyncGenerator<LogSummary> {
  const tailing = startTailing(store, filter, signal, options);
  for await (const page of unseenPages(store, filter, tailing, options)) yield* page;
}

/**
 * Returns a function that returns whether an entry was complete when its summary was found in progress, so that it is now complete for
 * the second time.
 */
const rememberEarly = () => {
  const early = new Set<string>();
  return (wanted: Remembered | undefined, { id, outcome }: Remembered): boolean => {
    if (wanted?.outcome !== 'in_progress') return early.delete(id);
    if (outcome !== 'in_progress') early.add(id);
    return false;
  };
};

/** Works like `tailSummaries`, with complete entries. */
export async function* tailLog(
  store: TailedLog & Pick<LogStore, 'entries'>,
  filter: TailFilter,
  signal: AbortSignal,
  options: TailOptions = {},
): AsyncGenerator<LogEntry> {
  const { pollIntervalMs = POLL_INTERVAL_MS, onFailure } = options;
  const tailing = startTailing(store, filter, signal, options);
  const isRepeated = rememberEarly();
  for await (const page of unseenPages(store, filter, tailing, options)) {
    for (let rest = page; rest.length > 0;) {
      try {
        for await (const entry of store.entries(rest)) {
          const index = rest.findIndex(({ id }) => id === entry.id);
          const wanted = rest[index];
          rest = rest.slice(index + 1);
          yield* isRepeated(wanted, entry) ? [] : [entry];
        }
        // Entries that were not found have expired or been purged in the meantime.
        break;
      } catch (error) {
        if (isOver(tailing)) return;
        if (onFailure === undefined) throw error;
        await onFailure(error);
        await sleep(pollIntervalMs, signal);
        if (isOver(tailing)) return;
      }
    }
  }
}
