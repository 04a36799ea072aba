import type { HeaderPair, Method, ReplayTarget } from '@standin/contract';
import type { ClickHouse } from './clickhouse.ts';
import { decodeBody, formatTime, type BodyEncoding } from '@standin/exchange';
import { uuidText } from './log-filter.ts';
import {
  bytesSize,
  latin1Size,
  pairsSize,
  putBytes,
  putLatin1,
  putPairs,
  putText,
  putUint16,
  putUint32,
  putUint64,
  putUuid,
  textSize,
  UUID_SIZE,
} from './row-binary.ts';
import type { RowBinaryReader } from './row-binary-reader.ts';
import { decodeAll, READ_SETTINGS } from './run-query.ts';

/** The result for one request in a replay: a row in `replay_results`. Headers are latin1, in wire order. */
export interface ReplayResult {
  readonly projectUid: string;
  readonly replayUid: string;
  readonly requestId: string;
  /** When the captured request was received, in microseconds since the epoch. */
  readonly requestReceivedAtUs: number;
  /** Microseconds since the epoch. */
  readonly sentAtUs: number;
  readonly expiresAtS: number;
  readonly namespace: string;
  readonly replay: string;
  readonly target: ReplayTarget;
  readonly url: string;
  readonly method: Method;
  /** The sent headers, without the API key's value. */
  readonly sentHeaders: readonly HeaderPair[];
  /** Empty unless the body was edited. If it was not, the captured body was sent. */
  readonly sentBody: Uint8Array;
  readonly edited: boolean;
  /** 0 if there was no response. */
  readonly status: number;
  readonly responseHeaders: readonly HeaderPair[];
  readonly responseBody: Uint8Array;
  /** The full size. */
  readonly responseBodyBytes: number;
  readonly responseTruncated: boolean;
  /** The reason why there is no response, or only an incomplete one. Otherwise empty. */
  readonly error: string;
  readonly durationUs: number;
  readonly firstByteUs: number;
}

/** A result as shown in lists. */
export interface ReplaySummary {
  readonly requestId: string;
  readonly replayUid: string;
  readonly namespace: string;
  readonly replay: string;
  /** RFC 3339 in UTC. */
  readonly sentAt: string;
  readonly target: ReplayTarget;
  readonly url: string;
  readonly method: Method;
  /** 0 if there was no response, in which case `error` has the reason. */
  readonly status: number;
  readonly error: string;
  readonly durationMs: number;
}

/** A complete result, with bodies as in `LogEntry`. */
export interface ReplayAnswer extends ReplaySummary {
  readonly firstByteMs: number;
  readonly request: {
    readonly headers: readonly HeaderPair[];
    /** `undefined` if the captured body was sent. */
    readonly body: { readonly body: string; readonly bodyEncoding: BodyEncoding } | undefined;
  };
  readonly response: {
    readonly status: number;
    readonly headers: readonly HeaderPair[];
    readonly body: string;
    readonly bodyEncoding: BodyEncoding;
    readonly bodyBytes: number;
    readonly truncated: boolean;
  };
}

export interface ReplayKey {
  readonly projectUid: string;
  readonly namespace: string;
  readonly replayUid: string;
}

/** A captured request. */
export interface ReplayedRequest {
  readonly projectUid: string;
  readonly namespace: string;
  readonly requestId: string;
}

export interface ReplayResultsFilter extends ReplayKey {
  /** Only responses with this status. 0 selects requests without a response. */
  readonly status?: number | undefined;
  readonly limit: number;
}

export interface StatusCount {
  readonly status: number;
  readonly count: number;
}

const COLUMNS = [
  'project_uid',
  'replay_uid',
  'request_id',
  'request_received_at',
  'sent_at',
  'expires_at',
  'namespace',
  'replay',
  'target',
  'url',
  'method',
  'sent_headers',
  'sent_body',
  'edited',
  'status',
  'response_headers',
  'response_body',
  'response_body_bytes',
  'response_truncated',
  'error',
  'duration_us',
  'first_byte_us',
].join(', ');

const FIXED_SIZE = UUID_SIZE + 5 * 8 + 4 + 2 + 2;

