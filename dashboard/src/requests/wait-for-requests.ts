import type { LogSummary } from '@standin/exchange';
import { tailSummaries, type LogCursor } from '@standin/logstore';
import type { Filter } from '@standin/exchange/search';
import type { ProjectLog } from '../backend.ts';
import { readUntil } from './read-until.ts';
import { deliverRecent } from './recent-requests.ts';

interface Wanted {
  readonly search?: Filter | undefined;
  /** In microseconds since the epoch. */
  readonly sinceUs?: number | undefined;
  /** Only requests received after this one count. */
  readonly after?: LogCursor | undefined;
  readonly count: number;
}

export interface WaitOptions extends Wanted {
  readonly timeoutMs: number;
}

/** Resolves with the `count` oldest matching requests in the log, or with fewer if there are fewer. */
export const listOldest = (
  log: ProjectLog,
  { search, sinceUs, after, count }: Wanted,
): Promise<readonly LogSummary[]> => log.summaries({ search, sinceUs, after, order: 'oldest-first', limit: count });

/**
 * Resolves with the `count` oldest matching requests as soon as there are that many, or with fewer on timeout or when `signal`
 * aborts. Rejects like `ProjectLog`.
 */
export const waitForRequests = async (
  log: ProjectLog,
  { search, sinceUs, after, count, timeoutMs }: WaitOptions,
  signal: AbortSignal,
): Promise<readonly LogSummary[]> => {
  const over = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  if (log.own !== undefined) {
    const read = async (): Promise<readonly LogSummary[]> => {
      await deliverRecent(log, [search], signal);
      return listOldest(log, { search, sinceUs, after, count });
    };
    return readUntil(log, read, ({ length }) => length >= count, over);
  }
  // Following finds the rows that ClickHouse has inserted since it inserted the newest request, by its own clock. Listing finds
  // earlier rows.
  const [newest] = await log.summaries({ limit: 1 });
  const found = new Map<string, LogSummary>();
  const listed = await listOldest(log, { search, sinceUs, after, count });
  for (const summary of listed) found.set(summary.id, summary);
  if (found.size < count) {
    const filter = {
      projectUid: log.projectUid,
      search,
      sinceUs: sinceUs ?? 0,
      insertedSince: new Date(newest?.insertedAtMs ?? 0),
    };
    for await (const summary of tailSummaries(log, filter, over)) {
      if (after === undefined || isBehind(summary, after)) found.set(summary.id, summary);
      if (found.size >= count) break;
    }
  }
  return [...found.values()].sort(byTime);
};

/** Compares times as text, because they all are RFC 3339 in UTC with microseconds. */
const byTime = (a: LogCursor, b: LogCursor): number =>
  a.receivedAt === b.receivedAt ? compare(a.id, b.id) : compare(a.receivedAt, b.receivedAt);
const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
/** Returns whether a request was received after another. */
export const isBehind = (summary: LogCursor, cursor: LogCursor): boolean => byTime(summary, cursor) > 0;
