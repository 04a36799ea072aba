import { TupleParam } from '@clickhouse/client';
import type { ClickHouseSettings } from '@clickhouse/client';
import type { Method, Outcome } from '@standin/contract';
import type { ClickHouse } from './clickhouse.ts';
import { decodeRow } from './decode-row.ts';
import { LOG_COLUMNS } from './log-columns.ts';
import { formatTime, parseTime, toLogEntry } from './log-entry.ts';
import type { LogEntry, LogSummary } from './log-entry.ts';
import { assertLimit, summariesQuery, uuidText } from './log-filter.ts';
import type { LogFilter } from './log-filter.ts';
import { RowBinaryReader } from './row-binary-reader.ts';

/** Seconds. */
const READ_EXECUTION_TIME_MAX = 30;
/** Entries fetched by one query are bounded in number (their keys travel in the URL) and in bytes of bodies. */
const FETCH_ROWS_MAX = 100;
const FETCH_BYTES_MAX = 32 * 1024 * 1024;

/** An id is made within the request's time limit after the head's arrival; generous, for clocks are set now and then. */
const ID_TIME_SLACK_MS = 3_600_000;

const readSettings: ClickHouseSettings = { max_execution_time: READ_EXECUTION_TIME_MAX };

const decodeSummary = (reader: RowBinaryReader): LogSummary => ({
  // In the order of SUMMARY_COLUMNS.
  id: reader.uuid(),
  receivedAt: formatTime(reader.int64()),
  namespace: reader.text(),
  project: reader.text(),
  endpoint: reader.text(),
  method: reader.text() as Method,
  path: reader.latin1(),
  query: reader.latin1(),
  status: reader.uint16(),
  durationMs: reader.int64() / 1000,
  outcome: reader.text() as Outcome,
  projectUid: reader.text(),
  bodyBytes: reader.int64(),
  insertedAtMs: reader.int64(),
});

const decodeAll = <T>(answer: Buffer, decode: (reader: RowBinaryReader) => T): T[] => {
  const reader = new RowBinaryReader(answer);
  const items: T[] = [];
  while (!reader.done) items.push(decode(reader));
  return items;
};

/** Room for rows that were delivered twice and are not merged yet. */
const REPEATED_ROWS = 16;

/** See `LogStore.summaries`. */
export const readSummaries = async (clickhouse: ClickHouse, filter: LogFilter): Promise<LogSummary[]> => {
  assertLimit(filter.limit);
  const summaries: LogSummary[] = [];
  for (let after = filter.after; ; after = summaries.at(-1)) {
    const limit = filter.limit - summaries.length + REPEATED_ROWS;
    const { sql, params } = summariesQuery({ ...filter, after, limit });
    const rows = decodeAll(
      await clickhouse.run('list the log', { sql, params, settings: readSettings }),
      decodeSummary,
    );
    // Repetitions stand side by side.
    for (const row of rows) if (row.id !== summaries.at(-1)?.id) summaries.push(row);
    if (rows.length < limit || summaries.length >= filter.limit) return summaries.slice(0, filter.limit);
  }
};

const columns = LOG_COLUMNS.join(', ');

/** `2026-11-21 07:35:12.123456`, as ClickHouse reads a DateTime64(6) in a parameter. */
const timeText = (receivedAt: string): string =>
  formatTime(parseTime(receivedAt) ?? 0)
    .replace('T', ' ')
    .slice(0, -1);

const fetchByKey = async (clickhouse: ClickHouse, keys: readonly LogSummary[]): Promise<Map<string, LogEntry>> => {
  const sql = `SELECT ${columns} FROM log
    WHERE expires_at > now() AND (project_uid, received_at, id) IN {keys:Array(Tuple(String, DateTime64(6, 'UTC'), UUID))}
    ORDER BY id, version DESC LIMIT 1 BY id FORMAT RowBinary`;
  const params = { keys: keys.map((key) => new TupleParam([key.projectUid, timeText(key.receivedAt), key.id])) };
  const answer = await clickhouse.run('read log entries', { sql, params, settings: readSettings });
  return new Map(decodeAll(answer, decodeRow).map((row) => [row.id, toLogEntry(row)]));
};

const chunk = function* (summaries: readonly LogSummary[]): Generator<LogSummary[]> {
  let part: LogSummary[] = [];
  let bytes = 0;
  for (const summary of summaries) {
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

/** See `LogStore.entries`. */
export async function* readEntries(clickhouse: ClickHouse, summaries: readonly LogSummary[]): AsyncGenerator<LogEntry> {
  for (const part of chunk(summaries)) {
    const found = await fetchByKey(clickhouse, part);
    for (const { id } of part) {
      const entry = found.get(id);
      if (entry) yield entry;
    }
  }
}

/** Milliseconds since the epoch, if the id is a UUIDv7. */
const idTime = (id: string): number | undefined =>
  id[14] === '7' ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : undefined;

const findById = async (clickhouse: ClickHouse, id: string, aroundMs?: number): Promise<LogEntry | undefined> => {
  const range = `AND received_at BETWEEN fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND fromUnixTimestamp64Milli({to:Int64}, 'UTC')`;
  const sql = `SELECT ${columns} FROM log WHERE id = {id:UUID} AND expires_at > now() ${aroundMs === undefined ? '' : range}
    ORDER BY version DESC LIMIT 1 FORMAT RowBinary`;
  const params = {
    id,
    ...(aroundMs !== undefined && { from: aroundMs - ID_TIME_SLACK_MS, to: aroundMs + ID_TIME_SLACK_MS }),
  };
  const answer = await clickhouse.run('read a log entry', { sql, params, settings: readSettings });
  const [row] = decodeAll(answer, decodeRow);
  return row && toLogEntry(row);
};

/** See `LogStore.get`. */
export const readEntry = async (clickhouse: ClickHouse, id: string): Promise<LogEntry | undefined> => {
  if (!uuidText.test(id)) return undefined;
  const around = idTime(id);
  const near = around === undefined ? undefined : await findById(clickhouse, id, around);
  // A row whose clock was far off is found all the same, only slower.
  return near ?? findById(clickhouse, id);
};
