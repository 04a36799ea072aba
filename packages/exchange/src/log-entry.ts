import {
  formatTime,
  type Action,
  type Credential,
  type HeaderPair,
  type LogRow,
  type Method,
  type Outcome,
} from '@standin/contract';

/**
 * A log entry as users and programs see it, which is one line of `standin logs -o json`. Fields are only added, never removed.
 *
 * Bytes on the wire are represented without loss. A body is UTF-8 text if it is valid UTF-8, and base64 otherwise. In `target`,
 * `path`, `query`, header names and header values, each character is one byte (latin1): `é` is the byte E9, and the UTF-8 bytes
 * `C3 A9` appear as `Ã©`.
 */
export interface LogEntry {
  readonly id: string;
  /** When the request head was fully received, as RFC 3339 in UTC with microseconds. */
  readonly receivedAt: string;
  readonly namespace: string;
  readonly project: string;
  readonly endpoint: string;
  readonly method: Method;
  readonly path: string;
  readonly query: string;
  /** 0 if no response was recorded. */
  readonly status: number;
  readonly durationMs: number;
  readonly request: {
    readonly target: string;
    readonly httpVersion: string;
    readonly headers: readonly HeaderPair[];
    readonly trailers: readonly HeaderPair[];
    readonly body: string;
    readonly bodyEncoding: BodyEncoding;
  };
  readonly response: {
    readonly status: number;
    readonly headers: readonly HeaderPair[];
    readonly body: string;
    readonly bodyEncoding: BodyEncoding;
    /** Whether only a part of the body was stored. `bodyBytes` is the full size of the body. */
    readonly truncated: boolean;
    readonly trailers: readonly HeaderPair[];
    readonly bodyBytes: number;
  };
  readonly outcome: Outcome;
  /** The name of the item of `spec.responses` that responded. Empty if the endpoint's action responded. */
  readonly responseName: string;
  readonly action: Action;
  readonly account: string;
  readonly projectUid: string;
  readonly endpointUid: string;
  readonly endpointGeneration: number;
  readonly gateway: string;
  /** Empty if the credential is a signature. */
  readonly keyFingerprint: string;
  /** What the caller authenticated with. */
  readonly credential: Credential;
  /** The provider's id of the delivery, in latin1. Empty if the credential is a key, or if the scheme has no id. */
  readonly deliveryId: string;
  readonly clientAddress: string;
  readonly upstreamUrl: string;
  readonly upstreamError: string;
  /** The planned delay of the response in milliseconds, or 0 if there is none. */
  readonly delayMs: number;
  /** The reason why a template of the response could not be rendered. Otherwise empty. */
  readonly templateError: string;
  /** Milliseconds from the arrival of the head to the end of the request. */
  readonly requestMs: number;
  /** Milliseconds from the call to the upstream until the head of its response arrived, or 0 if there was no call or no head. */
  readonly upstreamFirstByteMs: number;
  /** When the entry expires, as RFC 3339. */
  readonly expiresAt: string;
}

/** An entry with the beginnings of its bodies. A UTF-8 body ends at a character boundary. */
export interface EntryPreview {
  readonly entry: LogEntry;
  /** The number of stored bytes of each body. Less than the full size if the capture was truncated. */
  readonly requestBodyBytes: number;
  readonly responseBodyBytes: number;
  /** How many of these bytes `entry` contains. */
  readonly requestBodyBytesShown: number;
  readonly responseBodyBytesShown: number;
}

/** The version of an entry's row, and the project that the entry belongs to. */
export interface RowVersion {
  readonly projectUid: string;
  readonly namespace: string;
  readonly project: string;
  /** Increases when the complete exchange is recorded. */
  readonly version: number;
}

export type BodyEncoding = 'utf8' | 'base64';

/** The fields of an entry in a list. They are cheap to read, because they include neither headers nor bodies. */
export interface LogSummary {
  readonly id: string;
  readonly receivedAt: string;
  readonly namespace: string;
  readonly project: string;
  readonly endpoint: string;
  readonly method: Method;
  readonly path: string;
  readonly query: string;
  readonly status: number;
  readonly durationMs: number;
  readonly outcome: Outcome;
  readonly responseName: string;
  readonly credential: Credential;
  readonly deliveryId: string;
  readonly projectUid: string;
  /** The number of stored bytes of both bodies. */
  readonly bodyBytes: number;
  /** When ClickHouse stored the row, by its own clock, in milliseconds since the epoch. */
  readonly insertedAtMs: number;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export const decodeBody = (bytes: Uint8Array): { body: string; bodyEncoding: BodyEncoding } => {
  try {
    return { body: utf8.decode(bytes), bodyEncoding: 'utf8' };
  } catch {
    return {
      body: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64'),
      bodyEncoding: 'base64',
    };
  }
};

export const bodyAsBuffer = (part: { readonly body: string; readonly bodyEncoding: BodyEncoding }): Buffer =>
  Buffer.from(part.body, part.bodyEncoding);

export const toLogEntry = (row: LogRow): LogEntry => ({
  id: row.id,
  receivedAt: formatTime(row.receivedAtUs),
  namespace: row.namespace,
  project: row.project,
  endpoint: row.endpoint,
  method: row.method,
  path: row.path,
  query: row.query,
  status: row.status,
  durationMs: row.durationUs / 1000,
  request: {
    target: row.target,
    httpVersion: row.httpVersion,
    headers: row.requestHeaders,
    trailers: row.requestTrailers,
    ...decodeBody(row.requestBody),
  },
  response: {
    status: row.status,
    headers: row.responseHeaders,
    ...decodeBody(row.responseBody),
    truncated: row.responseTruncated,
    trailers: row.responseTrailers,
    bodyBytes: row.responseBodyBytes,
  },
  outcome: row.outcome,
  responseName: row.response,
  action: row.action,
  account: row.account,
  projectUid: row.projectUid,
  endpointUid: row.endpointUid,
  endpointGeneration: row.endpointGeneration,
  gateway: row.gateway,
  keyFingerprint: row.keyFingerprint,
  credential: row.credential,
  deliveryId: row.deliveryId,
  clientAddress: row.clientAddress,
  upstreamUrl: row.upstreamUrl,
  upstreamError: row.upstreamError,
  delayMs: row.delayUs / 1000,
  templateError: row.templateError,
  requestMs: row.requestUs / 1000,
  upstreamFirstByteMs: row.upstreamFirstByteUs / 1000,
  expiresAt: new Date(row.expiresAtS * 1000).toISOString(),
});
