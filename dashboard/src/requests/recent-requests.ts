import type { LogRow } from '@standin/contract';
import { toLogEntry } from '@standin/exchange';
import { matchSearch } from '@standin/exchange/near-misses';
import type { Filter } from '@standin/exchange/search';
import type { ProjectLog } from '../backend.ts';

interface RecentFilter {
  readonly search?: Filter | undefined;
  /** In microseconds since the epoch, as `untilUs`. */
  readonly sinceUs?: number | undefined;
  readonly untilUs?: number | undefined;
}

/**
 * Returns the rows that match. Returns undefined if the rows alone do not show that, because the text of an encoded body is only in the
 * log.
 */
export const matchRecent = (
  recent: readonly LogRow[],
  { search, sinceUs = -Infinity, untilUs = Infinity }: RecentFilter,
): readonly LogRow[] | undefined => {
  const matching: LogRow[] = [];
  for (const row of recent) {
    if (row.receivedAtUs < sinceUs || row.receivedAtUs >= untilUs) continue;
    const { unmet, unknown } = matchSearch(
      { kind: 'parsed', filter: search ?? { kind: 'everything' }, terms: [] },
      preview(row),
    );
    if (unmet.length > 0) continue;
    if (unknown.length > 0) return undefined;
    matching.push(row);
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

/** The maximum number of ids that a count leaves out. */
const WITHOUT_MAX = 100;

/** Resolves with the number of matching requests, including all that were accepted before the call. Rejects like `ProjectLog.settle`. */
export const countSettled = async (log: ProjectLog, filter: RecentFilter, signal: AbortSignal): Promise<number> => {
  const recent = await log.own?.recent();
  if (recent !== undefined && recent.length <= WITHOUT_MAX) {
    const matching = matchRecent(recent, filter);
    // Also without those that do not match, because the log may have an earlier version that does.
    const without = recent.map(({ id }) => id);
    if (matching !== undefined) return matching.length + (await log.count({ ...filter, without }));
  }
  await log.settle(signal);
  return log.count(filter);
};

/** Longer than a delivery. A request in progress can take longer until the log has it, but nothing waits for it here. */
const DELIVERY_MS_MAX = 250;

/** Lets the gateway in this process deliver its newest requests to the log, if one with a response may match a search. */
export const deliverRecent = async (
  log: ProjectLog,
  searches: readonly (Filter | undefined)[],
  signal: AbortSignal,
): Promise<void> => {
  if (log.own === undefined) return;
  const recent = await log.own.recent();
  const ended = recent?.filter(({ version }) => version > 0);
  if (ended !== undefined && searches.every((search) => matchRecent(ended, { search })?.length === 0)) return;
  // If it does not succeed, the read that follows finds what is in the log.
  await log.settle(AbortSignal.any([signal, AbortSignal.timeout(DELIVERY_MS_MAX)])).catch(() => undefined);
};
