import { formatTime, type LogRow } from '@standin/contract';

export type BodyEncoding = 'utf8' | 'base64';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Returns a body as text if it is valid UTF-8, and as base64 otherwise. */
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

/** Returns the bytes of a body as they were on the wire. */
export const bodyAsBuffer = (part: { readonly body: string; readonly bodyEncoding: BodyEncoding }): Buffer =>
  Buffer.from(part.body, part.bodyEncoding);

/**
 * Returns a log entry as users and programs see it, which is one line of `standin logs -o json`. Fields are only added, never removed.
 *
 * Bytes on the wire are represented without loss. A body is UTF-8 text if it is valid UTF-8, and base64 otherwise. In `target`,
 * `path`, `query`, `deliveryId`, header names and header values, each character is one byte (latin1): `é` is the byte E9, and the
 * UTF-8 bytes `C3 A9` appear as `Ã©`.
 */
export const toLogEntry = (row: LogRow) =>
  ({
    id: row.id,
    /** When the request head was fully received, as RFC 3339 in UTC with microseconds. */
    receivedAt: formatTime(row.receivedAtUs),
    namespace: row.namespace,
    project: row.project,
    endpoint: row.endpoint,
    method: row.method,
    path: row.path,
    query: row.query,
    /** 0 if no response was recorded. */
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
      /** Whether only a part of the body was stored. `bodyBytes` is the full size of the body. */
      truncated: row.responseTruncated,
      trailers: row.responseTrailers,
      bodyBytes: row.responseBodyBytes,
    },
    outcome: row.outcome,
    /** The name of the item of `spec.responses` that responded. Empty if the endpoint's action responded. */
    responseName: row.response,
    action: row.action,
    account: row.account,
    projectUid: row.projectUid,
    endpointUid: row.endpointUid,
    endpointGeneration: row.endpointGeneration,
    gateway: row.gateway,
    /** Empty if the credential is a signature. */
    keyFingerprint: row.keyFingerprint,
    /** What the caller authenticated with. */
    credential: row.credential,
    /** The provider's id of the delivery. Empty if the credential is a key, or if the scheme has no id. */
    deliveryId: row.deliveryId,
    clientAddress: row.clientAddress,
    upstreamUrl: row.upstreamUrl,
    upstreamError: row.upstreamError,
    /** The planned delay of the response in milliseconds, or 0 if there is none. */
    delayMs: row.delayUs / 1000,
    /** The reason why a template of the response could not be rendered. Otherwise empty. */
    templateError: row.templateError,
    /** Milliseconds from the arrival of the head to the end of the request. */
    requestMs: row.requestUs / 1000,
    /** Milliseconds from the call to the upstream until the head of its response arrived, or 0 if there was no call or no head. */
    upstreamFirstByteMs: row.upstreamFirstByteUs / 1000,
    /** When the entry expires, as RFC 3339. */
    expiresAt: new Date(row.expiresAtS * 1000).toISOString(),
  }) as const;

export type LogEntry = ReturnType<typeof toLogEntry>;

/** The columns of the fields that lists show. They are cheap to read, because they include neither headers nor bodies. */
export const SUMMARY_COLUMNS = [
  'id',
  'receivedAtUs',
  'namespace',
  'project',
  'endpoint',
  'method',
  'path',
  'query',
  'status',
  'durationUs',
  'outcome',
  'response',
  'credential',
  'deliveryId',
  'projectUid',
] as const satisfies readonly (keyof LogRow)[];

/** Returns the fields of an entry that lists show. */
export const toLogSummary = (row: Pick<LogRow, (typeof SUMMARY_COLUMNS)[number]>) =>
  ({
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
    outcome: row.outcome,
    responseName: row.response,
    credential: row.credential,
    deliveryId: row.deliveryId,
    projectUid: row.projectUid,
  }) as const satisfies Partial<LogEntry>;

export interface LogSummary extends ReturnType<typeof toLogSummary> {
  /** The number of stored bytes of both bodies. */
  readonly bodyBytes: number;
  /** When ClickHouse stored the row, by its own clock, in milliseconds since the epoch. */
  readonly insertedAtMs: number;
}

/** The beginning of a body's text without content codings. */
export interface TextStart {
  readonly text: string;
  readonly isCut: boolean;
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
  /** Undefined if the body itself is the text, or has none. */
  readonly requestText: TextStart | undefined;
  readonly responseText: TextStart | undefined;
}

/** The version of an entry's row, and the project that the entry belongs to. */
export interface RowVersion {
  readonly projectUid: string;
  readonly namespace: string;
  readonly project: string;
  /** Increases when the complete exchange is recorded. */
  readonly version: number;
}
