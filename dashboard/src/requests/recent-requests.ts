import type { LogRow } from '@standin/contract';
import { toLogEntry, toLogSummary, type LogEntry, type LogSummary } from '@standin/exchange';
import { matchSearch } from '@standin/exchange/near-misses';
import type { Filter } from '@standin/exchange/search';
import type { ProjectLog } from '../backend.ts';

interface RecentFilter {
  readonly search?: Filter | undefined;
  /** In microseconds since the epoch, as `untilUs`. */
  readonly sinceUs?: number | undefined;
  readonly untilUs?: number | undefined;
}

/** The rows of the summaries that were not read from the log. */
const rows = new WeakMap<LogSummary, LogRow>();

/**
 * Returns the summaries of the rows that match. Returns undefined if the rows alone do not show that, because the text of an encoded body
 * is only in the log.
 */
export const matchRecent = (
  recent: readonly LogRow[],
  { search, sinceUs = -Infinity, untilUs = Infinity }: RecentFilter,
): readonly LogSummary[] | undefined => {
  const matching: LogSummary[] = [];
  for (const row of recent) {
    if (row.receivedAtUs < sinceUs || row.receivedAtUs >= untilUs) continue;
    const { unmet, unknown } = matchSearch(
      { kind: 'parsed', filter: search ?? { kind: 'everything' }, terms: [] },
      preview(row),
    );
    if (unmet.length > 0) continue;
    if (unknown.length > 0) return undefined;
    const bodyBytes = row.requestBody.length + row.responseBody.length;
    const summary: LogSummary = { ...toLogSummary(row), bodyBytes, insertedAtMs: Date.now() };
    rows.set(summary, row);
    matching.push(summary);
  }
  return matching;
};

const preview = (row: LogRow) => {
  const [requestBodyBytes, responseBodyBytes] = [row.requestBody.length, row.responseBody.length];
  return {
    entry: toLogEntry(row),
    requestBodyBytes,
    responseBodyBytes,
    requestBodyBytesShown: requestBodyBytes,
    responseBodyBytesShown: responseBodyBytes,
    requestText: undefined,
    responseText: undefined,
  };
};

/** Works like `ProjectLog.entries`, and also yields the entries of `matchRecent`. */
export async function* readEntries(log: ProjectLog, summaries: readonly LogSummary[]): AsyncGenerator<LogEntry> {
  let stored: LogSummary[] = [];
  for (const summary of summaries) {
    const row = rows.get(summary);
    if (row === undefined) {
      stored.push(summary);
      continue;
    }
    yield* log.entries(stored);
    stored = [];
    yield toLogEntry(row);
  }
  yield* log.entries(stored);
}

/** The maximum number of ids that a count leaves out. */
const WITHOUT_MAX = 100;

/** Resolves with the number of matching requests, including all that were accepted before the call. Rejects like `ProjectLog.settle`. */
export const countSettled = async (log: ProjectLog, filter: RecentFilter, signal: AbortSignal): Promise<number> => {
  const recent = await log.own?.recent();
  const matching = recent && matchRecent(recent, filter);
  if (matching !== undefined && matching.length <= WITHOUT_MAX)
    return matching.length + (await log.count({ ...filter, without: matching.map(({ id }) => id) }));
  await log.settle(signal);
  return log.count(filter);
};
