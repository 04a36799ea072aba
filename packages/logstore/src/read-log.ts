import { setImmediate as nextTurn } from 'node:timers/promises';
import { TupleParam } from '@clickhouse/client';
import { LOG_TABLE, parseInstant, type LogRow } from '@standin/contract';
import type { ClickHouse } from './clickhouse.ts';
import { decodeRow } from './codecs.generated.ts';
import { BODY_TEXT_COLUMNS, LOG_COLUMNS, selection, type Selection } from './columns.ts';
import { decodeBody, toLogEntry } from '@standin/exchange';
import type { EntryPreview, LogEntry, LogSummary, RowVersion, TextStart } from '@standin/exchange';
import { LogFilterError, uuidText, type LogCursor } from './log-filter.ts';
import type { RowBinaryReader } from './row-binary-reader.ts';
import { decodeAll, READ_SETTINGS, timeText } from './run-query.ts';

/** The maximum number of entries that one query reads. Their keys are part of the URL, whose length is limited. */
const FETCH_ROWS_MAX = 100;
/** The maximum number of bytes in the bodies of these entries, unless a single entry has more. */
const FETCH_BYTES_MAX = 32 * 1024 * 1024;

/**
 * How far `received_at` may be from the time in the id. A gateway uses the same time for both, so everything above a millisecond is
 * only a precaution.
 */
const ID_TIME_SLACK_MS = 3_600_000;

/** The columns that a query for entries selects, the values of its parameters, and how a row is read. */
interface Shape<T> extends Selection<T> {
  readonly params?: Readonly<Record<string, unknown>>;
}

const WHOLE_ROW: Selection<LogRow> = { sql: LOG_COLUMNS.join(', '), decode: decodeRow };
const ROW_VERSION = selection(LOG_TABLE, ['projectUid', 'namespace', 'project', 'version']);

const fetchByKey = async <T>(
  clickhouse: ClickHouse,
  keys: readonly LogSummary[],
  shape: Shape<T>,
): Promise<readonly T[]> => {
  if (keys.length === 0) return [];
  const sql = `SELECT ${shape.sql} FROM log
    WHERE expires_at > now() AND (project_uid, received_at, id) IN {keys:Array(Tuple(String, DateTime64(6, 'UTC'), UUID))}
    ORDER BY id, version DESC LIMIT 1 BY id FORMAT RowBinary`;
  const tuples = keys.map((key) => new TupleParam([key.projectUid, timeText(key.receivedAt), key.id]));
  const params = { ...shape.params, keys: tuples };
  const answer = await clickhouse.run('read log entries', { sql, params, settings: READ_SETTINGS });
  return decodeAll(answer, shape.decode);
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
    const found = new Map((await fetchByKey(clickhouse, part, WHOLE_ROW)).map((row) => [row.id, row]));
    for (const { id, namespace, project } of part) {
      const row = found.get(id);
      if (row?.namespace !== namespace || row.project !== project) continue;
      // Decode one at a time, because decoding all bodies of a part takes a tenth of a second.
      yield toLogEntry(row);
    }
  }
}

/** The requests of one project whose bodies are read. */
export interface RequestKeys {
  readonly projectUid: string;
  readonly namespace: string;
  readonly project: string;
  /** No more than 100. */
  readonly keys: readonly LogCursor[];
}

/** The beginning of a body as text if it was decoded, and as it was sent otherwise, without an incomplete UTF-8 character at its end. */
export interface BodyStart {
  readonly bytes: Uint8Array;
  /** The number of bytes in the whole text or body. */
  readonly bytesWhole: number;
}

/** See `LogStore.requestBodies`. */
export const readRequestBodies = async (
  clickhouse: ClickHouse,
  { projectUid, namespace, project, keys }: RequestKeys,
  bodyBytesMax: number,
): Promise<ReadonlyMap<string, BodyStart>> => {
  if (keys.length > FETCH_ROWS_MAX) throw new LogFilterError(`keys must have at most ${FETCH_ROWS_MAX} items`);
  const isCursor = ({ receivedAt, id }: LogCursor): boolean =>
    parseInstant(receivedAt) !== undefined && uuidText.test(id);
  if (!keys.every(isCursor)) throw new LogFilterError('a key is not a cursor');
  const text = 'if(empty(request_text), request_body, request_text)';
  const sql = `SELECT id, substring(${text}, 1, {bodyBytesMax:UInt64}), length(${text}) FROM log
    WHERE expires_at > now() AND namespace = {namespace:String} AND project = {project:String}
      AND (project_uid, received_at, id) IN {keys:Array(Tuple(String, DateTime64(6, 'UTC'), UUID))}
    ORDER BY id, version DESC LIMIT 1 BY id FORMAT RowBinary`;
  const tuples = keys.map(({ receivedAt, id }) => new TupleParam([projectUid, timeText(receivedAt), id]));
  const params = { bodyBytesMax, namespace, project, keys: tuples };
  const answer = await clickhouse.run('read request bodies', { sql, params, settings: READ_SETTINGS });
  return new Map(
    decodeAll(answer, (reader) => {
      const [id, bytes, bytesWhole] = [reader.uuid(), reader.bytes(), reader.int64()];
      return [id, { bytes: cutCharacter(bytes, bytesWhole), bytesWhole }];
    }),
  );
};

