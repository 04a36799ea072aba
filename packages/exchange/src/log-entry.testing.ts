import type { HeaderPair, LogRow } from '@standin/contract';
import { toLogEntry, type EntryPreview, type LogEntry } from './log-entry.ts';
import { newLogRow } from './log-row.testing.ts';

const entry = toLogEntry(
  newLogRow({
    id: '019a0000-0000-7000-8000-000000000001',
    receivedAtUs: Date.UTC(2026, 10, 21, 10) * 1_000,
    expiresAtS: Date.UTC(2026, 11, 21, 10) / 1_000,
    action: 'Forward',
    outcome: 'forwarded',
    target: '/g95gprojecturi/v1/orders',
    query: '',
    requestHeaders: [],
    requestBody: Buffer.alloc(0),
    responseHeaders: [],
    responseBody: Buffer.alloc(0),
    responseBodyBytes: 0,
    durationUs: 12_000,
    requestUs: 1_000,
    upstreamFirstByteUs: 5_000,
  }),
);

export interface TestEntryParts {
  readonly query?: string;
  readonly path?: string;
  readonly upstreamUrl?: string;
  readonly headers?: readonly HeaderPair[];
  readonly body?: string;
  readonly clientAddress?: string;
  readonly responseHeaders?: readonly HeaderPair[];
  readonly responseBody?: string;
  readonly truncated?: boolean;
}

/** Returns an entry that has the given parts and default values for the rest. Bodies are UTF-8. */
export const testEntry = (parts: TestEntryParts): LogEntry => {
  const { query = '', path = entry.path, upstreamUrl = '', clientAddress = entry.clientAddress } = parts;
  return {
    ...entry,
    path,
    query,
    upstreamUrl,
    clientAddress,
    request: {
      ...entry.request,
      target: `/g95gprojecturi${path}${query === '' ? '' : `?${query}`}`,
      headers: parts.headers ?? [],
      body: parts.body ?? '',
    },
    response: {
      ...entry.response,
      headers: parts.responseHeaders ?? [],
      body: parts.responseBody ?? '',
      bodyBytes: Buffer.byteLength(parts.responseBody ?? ''),
      truncated: parts.truncated ?? false,
    },
  };
};

/** Returns the preview of a row, with at most `bodyBytesMax` bytes of each body. */
export const testPreview = (row: LogRow, bodyBytesMax = Infinity): EntryPreview => {
  const requestBody = row.requestBody.subarray(0, bodyBytesMax);
  const responseBody = row.responseBody.subarray(0, bodyBytesMax);
  return {
    entry: toLogEntry({ ...row, requestBody, responseBody }),
    requestBodyBytes: row.requestBody.length,
    responseBodyBytes: row.responseBody.length,
    requestBodyBytesShown: requestBody.length,
    responseBodyBytesShown: responseBody.length,
    requestText: undefined,
    responseText: undefined,
  };
};
