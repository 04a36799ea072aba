import { setTimeout as delay } from 'node:timers/promises';
import type { LogEntry, LogSummary } from '@standin/exchange';
import type { Clock } from '@standin/kube';
import type { LogFilter, LogOwner, LogStore } from '@standin/logstore';

export interface CapturedOptions {
  readonly store: Pick<LogStore, 'summaries' | 'entries'>;
  readonly filter: Pick<LogFilter, 'projectUid' | 'namespace' | 'project' | 'search' | 'sinceUs' | 'untilUs' | 'after'>;
  readonly limit: number;
  /** Ids of the entries that are not fetched. */
  readonly skip: ReadonlySet<string>;
  /** Does work that needs the log store. Retries until the store is available. */
  readonly retry: <T>(work: () => Promise<T>) => Promise<T>;
}

/** A position in the order of entries. If `entry` is undefined, the entry is skipped or has expired. */
export interface Captured {
  readonly summary: LogSummary;
  readonly entry: LogEntry | undefined;
}

const PAGE = 500;
/** Limits on the entries that are in memory at the same time. */
const FETCH_ROWS_MAX = 50;
const FETCH_BYTES_MAX = 16 * 1024 * 1024;

/** Yields the matching captured requests, oldest first and at most `limit`, in bounded memory. */
export async function* capturedRequests(options: CapturedOptions): AsyncGenerator<Captured> {
  const { store, filter, limit, retry } = options;
  let { after } = filter;
  for (let left = limit; left > 0;) {
    const page = await retry(() =>
      store.summaries({ ...filter, after, order: 'oldest-first', limit: Math.min(PAGE, left) }),
    );
    for (const part of fetchableParts(page)) yield* fetch(part, options);
    after = page.at(-1);
    left -= page.length;
    if (after === undefined) return;
  }
}

async function* fetch(part: readonly LogSummary[], options: CapturedOptions): AsyncGenerator<Captured> {
  const { store, skip, retry } = options;
  const wanted = part.filter(({ id }) => !skip.has(id));
  const entries = await retry(async () => {
    const found = new Map<string, LogEntry>();
    for await (const entry of store.entries(wanted)) found.set(entry.id, entry);
    return found;
  });
  for (const summary of part) yield { summary, entry: entries.get(summary.id) };
}

const fetchableParts = function* (page: readonly LogSummary[]): Generator<LogSummary[]> {
  let part: LogSummary[] = [];
  let bytes = 0;
  for (const summary of page) {
    if (part.length === FETCH_ROWS_MAX || (part.length > 0 && bytes + summary.bodyBytes > FETCH_BYTES_MAX)) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(summary);
    bytes += summary.bodyBytes;
  }
  if (part.length > 0) yield part;
};

export interface FindOptions {
  readonly store: Pick<LogStore, 'get'>;
  readonly project: LogOwner;
  readonly clock: Clock;
  /** Does work that needs the log store. Retries until the store is available. */
  readonly retry: <T>(work: () => Promise<T>) => Promise<T>;
  readonly signal: AbortSignal;
}

/** How long to wait for a recent entry. At the 95th percentile, a row is visible 1.5 s after its request. */
const APPEARS_MS_MAX = 5_000;
const APPEARS_POLL_MS = 200;
const RECENT_MS = 60_000;

/** Returns whether a UUIDv7 was created within the last minute. */
const isRecent = (id: string, now: Date): boolean =>
  now.getTime() - Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) < RECENT_MS;

/**
 * Finds an entry in this project. Waits for a recent entry, which may not be visible yet. Resolves with undefined if the project
 * has no such entry. Rejects when `signal` aborts.
 */
export const findEntry = async (id: string, options: FindOptions): Promise<LogEntry | undefined> => {
  const { store, project, clock, retry, signal } = options;
  const deadline = clock.now() + (isRecent(id, clock.date()) ? APPEARS_MS_MAX : 0);
  for (;;) {
    const entry = await retry(() => store.get(id));
    const { uid, namespace, name } = project;
    if (entry?.projectUid === uid && entry.namespace === namespace && entry.project === name) return entry;
    if (entry !== undefined || clock.now() > deadline) return undefined;
    await delay(APPEARS_POLL_MS, undefined, { signal });
  }
};
