// Generated from LOG_TABLE, BODY_TEXT_TABLE and REPLAY_RESULTS_TABLE by `npm run generate`.
import type { BodyTexts, LogRow } from '@standin/contract';
import type { ReplayResult } from './replay-results-table.ts';
import {
  bytesSize,
  latin1Size,
  pairsSize,
  putBool,
  putBytes,
  putLatin1,
  putPairs,
  putText,
  putUint16,
  putUint32,
  putUint64,
  putUint8,
  putUuid,
  textSize,
} from './row-binary.ts';
import type { RowBinaryReader } from './row-binary-reader.ts';

/** Returns the number of bytes that `putRow` writes. */
export const rowSize = (row: LogRow): number =>
  88 +
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

/**
 * Writes one row as RowBinary. Returns the offset after the row. The bytes of a row are the same on every call, because a retried batch
 * must match the first attempt byte for byte.
 */
export const putRow = (buffer: Buffer, row: LogRow, offset: number): number => {
  let at = offset;
  at = putUuid(buffer, row.id, at);
  at = putUint8(buffer, row.version, at);
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
  at = putBool(buffer, row.responseTruncated, at);
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
  at = putLatin1(buffer, row.deliveryId, at);
  return at;
};

/** Decodes columns of a `LogRow`. Bodies are views of the reader's buffer. */
export const decodeRow = (reader: RowBinaryReader) => ({
  // The properties of an object literal are evaluated in order.
  id: reader.uuid(),
  version: reader.uint8() as LogRow['version'],
  receivedAtUs: reader.int64(),
  expiresAtS: reader.uint32(),
  namespace: reader.text(),
  account: reader.text(),
  accountUid: reader.text(),
  project: reader.text(),
  projectUid: reader.text(),
  endpoint: reader.text(),
  endpointUid: reader.text(),
  endpointGeneration: reader.int64(),
  gateway: reader.text(),
  action: reader.text() as LogRow['action'],
  outcome: reader.text() as LogRow['outcome'],
  clientAddress: reader.text(),
  keyFingerprint: reader.text(),
  method: reader.text() as LogRow['method'],
  target: reader.latin1(),
  path: reader.latin1(),
  query: reader.latin1(),
  httpVersion: reader.text(),
  requestHeaders: reader.pairs(),
  requestTrailers: reader.pairs(),
  requestBody: reader.bytes(),
  status: reader.uint16(),
  responseHeaders: reader.pairs(),
  responseTrailers: reader.pairs(),
  responseBody: reader.bytes(),
  responseBodyBytes: reader.int64(),
  responseTruncated: reader.bool(),
  upstreamUrl: reader.text(),
  upstreamError: reader.text(),
  durationUs: reader.int64(),
  requestUs: reader.int64(),
  upstreamFirstByteUs: reader.int64(),
  quotaPeriod: reader.text(),
  quotaBlock: reader.text(),
  quotaPermit: reader.int64(),
  response: reader.text(),
  delayUs: reader.int64(),
  templateError: reader.text(),
  credential: reader.text() as LogRow['credential'],
  deliveryId: reader.latin1(),
});

/** Decodes columns of a `LogRow`. Bodies are views of the reader's buffer. */
export const decodeRowStart = (reader: RowBinaryReader) => ({
  // The properties of an object literal are evaluated in order.
  id: reader.uuid(),
  version: reader.uint8() as LogRow['version'],
  receivedAtUs: reader.int64(),
  expiresAtS: reader.uint32(),
  namespace: reader.text(),
  account: reader.text(),
  accountUid: reader.text(),
  project: reader.text(),
  projectUid: reader.text(),
  endpoint: reader.text(),
  endpointUid: reader.text(),
  endpointGeneration: reader.int64(),
  gateway: reader.text(),
  action: reader.text() as LogRow['action'],
  outcome: reader.text() as LogRow['outcome'],
  clientAddress: reader.text(),
  keyFingerprint: reader.text(),
  method: reader.text() as LogRow['method'],
  target: reader.latin1(),
  path: reader.latin1(),
  query: reader.latin1(),
  httpVersion: reader.text(),
  requestHeaders: reader.pairs(),
  requestTrailers: reader.pairs(),
  requestBody: reader.bytes(),
  status: reader.uint16(),
  responseHeaders: reader.pairs(),
  responseTrailers: reader.pairs(),
  responseBody: reader.bytes(),
});

/** Decodes columns of a `LogRow`. Bodies are views of the reader's buffer. */
export const decodeSummaryRow = (reader: RowBinaryReader) => ({
  // The properties of an object literal are evaluated in order.
  id: reader.uuid(),
  receivedAtUs: reader.int64(),
  namespace: reader.text(),
  project: reader.text(),
  endpoint: reader.text(),
  method: reader.text() as LogRow['method'],
  path: reader.latin1(),
  query: reader.latin1(),
  status: reader.uint16(),
  durationUs: reader.int64(),
  outcome: reader.text() as LogRow['outcome'],
  response: reader.text(),
  credential: reader.text() as LogRow['credential'],
  deliveryId: reader.latin1(),
  projectUid: reader.text(),
  version: reader.uint8() as LogRow['version'],
});

/** Returns the number of bytes that `putBodyTexts` writes. */
export const bodyTextsSize = (row: BodyTexts): number => bytesSize(row.requestText) + bytesSize(row.responseText);

/**
 * Writes one row as RowBinary. Returns the offset after the row. The bytes of a row are the same on every call, because a retried batch
 * must match the first attempt byte for byte.
 */
export const putBodyTexts = (buffer: Buffer, row: BodyTexts, offset: number): number => {
  let at = offset;
  at = putBytes(buffer, row.requestText, at);
  at = putBytes(buffer, row.responseText, at);
  return at;
};

/** Decodes columns of a `BodyTexts`. Bodies are views of the reader's buffer. */
export const decodeBodyTexts = (reader: RowBinaryReader) => ({
  // The properties of an object literal are evaluated in order.
  requestText: reader.bytes(),
  responseText: reader.bytes(),
});

/** Returns the number of bytes that `putReplayResult` writes. */
export const replayResultSize = (row: ReplayResult): number =>
  64 +
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

/**
 * Writes one row as RowBinary. Returns the offset after the row. The bytes of a row are the same on every call, because a retried batch
 * must match the first attempt byte for byte.
 */
export const putReplayResult = (buffer: Buffer, row: ReplayResult, offset: number): number => {
  let at = offset;
  at = putText(buffer, row.projectUid, at);
  at = putText(buffer, row.replayUid, at);
  at = putUuid(buffer, row.requestId, at);
  at = putUint64(buffer, row.requestReceivedAtUs, at);
  at = putUint64(buffer, row.sentAtUs, at);
  at = putUint32(buffer, row.expiresAtS, at);
  at = putText(buffer, row.namespace, at);
  at = putText(buffer, row.project, at);
  at = putText(buffer, row.replay, at);
  at = putText(buffer, row.target, at);
  at = putLatin1(buffer, row.url, at);
  at = putText(buffer, row.method, at);
  at = putPairs(buffer, row.sentHeaders, at);
  at = putBytes(buffer, row.sentBody, at);
  at = putBool(buffer, row.edited, at);
  at = putUint16(buffer, row.status, at);
  at = putPairs(buffer, row.responseHeaders, at);
  at = putBytes(buffer, row.responseBody, at);
  at = putUint64(buffer, row.responseBodyBytes, at);
  at = putBool(buffer, row.responseTruncated, at);
  at = putText(buffer, row.error, at);
  at = putUint64(buffer, row.durationUs, at);
  at = putUint64(buffer, row.firstByteUs, at);
  return at;
};
