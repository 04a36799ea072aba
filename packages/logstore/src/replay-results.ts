import { formatTime, type HeaderPair } from '@standin/contract';
import type { ClickHouse } from './clickhouse.ts';
import { selection } from './columns.ts';
import { decodeBody, type BodyEncoding } from '@standin/exchange';
import { uuidText } from './log-filter.ts';
import { REPLAY_RESULTS_TABLE } from './replay-results-table.ts';
import type { RowBinaryReader } from './row-binary-reader.ts';
import { decodeAll, READ_SETTINGS } from './run-query.ts';

/** The columns of a result in lists. */
const SUMMARY = selection(REPLAY_RESULTS_TABLE, [
  'requestId',
  'replayUid',
  'namespace',
  'replay',
  'sentAtUs',
  'target',
  'url',
  'method',
  'status',
  'error',
  'durationUs',
]);

/** A result as shown in lists. */
export interface ReplaySummary extends Omit<ReturnType<typeof SUMMARY.decode>, 'sentAtUs' | 'durationUs'> {
  /** RFC 3339 in UTC. */
  readonly sentAt: string;
  readonly durationMs: number;
}

/** A complete result, with bodies as in `LogEntry`. */
export interface ReplayedExchange extends ReplaySummary {
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

/** The project whose results are read. A uid from a status may be that of another project, so the names count as well (ADR 024). */
interface ResultsOwner {
  readonly projectUid: string;
  readonly namespace: string;
  readonly project: string;
}

export interface ReplayKey extends ResultsOwner {
  readonly replayUid: string;
}

/** Selects the replays of one captured request. */
export interface ReplayedRequest extends ResultsOwner {
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

const decodeSummary = (reader: RowBinaryReader): ReplaySummary => {
  const { sentAtUs, durationUs, ...rest } = SUMMARY.decode(reader);
  return { ...rest, sentAt: formatTime(sentAtUs), durationMs: durationUs / 1_000 };
};

/** The columns of an exchange that its summary does not have. */
const DETAILS = selection(REPLAY_RESULTS_TABLE, [
  'firstByteUs',
  'sentHeaders',
  'sentBody',
  'edited',
  'responseHeaders',
  'responseBody',
  'responseBodyBytes',
  'responseTruncated',
]);

const decodeExchange = (reader: RowBinaryReader): ReplayedExchange => {
  const summary = decodeSummary(reader);
  const details = DETAILS.decode(reader);
  return {
    ...summary,
    firstByteMs: details.firstByteUs / 1_000,
    request: {
      headers: details.sentHeaders,
      body: details.edited ? decodeBody(details.sentBody) : undefined,
    },
    response: {
      status: summary.status,
      headers: details.responseHeaders,
      ...decodeBody(details.responseBody),
      bodyBytes: details.responseBodyBytes,
      truncated: details.responseTruncated,
    },
  };
};

const OF_PROJECT =
  'project_uid = {projectUid:String} AND namespace = {namespace:String} AND project = {project:String} AND expires_at > now()';
const OF_REPLAY = `${OF_PROJECT} AND replay_uid = {replayUid:String}`;
/** Selects the last attempt to send each request. */
const LAST_ATTEMPT = 'ORDER BY request_id, sent_at DESC LIMIT 1 BY request_id';

const params = ({ projectUid, namespace, project, replayUid }: ReplayKey) => ({
  projectUid,
  namespace,
  project,
  replayUid,
});

/** Returns the complete result for one request, or `undefined` if there is none yet. */
export const readReplayedExchange = async (
  clickhouse: ClickHouse,
  { requestId, ...key }: ReplayKey & { readonly requestId: string },
): Promise<ReplayedExchange | undefined> => {
  if (!uuidText.test(requestId)) return undefined;
  const sql = `SELECT ${SUMMARY.sql}, ${DETAILS.sql}
    FROM replay_results WHERE ${OF_REPLAY} AND request_id = {requestId:UUID} ORDER BY sent_at DESC LIMIT 1 FORMAT RowBinary`;
  const statement = { sql, params: { ...params(key), requestId }, settings: READ_SETTINGS };
  return decodeAll(await clickhouse.run('read a replay result', statement), decodeExchange)[0];
};

/** Returns a replay's results in the order of their requests. */
export const readReplayResults = async (
  clickhouse: ClickHouse,
  { status, limit, ...key }: ReplayResultsFilter,
): Promise<ReplaySummary[]> => {
  const sql = `SELECT ${SUMMARY.sql} FROM (
      SELECT ${SUMMARY.sql}, request_received_at FROM replay_results WHERE ${OF_REPLAY} ${LAST_ATTEMPT})
    ${status === undefined ? '' : 'WHERE status = {status:UInt16}'}
    ORDER BY request_received_at, request_id LIMIT {limit:UInt32} FORMAT RowBinary`;
  const values = { ...params(key), limit, ...(status !== undefined && { status }) };
  const statement = { sql, params: values, settings: READ_SETTINGS };
  return decodeAll(await clickhouse.run('read replay results', statement), decodeSummary);
};

/** Returns the last result of each replay of one captured request, newest first, up to `limit` results. */
export const readReplaySummaries = async (
  clickhouse: ClickHouse,
  request: ReplayedRequest,
  limit: number,
): Promise<ReplaySummary[]> => {
  if (!uuidText.test(request.requestId)) return [];
  const sql = `SELECT ${SUMMARY.sql} FROM replay_results
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

/** Returns the ids of the requests in a replay that have a result and were received at this time or later. */
export const readReplayedIds = async (
  clickhouse: ClickHouse,
  { sinceUs, ...key }: ReplayKey & { readonly sinceUs: number },
): Promise<string[]> => {
  const sql = `SELECT DISTINCT request_id FROM replay_results
    WHERE ${OF_REPLAY} AND request_received_at >= fromUnixTimestamp64Micro({sinceUs:Int64}, 'UTC') FORMAT RowBinary`;
  const statement = { sql, params: { ...params(key), sinceUs }, settings: READ_SETTINGS };
  return decodeAll(await clickhouse.run('read the replayed requests', statement), (reader) => reader.uuid());
};