/** Returns the milliseconds since the epoch if the id is a UUIDv7. */
const idTime = (id: string): number | undefined =>
  id[14] === '7' ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : undefined;

const findById = async <T>(
  clickhouse: ClickHouse,
  id: string,
  shape: Shape<T>,
  aroundMs?: number,
): Promise<T | undefined> => {
  const range = `AND received_at BETWEEN fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND fromUnixTimestamp64Milli({to:Int64}, 'UTC')`;
  const sql = `SELECT ${shape.sql} FROM log WHERE id = {id:UUID} AND expires_at > now() ${aroundMs === undefined ? '' : range}
    ORDER BY version DESC LIMIT 1 FORMAT RowBinary`;
  const params = {
    id,
    ...shape.params,
    ...(aroundMs !== undefined && { from: aroundMs - ID_TIME_SLACK_MS, to: aroundMs + ID_TIME_SLACK_MS }),
  };
  const answer = await clickhouse.run('read a log entry', { sql, params, settings: READ_SETTINGS });
  return decodeAll(answer, shape.decode)[0];
};

const find = async <T>(clickhouse: ClickHouse, id: string, shape: Shape<T>): Promise<T | undefined> => {
  if (!uuidText.test(id)) return undefined;
  const around = idTime(id);
  const near = around === undefined ? undefined : await findById(clickhouse, id, shape, around);
  // A row whose id has a very different time is still found, only more slowly.
  return near ?? findById(clickhouse, id, shape);
};

/** See `LogStore.row`. */
export const readRow = (clickhouse: ClickHouse, id: string): Promise<LogRow | undefined> =>
  find(clickhouse, id, WHOLE_ROW);

/** See `LogStore.get`. */
export const readEntry = async (clickhouse: ClickHouse, id: string): Promise<LogEntry | undefined> => {
  const row = await readRow(clickhouse, id);
  // Let other work run in between, because assembling a response with two bodies of 10 MiB takes a few hundredths of a second, and
  // so does decoding the bodies.
  await nextTurn();
  return row && toLogEntry(row);
};

/** See `LogStore.version`. */
export const readVersion = (clickhouse: ClickHouse, id: string): Promise<RowVersion | undefined> =>
  find(clickhouse, id, ROW_VERSION);

const start = (column: string): string => `substring(${column}, 1, {bodyBytesMax:UInt64})`;
const previewColumns = [
  ...LOG_COLUMNS.map((column) => (column === 'request_body' || column === 'response_body' ? start(column) : column)),
  'length(request_body)',
  'length(response_body)',
  ...BODY_TEXT_COLUMNS.flatMap((column) => [start(column), `length(${column})`]),
].join(', ');

const readTextStart = (reader: RowBinaryReader): TextStart | undefined => {
  const [bytes, bytesWhole] = [reader.bytes(), reader.int64()];
  const { body: text, bodyEncoding } = decodeBody(cutCharacter(bytes, bytesWhole));
  return bytesWhole === 0 || bodyEncoding !== 'utf8' ? undefined : { text, isCut: bytes.length < bytesWhole };
};

const decodePreview = (reader: RowBinaryReader): EntryPreview => {
  const row = decodeRow(reader);
  const [requestBodyBytes, responseBodyBytes] = [reader.int64(), reader.int64()];
  const requestBody = cutCharacter(row.requestBody, requestBodyBytes);
  const responseBody = cutCharacter(row.responseBody, responseBodyBytes);
  return {
    entry: toLogEntry({ ...row, requestBody, responseBody }),
    requestBodyBytes,
    responseBodyBytes,
    requestBodyBytesShown: requestBody.length,
    responseBodyBytesShown: responseBody.length,
    requestText: readTextStart(reader),
    responseText: readTextStart(reader),
  };
};

/** See `LogStore.preview`. */
export const readPreview = (
  clickhouse: ClickHouse,
  id: string,
  bodyBytesMax: number,
): Promise<EntryPreview | undefined> =>
  find(clickhouse, id, { sql: previewColumns, params: { bodyBytesMax }, decode: decodePreview });

/** See `LogStore.previews`. */
export const readPreviews = async (
  clickhouse: ClickHouse,
  summaries: readonly LogSummary[],
  bodyBytesMax: number,
): Promise<EntryPreview[]> => {
  if (summaries.length > FETCH_ROWS_MAX) throw new LogFilterError(`at most ${FETCH_ROWS_MAX} entries can be read`);
  const shape: Shape<EntryPreview> = { sql: previewColumns, params: { bodyBytesMax }, decode: decodePreview };
  const found = await fetchByKey(clickhouse, summaries, shape);
  const previews = new Map(found.map((preview) => [preview.entry.id, preview]));
  return summaries.flatMap(({ id }) => previews.get(id) ?? []);
};

/** The length of the longest UTF-8 character. */
const CHARACTER_BYTES_MAX = 4;

/** Returns the number of bytes in the character that begins with this byte, or 1 for a byte that does not begin one. */
const sequenceLength = (first: number): number => (first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1);

/** Returns `bytes`, the beginning of a UTF-8 string of `bytesWhole` bytes, without an incomplete character at the end. */
export const cutCharacter = (bytes: Uint8Array, bytesWhole: number): Uint8Array => {
  if (bytes.length >= bytesWhole) return bytes;
  for (let back = 1; back <= Math.min(CHARACTER_BYTES_MAX, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    return sequenceLength(byte) > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
};
