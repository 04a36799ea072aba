import { TupleParam } from '@clickhouse/client';
import type { ClickHouseSettings } from '@clickhouse/client';
import { parseInstant } from '@standin/contract';
import type { ClickHouse } from './clickhouse.ts';
import { decodeSummaryRow } from './codecs.generated.ts';
import { toLogSummary, type LogSummary } from '@standin/exchange';
import { assertLimit, filterConditions, summariesQuery } from './log-filter.ts';
import type { LogFilter } from './log-filter.ts';
import type { RowBinaryReader } from './row-binary-reader.ts';
import { decodeAll, READ_SETTINGS, timeText } from './run-query.ts';

/** The number of additional rows that a query reads, because rows that were delivered twice may not be merged yet. */
const REPEATED_ROWS = 16;
/** The maximum number of keys in one query. Keys are part of the URL, whose length is limited. */
const KEYS_MAX = 500;

const HOUR_US = 3_600_000_000;
/**
 * The search for the newest entries covers the last hour first, then the last day, then everything. A search that matches many rows
 * reads only the last hour or day. A search that matches few rows reads the whole log, but each part of it only once.
 */
const WINDOWS_US = [HOUR_US, 24 * HOUR_US, Infinity];

/** The version of a complete exchange, which nothing replaces. */
const COMPLETE = 2;

interface VersionedSummary {
  readonly summary: LogSummary;
  /** See `LogRow.version`. */
  readonly version: number;
}

const decodeSummary = (reader: RowBinaryReader): VersionedSummary => {
  const row = decodeSummaryRow(reader);
  return {
    summary: { ...toLogSummary(row), bodyBytes: reader.int64(), insertedAtMs: reader.int64() },
    version: row.version,
  };
};

/** See `LogStore.summaries`. */
export const readSummaries = async (clickhouse: ClickHouse, filter: LogFilter): Promise<LogSummary[]> => {
  assertLimit(filter.limit);
  const summaries: LogSummary[] = [];
  for (const window of timeWindows(filter)) {
    const limit = filter.limit - summaries.length;
    summaries.push(...(await readWindow(clickhouse, { ...filter, ...window, limit })));
    if (summaries.length >= filter.limit) break;
  }
  return summaries;
};

/** Yields consecutive windows that together cover the filter's time range. */
const timeWindows = function* (filter: LogFilter): Generator<Pick<LogFilter, 'sinceUs' | 'untilUs'>> {
  const { sinceUs, untilUs, after, order } = filter;
  if (order === 'oldest-first') {
    yield { sinceUs, untilUs };
    return;
  }
  const afterUs = after ? (parseInstant(after.receivedAt) ?? NaN) : Infinity;
  const end = Math.min(untilUs ?? Infinity, afterUs, Date.now() * 1_000);
  let before = untilUs;
  for (const windowUs of WINDOWS_US) {
    const start = end - windowUs;
    // A window is also the last one if the cursor is not a time, in which case the query fails with the reason.
    const isLast = !Number.isFinite(start) || start <= (sinceUs ?? -Infinity);
    yield { sinceUs: isLast ? sinceUs : start, untilUs: before };
    if (isLast) return;
    before = start;
  }
};

/**
 * Reading in the order of the table ends early if many rows match, and is slow if few do. The windows already cover the first case,
 * so a search is not read in this order (on 10M rows of which hardly any match, 0.4 s instead of 2.4 s).
 */
const settingsFor = ({ search }: LogFilter): ClickHouseSettings =>
  search === undefined || search.kind === 'everything'
    ? READ_SETTINGS
    : { ...READ_SETTINGS, optimize_read_in_order: 0 };

const readWindow = async (clickhouse: ClickHouse, filter: LogFilter): Promise<LogSummary[]> => {
  const { final } = filterConditions(filter);
  const found: LogSummary[] = [];
  for (let after = filter.after; ;) {
    const limit = filter.limit - found.length + REPEATED_ROWS;
    const { sql, params } = summariesQuery({ ...filter, after, limit });
    const answer = await clickhouse.run('list the log', { sql, params, settings: settingsFor(filter) });
    const rows = decodeAll(answer, decodeSummary);
    const isLast = rows.length < limit;
    const latest = latestVersions(rows, isLast);
    found.push(
      ...(final.length === 0 ? latest.map(({ summary }) => summary) : await withoutReplaced(clickhouse, latest)),
    );
    if (isLast || found.length >= filter.limit) return found.slice(0, filter.limit);
    after = latest.at(-1)?.summary;
  }
};

/**
 * Returns the highest version of each id. Copies are adjacent. Leaves out the last id unless it is the only one or `isWhole` is
 * set, because its copies may continue after the end of the page.
 */
const latestVersions = (rows: readonly VersionedSummary[], isWhole: boolean): VersionedSummary[] => {
  const latest: VersionedSummary[] = [];
  for (const row of rows) {
    const last = latest.at(-1);
    if (last?.summary.id !== row.summary.id) latest.push(row);
    else if (row.version > last.version) latest[latest.length - 1] = row;
  }
  if (!isWhole && latest.length > 1) latest.pop();
  return latest;
};

/**
 * Removes rows that a higher version replaces. A row with only the request may satisfy a condition on the response, while the
 * complete exchange does not. There are few such rows, because they exist only of requests that took seconds, until ClickHouse merges
 * them, or if a gateway ended before the response came. A separate query checks them.
 */
const withoutReplaced = async (clickhouse: ClickHouse, rows: readonly VersionedSummary[]): Promise<LogSummary[]> => {
  const versions = new Map<string, number>();
  const alone = rows.filter(({ version }) => version < COMPLETE).map(({ summary }) => summary);
  for (let at = 0; at < alone.length; at += KEYS_MAX) {
    const keys = alone.slice(at, at + KEYS_MAX);
    const sql = `SELECT id, max(version) FROM log
      WHERE (project_uid, received_at, id) IN {keys:Array(Tuple(String, DateTime64(6, 'UTC'), UUID))}
      GROUP BY id FORMAT RowBinary`;
    const params = { keys: keys.map((key) => new TupleParam([key.projectUid, timeText(key.receivedAt), key.id])) };
    const answer = await clickhouse.run('list the log', { sql, params, settings: READ_SETTINGS });
    const found = decodeAll(answer, (reader) => [reader.uuid(), reader.uint8()] as const);
    for (const [id, version] of found) versions.set(id, version);
  }
  return rows
    .filter(({ summary, version }) => (versions.get(summary.id) ?? version) <= version)
    .map(({ summary }) => summary);
};
