import { ACTIONS, REQUEST_METHODS } from './api-group.ts';
import type { RowOf, Table } from './table.ts';

/** How an accepted request ended, or that it has not ended. */
export const OUTCOMES = [
  /** The response is the endpoint's mock. */
  'mocked',
  /** A template of the mock could not be rendered (500). `templateError` is the reason. */
  'template_failed',
  /** The response is the upstream's. It was read to its end. */
  'forwarded',
  /** The upstream failed, and the endpoint's fallback responded. `upstreamError` is the reason. */
  'fallback',
  /**
   * The upstream was unreachable, was blocked by the address policy or sent invalid HTTP (502), or stopped in the middle of its
   * response.
   */
  'upstream_failed',
  /** The upstream took longer than the endpoint's timeout to respond (504), or paused for longer than that in its response. */
  'upstream_timeout',
  /**
   * The exchange took longer than `limits.exchangeTimeoutMs` of the gateway, which ended it: with 504, or in the middle of the
   * response.
   */
  'exchange_timeout',
  /**
   * The caller disconnected during the delay of the mock, or before the upstream's response was read to its end. The status is 0 if
   * the response had not begun. `upstreamError` has the details if there was an upstream.
   */
  'caller_gone',
  /** The request was accepted and may have been sent upstream, but the process ended before it recorded a response. */
  'response_unknown',
  /** The request has been in progress for two seconds or more. When it ends, its row is replaced by one with another outcome. */
  'in_progress',
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** What a caller can authenticate with: the key of the account, or the signature that its endpoint asks for. */
export const CREDENTIALS = ['key', 'signature'] as const;
export type Credential = (typeof CREDENTIALS)[number];

/**
 * The columns of the `log` table. Each row is one accepted request. The type of a row, its encoding and the columns in ClickHouse
 * derive from this list. To add a column, append it with `since`, the number of the next migration, and run `npm run generate`.
 * Existing columns never change, because segments from older gateways must stay readable.
 *
 * Ids and everything that ClickHouse sorts, partitions or expires by are fixed at acceptance, so that a retried delivery produces
 * the same row.
 */
export const LOG_TABLE = {
  /** UUIDv7, created at acceptance. Contains the time at which the request head was received. */
  id: { format: 'uuid' },
  /**
   * Version 2 contains the complete exchange. The others contain only the request: version 0 while it is in progress, and version 1 if
   * the gateway ended before it recorded a response. Readers use the highest version of an id.
   */
  version: { format: 'uint8', values: [0, 1, 2] },
  /** When the request head was fully received, in microseconds since the epoch. */
  receivedAtUs: { format: 'microseconds' },
  /** Seconds since the epoch: `receivedAt` plus the project's retention at acceptance. */
  expiresAtS: { format: 'seconds' },

  namespace: { format: 'name' },
  account: { format: 'name' },
  accountUid: { format: 'name' },
  project: { format: 'name' },
  projectUid: { format: 'name' },
  endpoint: { format: 'name' },
  endpointUid: { format: 'name' },
  /** Generation of the endpoint that handled the request. */
  endpointGeneration: { format: 'uint64' },
  /** The name of the gateway, which is its pod name in a cluster. */
  gateway: { format: 'name' },
  action: { format: 'name', values: ACTIONS },
  outcome: { format: 'name', values: OUTCOMES },

  /** Address of the TCP peer. */
  clientAddress: { format: 'text' },
  /** Empty if the credential is a signature. */
  keyFingerprint: { format: 'name' },

  method: { format: 'name', values: REQUEST_METHODS },
  /** As received, for example `/PROJECT-URI/v1/orders?a=1`. */
  target: { format: 'latin1' },
  /** The part of the target's path after the project URI, for example `/v1/orders`. */
  path: { format: 'latin1' },
  /** The part of the target after the first `?`. Empty if there is no `?`. */
  query: { format: 'latin1' },
  /** `1.1` or `1.0`. */
  httpVersion: { format: 'name' },
  /** The value of `x-api-key` is replaced with `sha256:FINGERPRINT`. */
  requestHeaders: { format: 'headers' },
  requestTrailers: { format: 'headers' },
  requestBody: { format: 'body' },

  /** 0 if no response was recorded (versions 0 and 1). */
  status: { format: 'uint16' },
  responseHeaders: { format: 'headers' },
  responseTrailers: { format: 'headers' },
  /** The first bytes, up to the gateway's limit (`LIMITS.responseCaptureBytesMax` by default). */
  responseBody: { format: 'body' },
  /** The full size of the response body in bytes. */
  responseBodyBytes: { format: 'uint64' },
  responseTruncated: { format: 'bool' },

  /** For forwarded requests, the requested URL with its query. Otherwise empty. */
  upstreamUrl: { format: 'text' },
  /** For forwarded requests, the reason why there is no complete response. Otherwise empty. */
  upstreamError: { format: 'text' },

  /**
   * Microseconds from the arrival of the head until this row was built. The gateway then sends the end of the response. In version 2,
   * this includes the delay of the response.
   */
  durationUs: { format: 'uint64' },
  /** Microseconds from the arrival of the head to the end of the request. */
  requestUs: { format: 'uint64' },
  /** Microseconds from the call to the upstream until the head of its response arrived. 0 if there was no call or no head. */
  upstreamFirstByteUs: { format: 'uint64' },

  /**
   * The month whose quota the request counts against, such as `2026-11`. The block determines the month, regardless of the clock.
   * Empty if the account has no quota.
   */
  quotaPeriod: { format: 'name' },
  /** The block of permits that admitted the request. Empty if the account has no quota. */
  quotaBlock: { format: 'name' },
  /**
   * The number of the permit, which is unique within the block. 0 if the account has no quota. The permits of requests that could
   * not be stored do not appear in the log.
   */
  quotaPermit: { format: 'uint64' },

  /** The name of the item of `spec.responses` that responded. Empty if the endpoint's action responded. */
  response: { format: 'name' },
  /**
   * The planned delay of the response in microseconds. 0 if there is none. The delay is shorter if the caller disconnects or the
   * gateway stops.
   */
  delayUs: { format: 'uint64' },
  /** The reason why a template of the response could not be rendered. Otherwise empty. Can quote values of the request. */
  templateError: { format: 'text' },
  /** What authenticated the request. */
  credential: { format: 'name', values: CREDENTIALS },
  /**
   * The id that the provider gives the delivery, which repeats if the provider sends the delivery again. Empty if the scheme has
   * none, or if the credential is a key.
   */
  deliveryId: { format: 'latin1' },
} as const satisfies Table;

export type LogRow = RowOf<typeof LOG_TABLE>;

/**
 * The columns of the `log` table behind those of a row. They contain the text of a body without its content codings and in UTF-8, or
 * nothing if the text is the stored body. Delivery adds them for searches. Entries are read without them.
 */
export const BODY_TEXT_TABLE = {
  requestText: { format: 'body' },
  responseText: { format: 'body' },
} as const satisfies Table;

export type BodyTexts = RowOf<typeof BODY_TEXT_TABLE>;

/**
 * Returns the part of a key's SHA-256 that may be shown. The first 8 hex digits are enough to tell two keys apart, and do not
 * reveal a long, random key.
 */
export const keyFingerprint = (keySha256: string): string => keySha256.slice(0, 8);
