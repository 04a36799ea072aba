import type { HeaderPair } from '@standin/contract';
import type { LogEntry } from './log-entry.ts';

const entry: LogEntry = {
  id: '019a0000-0000-7000-8000-000000000001',
  receivedAt: '2026-11-21T10:00:00.000000Z',
  namespace: 'default',
  project: 'shop',
  endpoint: 'create-order',
  method: 'POST',
  path: '/v1/orders',
  query: '',
  status: 200,
  durationMs: 12,
  request: {
    target: '/g95gprojecturi/v1/orders',
    httpVersion: '1.1',
    headers: [],
    trailers: [],
    body: '',
    bodyEncoding: 'utf8',
  },
  response: {
    status: 200,
    headers: [],
    body: '',
    bodyEncoding: 'utf8',
    truncated: false,
    trailers: [],
    bodyBytes: 0,
  },
  outcome: 'forwarded',
  responseName: '',
  action: 'Forward',
  account: 'default',
  projectUid: 'p',
  endpointUid: 'e',
  endpointGeneration: 1,
  gateway: 'dev',
  keyFingerprint: '01234567',
  credential: 'key',
  deliveryId: '',
  clientAddress: '127.0.0.1',
  upstreamUrl: '',
  upstreamError: '',
  delayMs: 0,
  templateError: '',
  requestMs: 1,
  upstreamFirstByteMs: 5,
  expiresAt: '2026-12-21T10:00:00.000Z',
};

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
