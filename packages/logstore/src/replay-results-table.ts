import { REQUEST_METHODS, REPLAY_TARGETS, type RowOf, type Table } from '@standin/contract';

/** The columns of the `replay_results` table. Each row is the result for one request in a replay. See `LOG_TABLE`. */
export const REPLAY_RESULTS_TABLE = {
  projectUid: { format: 'name' },
  replayUid: { format: 'name' },
  requestId: { format: 'uuid' },
  /** When the captured request was received, in microseconds since the epoch. A replay continues there after a restart. */
  requestReceivedAtUs: { format: 'microseconds' },
  /** Microseconds since the epoch. */
  sentAtUs: { format: 'microseconds' },
  expiresAtS: { format: 'seconds' },
  namespace: { format: 'name' },
  /** Every reader compares the name of the project (ADR 024). */
  project: { format: 'name' },
  replay: { format: 'name' },
  target: { format: 'name', values: REPLAY_TARGETS },
  url: { format: 'latin1' },
  method: { format: 'name', values: REQUEST_METHODS },
  /** The sent headers, without the API key's value. */
  sentHeaders: { format: 'headers' },
  /** Empty if the captured body was sent without an edit. */
  sentBody: { format: 'body' },
  edited: { format: 'bool' },
  /** 0 if there was no response. */
  status: { format: 'uint16' },
  responseHeaders: { format: 'headers' },
  responseBody: { format: 'body' },
  /** The full size of the response body in bytes, even if the stored body is truncated. */
  responseBodyBytes: { format: 'uint64' },
  responseTruncated: { format: 'bool' },
  /** The reason why there is no response, or only an incomplete one. Otherwise empty. */
  error: { format: 'text' },
  durationUs: { format: 'uint64' },
  firstByteUs: { format: 'uint64' },
} as const satisfies Table;

export type ReplayResult = RowOf<typeof REPLAY_RESULTS_TABLE>;
