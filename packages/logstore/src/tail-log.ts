import { setTimeout as delay } from 'node:timers/promises';
import type { LogEntry, LogSummary } from './log-entry.ts';
import type { LogFilter } from './log-filter.ts';
import type { LogStore } from './log-store.ts';

/** `insertedSince`: what ClickHouse took before it is known, and not looked for. */
export type TailFilter = Omit<LogFilter, 'order' | 'after' | 'until' | 'limit' | 'insertedAt'>;

export interface TailOptions {
  /** How often the log is asked for inserts, at most; see `LogStore.follow`. */
  readonly pollIntervalMs?: number;
  /** Called for each read that fails. The read is repeated unless this throws; without this option the tail ends. */
  readonly onFailure?: (error: unknown) => void | Promise<void>;
  /**
   * Told each time everything was yielded that the log had, with the newest insert among it: `insertedSince` of a tail that continues
   * from there.
   */
  readonly onCaughtUp?: (insertedMs: number) => void | Promise<void>;
}

/** What a tail needs of a `LogStore`. */
export type TailedLog = Pick<LogStore, 'summaries' | 'follow'>;

const POLL_INTERVAL_MS = 250;
/** So much longer than `insertedSince` an insert may have taken that was under way then (the client gives up after 35 s). */
const UNDER_WAY_MS = 60_000;
/**
 * What was shown is remembered, to show it once. About 20 MB. A row is shown twice where more than this were shown since, and then
 * its very millisecond gets another row.
 */
const REMEMBERED_IDS_MAX = 200_000;
const PAGE_SIZE = 5_000;
/** Of one read: they travel in the URL. */
const STAMPS_MAX = 200;

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

/** What one read looks at. */
type Inserted = Pick<LogFilter, 'insertedSince' | 'insertedAt'>;

/** The pages of one read, oldest first. */
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

const isAborted = (signal: AbortSignal): boolean => signal.aborted;

const inParts = (stamps: readonly number[]): Inserted[] =>
  Array.from({ length: Math.ceil(stamps.length / STAMPS_MAX) }, (_part, index) => ({
    insertedAt: stamps.slice(index * STAMPS_MAX, (index + 1) * STAMPS_MAX),
  }));

/** The pages of all these reads, oldest read first. One that is over leaves the list: what is left is what a retry has to read. */
async function* pagesOfAll(
  store: TailedLog,
  filter: LogFilter,
  toRead: Inserted[],
  signal: AbortSignal,
): AsyncGenerator<LogSummary[]> {
  for (let inserted = toRead[0]; inserted !== undefined; inserted = toRead[0]) {
    for await (const page of pages(store, { ...filter, ...inserted })) {
      yield page;
      if (isAborted(signal)) return;
    }
    toRead.shift();
  }
}

/** First what the log has, then what it gets: what is found may have been found before. */
async function* foundPages(
  store: TailedLog,
  filter: TailFilter,
  signal: AbortSignal,
  { pollIntervalMs = POLL_INTERVAL_MS, onFailure, onCaughtUp }: TailOptions,
): AsyncGenerator<LogSummary[]> {
  const { insertedSince, since = new Date(), ...wanted } = filter;
  const read: LogFilter = { ...wanted, since, order: 'oldest-first', limit: PAGE_SIZE };
  let newestMs = insertedSince?.getTime() ?? 0;
  const feed = store.follow({ projectUid: filter.projectUid, pollIntervalMs });
  const close = (): void => feed.close();
  signal.addEventListener('abort', close);
  let toRead: Inserted[] = [];
  let isFirst = true;
  try {
    while (!isAborted(signal)) {
      try {
        if (toRead.length === 0) {
          const stamps = await feed.next();
          // Every row that is inserted from here on is announced.
          toRead = isFirst ? [{ insertedSince: new Date(Math.max(0, newestMs - UNDER_WAY_MS)) }] : inParts(stamps);
          isFirst = false;
        }
        let newestReadMs = newestMs;
        for await (const page of pagesOfAll(store, read, toRead, signal)) {
          yield page;
          newestReadMs = Math.max(newestReadMs, ...page.map(({ insertedAtMs }) => insertedAtMs));
        }
        if (isAborted(signal)) return;
        // Pages are ordered by another time: a read that broke off may have missed older inserts.
        newestMs = newestReadMs;
        await onCaughtUp?.(newestMs);
      } catch (error) {
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
  signal: AbortSignal,
  options: TailOptions,
): AsyncGenerator<LogSummary[]> {
  const isNew = rememberIds();
  for await (const page of foundPages(store, filter, signal, options)) {
    const unseen = page.filter((summary) => isNew(summary.id));
    if (unseen.length > 0) yield unseen;
  }
}

/**
 * Follows the log until `signal` is aborted: summaries of entries received from `filter.since` on (default: from now on), each
 * once. Follows the time at which ClickHouse took the rows, so rows that a gateway delivers late, after an outage, are shown too.
 * Within a read the oldest comes first; a row that comes late is shown late.
 *
 * Rejects with a `LogStoreError` when a read fails, unless there is `onFailure`: then nothing is missed, nothing shown twice.
 */
export async function* tailSummaries(
  store: TailedLog,
  filter: TailFilter,
  signal: AbortSignal,
  options: TailOptions = {},
): AsyncGenerator<LogSummary> {
  for await (const page of unseenPages(store, filter, signal, options)) yield* page;
}

/** As `tailSummaries`, with whole entries. */
export async function* tailLog(
  store: TailedLog & Pick<LogStore, 'entries'>,
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