const sizeOf = (row: ReplayResult): number =>
  FIXED_SIZE +
  textSize(row.projectUid) +
  textSize(row.replayUid) +
  textSize(row.namespace) +
  textSize(row.replay) +
  textSize(row.target) +
  latin1Size(row.url) +
  textSize(row.method) +
  pairsSize(row.sentHeaders) +
  bytesSize(row.sentBody) +
  pairsSize(row.responseHeaders) +
  bytesSize(row.responseBody) +
  textSize(row.error);

const put = (buffer: Buffer, row: ReplayResult, offset: number): number => {
  let at = putText(buffer, row.projectUid, offset);
  at = putText(buffer, row.replayUid, at);
  at = putUuid(buffer, row.requestId, at);
  at = putUint64(buffer, row.requestReceivedAtUs, at);
  at = putUint64(buffer, row.sentAtUs, at);
  at = putUint32(buffer, row.expiresAtS, at);
  for (const text of [row.namespace, row.replay, row.target]) at = putText(buffer, text, at);
  at = putLatin1(buffer, row.url, at);
  at = putText(buffer, row.method, at);
  at = putPairs(buffer, row.sentHeaders, at);
  at = putBytes(buffer, row.sentBody, at);
  buffer[at++] = row.edited ? 1 : 0;
  at = putUint16(buffer, row.status, at);
  at = putPairs(buffer, row.responseHeaders, at);
  at = putBytes(buffer, row.responseBody, at);
  at = putUint64(buffer, row.responseBodyBytes, at);
  buffer[at++] = row.responseTruncated ? 1 : 0;
  at = putText(buffer, row.error, at);
  at = putUint64(buffer, row.durationUs, at);
  return putUint64(buffer, row.firstByteUs, at);
};

/**
 * Resolves when the results are on ClickHouse's disk. Inserting a result twice is harmless, because only the last one for a
 * request is read.
 */
export const insertReplayResults = async (clickhouse: ClickHouse, results: readonly ReplayResult[]): Promise<void> => {
  if (results.length === 0) return;
  const body = Buffer.allocUnsafe(results.reduce((size, row) => size + sizeOf(row), 0));
  results.reduce((at, row) => put(body, row, at), 0);
  const sql = `INSERT INTO replay_results (${COLUMNS}) FORMAT RowBinary`;
  await clickhouse.run(`store ${results.length} replay results`, { sql, settings: { async_insert: 0 }, body });
};

const SUMMARY_COLUMNS =
  'request_id, replay_uid, namespace, replay, sent_at, target, url, method, status, error, duration_us';

const decodeSummary = (reader: RowBinaryReader): ReplaySummary => ({
  requestId: reader.uuid(),
  replayUid: reader.text(),
  namespace: reader.text(),
  replay: reader.text(),
  sentAt: formatTime(reader.int64()),
  target: reader.text() as ReplayTarget,
  url: reader.latin1(),
  method: reader.text() as Method,
  status: reader.uint16(),
  error: reader.text(),
  durationMs: reader.int64() / 1_000,
});

const decodeAnswer = (reader: RowBinaryReader): ReplayAnswer => {
  const summary = decodeSummary(reader);
  const firstByteMs = reader.int64() / 1_000;
  const headers = reader.pairs();
  const sentBody = reader.bytes();
  const isEdited = reader.uint8() === 1;
  const responseHeaders = reader.pairs();
  const responseBody = reader.bytes();
  return {
    ...summary,
    firstByteMs,
    request: { headers, body: isEdited ? decodeBody(sentBody) : undefined },
    response: {
      status: summary.status,
      headers: responseHeaders,
      ...decodeBody(responseBody),
      bodyBytes: reader.int64(),
      truncated: reader.uint8() === 1,
    },
  };
};

const OF_PROJECT = 'project_uid = {projectUid:String} AND namespace = {namespace:String} AND expires_at > now()';
const OF_REPLAY = `${OF_PROJECT} AND replay_uid = {replayUid:String}`;
/** The last attempt of each request. */
const LAST_ATTEMPT = 'ORDER BY request_id, sent_at DESC LIMIT 1 BY request_id';

