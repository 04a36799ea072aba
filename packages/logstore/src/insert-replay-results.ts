import type { HeaderPair, Method, ReplayTarget } from '@standin/contract';
import type { ClickHouse } from './clickhouse.ts';
import { LogStoreError } from './log-store-error.ts';
import type { ServerClock } from './server-clock.ts';
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

/** The result for one request in a replay, stored as a row in `replay_results`. Headers are latin1, in wire order. */
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
  readonly project: string;
  readonly replay: string;
  readonly target: ReplayTarget;
  readonly url: string;
  readonly method: Method;
  /** The sent headers, without the API key's value. */
  readonly sentHeaders: readonly HeaderPair[];
  /** Empty if the captured body was sent without an edit. */
  readonly sentBody: Uint8Array;
  readonly edited: boolean;
  /** 0 if there was no response. */
  readonly status: number;
  readonly responseHeaders: readonly HeaderPair[];
  readonly responseBody: Uint8Array;
  /** The full size of the response body in bytes, even if the stored body is truncated. */
  readonly responseBodyBytes: number;
  readonly responseTruncated: boolean;
  /** The reason why there is no response, or only an incomplete one. Otherwise empty. */
  readonly error: string;
  readonly durationUs: number;
  readonly firstByteUs: number;
}

const COLUMNS = [
  'project_uid',
  'replay_uid',
  'request_id',
  'request_received_at',
  'sent_at',
  'expires_at',
  'namespace',
  'project',
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
  'stored_before',
].join(', ');

const FIXED_SIZE = UUID_SIZE + 5 * 8 + 2 * 4 + 2 + 2;

const sizeOf = (row: ReplayResult): number =>
  FIXED_SIZE +
  textSize(row.projectUid) +
  textSize(row.replayUid) +
  textSize(row.namespace) +
  textSize(row.project) +
  textSize(row.replay) +
  textSize(row.target) +
  latin1Size(row.url) +
  textSize(row.method) +
  pairsSize(row.sentHeaders) +
  bytesSize(row.sentBody) +
  pairsSize(row.responseHeaders) +
  bytesSize(row.responseBody) +
  textSize(row.error);

const put = (buffer: Buffer, row: ReplayResult, offset: number, storedBeforeS: number): number => {
  let at = putText(buffer, row.projectUid, offset);
  at = putText(buffer, row.replayUid, at);
  at = putUuid(buffer, row.requestId, at);
  at = putUint64(buffer, row.requestReceivedAtUs, at);
  at = putUint64(buffer, row.sentAtUs, at);
  at = putUint32(buffer, row.expiresAtS, at);
  for (const text of [row.namespace, row.project, row.replay, row.target]) at = putText(buffer, text, at);
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
  at = putUint64(buffer, row.firstByteUs, at);
  return putUint32(buffer, storedBeforeS, at);
};

const UINT32_MAX = 0xff_ff_ff_ff;
/** ClickHouse's code for a row that breaks a constraint. The only constraint is `in_time`. */
const VIOLATED_CONSTRAINT = '469';

/** See `ReplayStore.insert`. */
export const insertReplayResults = async (
  { clickhouse, clock }: { readonly clickhouse: ClickHouse; readonly clock: ServerClock },
  results: readonly ReplayResult[],
  remainingMs: () => number,
): Promise<void> => {
  if (results.length === 0) return;
  const operation = `store ${results.length} replay results`;
  const storedBeforeS = Math.floor(((await clock.nowMs()) + remainingMs()) / 1_000);
  const body = Buffer.allocUnsafe(results.reduce((size, row) => size + sizeOf(row), 0));
  results.reduce((at, row) => put(body, row, at, Math.min(storedBeforeS, UINT32_MAX)), 0);
  const sql = `INSERT INTO replay_results (${COLUMNS}) FORMAT RowBinary`;
  try {
    await clickhouse.run(operation, { sql, settings: { async_insert: 0 }, body });
  } catch (error) {
    if (!(error instanceof LogStoreError) || error.code !== VIOLATED_CONSTRAINT) throw error;
    clock.forget();
    throw new LogStoreError(`Could not ${operation} in time`, { kind: 'retryable', code: VIOLATED_CONSTRAINT });
  }
};
