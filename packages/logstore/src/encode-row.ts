import type { LogRow } from '@standin/contract';
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

/** The size in bytes of id, version, received_at, expires_at, status, response_truncated, and seven UInt64. */
const FIXED_SIZE = UUID_SIZE + 1 + 8 + 4 + 2 + 1 + 7 * 8;

/** The namespace follows id, version, received_at and expires_at. */
const NAMESPACE_OFFSET = UUID_SIZE + 1 + 8 + 4;
/** Kubernetes allows 63 characters of ASCII, whose length takes one byte. */
const NAMESPACE_LENGTH_MAX = 63;
/** A row's namespace is within this many bytes of its start, and every row is longer. */
export const NAMESPACE_END_MAX = NAMESPACE_OFFSET + 1 + NAMESPACE_LENGTH_MAX;

/** Returns the namespace of a row without decoding the row. Empty if there is no valid namespace. */
export const namespaceAt = (buffer: Buffer, rowStart: number): string => {
  const start = rowStart + NAMESPACE_OFFSET + 1;
  const length = buffer[start - 1] ?? 0;
  return length > NAMESPACE_LENGTH_MAX ? '' : buffer.toString('latin1', start, start + length);
};

/** Returns the number of bytes that `putRow` writes. */
export const rowSize = (row: LogRow): number =>
  FIXED_SIZE +
  textSize(row.namespace) +
  textSize(row.account) +
  textSize(row.accountUid) +
  textSize(row.project) +
  textSize(row.projectUid) +
  textSize(row.endpoint) +
  textSize(row.endpointUid) +
  textSize(row.gateway) +
  textSize(row.action) +
  textSize(row.outcome) +
  textSize(row.clientAddress) +
  textSize(row.keyFingerprint) +
  textSize(row.method) +
  latin1Size(row.target) +
  latin1Size(row.path) +
  latin1Size(row.query) +
  textSize(row.httpVersion) +
  pairsSize(row.requestHeaders) +
  pairsSize(row.requestTrailers) +
  bytesSize(row.requestBody) +
  pairsSize(row.responseHeaders) +
  pairsSize(row.responseTrailers) +
  bytesSize(row.responseBody) +
  textSize(row.upstreamUrl) +
  textSize(row.upstreamError) +
  textSize(row.quotaPeriod) +
  textSize(row.quotaBlock) +
  textSize(row.response) +
  textSize(row.templateError) +
  textSize(row.credential) +
  latin1Size(row.deliveryId);

/** Encodes one row as RowBinary in a new buffer. See `putRow`. */
export const encodeRow = (row: LogRow): Buffer => {
  const buffer = Buffer.allocUnsafe(rowSize(row));
  putRow(buffer, row, 0);
  return buffer;
};

/**
 * Writes one row as RowBinary, with columns in the order of `LOG_COLUMNS`. Returns the offset after the row. The body of an insert
 * is a concatenation of rows. This function is on the gateway's hot path, so it creates no intermediate objects. It writes the same
 * bytes for the same row on every call, because a retried batch must match the first attempt byte for byte.
 */
export const putRow = (buffer: Buffer, row: LogRow, offset: number): number => {
  let at = putUuid(buffer, row.id, offset);
  buffer[at++] = row.version;
  at = putUint64(buffer, row.receivedAtUs, at);
  at = putUint32(buffer, row.expiresAtS, at);
  at = putText(buffer, row.namespace, at);
  at = putText(buffer, row.account, at);
  at = putText(buffer, row.accountUid, at);
  at = putText(buffer, row.project, at);
  at = putText(buffer, row.projectUid, at);
  at = putText(buffer, row.endpoint, at);
  at = putText(buffer, row.endpointUid, at);
  at = putUint64(buffer, row.endpointGeneration, at);
  at = putText(buffer, row.gateway, at);
  at = putText(buffer, row.action, at);
  at = putText(buffer, row.outcome, at);
  at = putText(buffer, row.clientAddress, at);
  at = putText(buffer, row.keyFingerprint, at);
  at = putText(buffer, row.method, at);
  at = putLatin1(buffer, row.target, at);
  at = putLatin1(buffer, row.path, at);
  at = putLatin1(buffer, row.query, at);
  at = putText(buffer, row.httpVersion, at);
  at = putPairs(buffer, row.requestHeaders, at);
  at = putPairs(buffer, row.requestTrailers, at);
  at = putBytes(buffer, row.requestBody, at);
  at = putUint16(buffer, row.status, at);
  at = putPairs(buffer, row.responseHeaders, at);
  at = putPairs(buffer, row.responseTrailers, at);
  at = putBytes(buffer, row.responseBody, at);
  at = putUint64(buffer, row.responseBodyBytes, at);
  buffer[at++] = row.responseTruncated ? 1 : 0;
  at = putText(buffer, row.upstreamUrl, at);
  at = putText(buffer, row.upstreamError, at);
  at = putUint64(buffer, row.durationUs, at);
  at = putUint64(buffer, row.requestUs, at);
  at = putUint64(buffer, row.upstreamFirstByteUs, at);
  at = putText(buffer, row.quotaPeriod, at);
  at = putText(buffer, row.quotaBlock, at);
  at = putUint64(buffer, row.quotaPermit, at);
  at = putText(buffer, row.response, at);
  at = putUint64(buffer, row.delayUs, at);
  at = putText(buffer, row.templateError, at);
  at = putText(buffer, row.credential, at);
  return putLatin1(buffer, row.deliveryId, at);
};