const params = ({ projectUid, namespace, replayUid }: ReplayKey) => ({ projectUid, namespace, replayUid });

/** Returns the complete result for one request, or `undefined` if there is none yet. */
export const readReplayAnswer = async (
  clickhouse: ClickHouse,
  { requestId, ...key }: ReplayKey & { readonly requestId: string },
): Promise<ReplayAnswer | undefined> => {
  if (!uuidText.test(requestId)) return undefined;
  const sql = `SELECT ${SUMMARY_COLUMNS}, first_byte_us, sent_headers, sent_body, edited, response_headers, response_body,
      response_body_bytes, response_truncated
    FROM replay_results WHERE ${OF_REPLAY} AND request_id = {requestId:UUID} ORDER BY sent_at DESC LIMIT 1 FORMAT RowBinary`;
  const statement = { sql, params: { ...params(key), requestId }, settings: READ_SETTINGS };
  return decodeAll(await clickhouse.run('read a replay result', statement), decodeAnswer)[0];
};

/** Returns a replay's results in the order of their requests. */
export const readReplayResults = async (
  clickhouse: ClickHouse,
  { status, limit, ...key }: ReplayResultsFilter,
): Promise<ReplaySummary[]> => {
  const sql = `SELECT ${SUMMARY_COLUMNS} FROM (
      SELECT ${SUMMARY_COLUMNS}, request_received_at FROM replay_results WHERE ${OF_REPLAY} ${LAST_ATTEMPT})
    ${status === undefined ? '' : 'WHERE status = {status:UInt16}'}
    ORDER BY request_received_at, request_id LIMIT {limit:UInt32} FORMAT RowBinary`;
  const values = { ...params(key), limit, ...(status !== undefined && { status }) };
  const statement = { sql, params: values, settings: READ_SETTINGS };
  return decodeAll(await clickhouse.run('read replay results', statement), decodeSummary);
};

/** Returns all replays of one captured request, newest first. */
export const readReplaysOf = async (
  clickhouse: ClickHouse,
  request: ReplayedRequest,
  limit: number,
): Promise<ReplaySummary[]> => {
  if (!uuidText.test(request.requestId)) return [];
  const sql = `SELECT ${SUMMARY_COLUMNS} FROM replay_results
    WHERE ${OF_PROJECT} AND request_id = {requestId:UUID}
    ORDER BY sent_at DESC LIMIT 1 BY replay_uid LIMIT {limit:UInt32} FORMAT RowBinary`;
  const statement = { sql, params: { ...request, limit }, settings: READ_SETTINGS };
  return decodeAll(await clickhouse.run('read the replays of a request', statement), decodeSummary);
};

/** Returns the number of requests in a replay per response status. Status 0 means that there was no response. */
export const countReplayResults = async (clickhouse: ClickHouse, key: ReplayKey): Promise<StatusCount[]> => {
  const sql = `SELECT status, count() FROM (SELECT request_id, status FROM replay_results WHERE ${OF_REPLAY} ${LAST_ATTEMPT})
    GROUP BY status ORDER BY status FORMAT RowBinary`;
  const statement = { sql, params: params(key), settings: READ_SETTINGS };
  return decodeAll(await clickhouse.run('count replay results', statement), (reader) => ({
    status: reader.uint16(),
    count: reader.int64(),
  }));
};

/** Returns the requests in a replay that have a result and were received at this time or later. */
export const readReplayedIds = async (
  clickhouse: ClickHouse,
  { sinceUs, ...key }: ReplayKey & { readonly sinceUs: number },
): Promise<string[]> => {
  const sql = `SELECT DISTINCT request_id FROM replay_results
    WHERE ${OF_REPLAY} AND request_received_at >= fromUnixTimestamp64Micro({sinceUs:Int64}, 'UTC') FORMAT RowBinary`;
  const statement = { sql, params: { ...params(key), sinceUs }, settings: READ_SETTINGS };
  return decodeAll(await clickhouse.run('read the replayed requests', statement), (reader) => reader.uuid());
};
