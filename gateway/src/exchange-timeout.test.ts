import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { FALLBACK_REASONS, type DelayConfig, type FallbackReason, type LogRow } from '@standin/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  BASIC_OBJECTS,
  endpoint,
  HOST,
  PATH,
  request,
  serverUrl,
  startTestGateway,
  URI,
  WITH_KEY,
  type TestGateway,
} from './gateway.testing.ts';
import { exchange, RawClient } from './raw-client.testing.ts';

const TIMEOUT_MS = 800;
/** Checks of request timeouts may be late by a second. */
const LATE_MS = 2_500;
const LONG: DelayConfig = { kind: 'Fixed', fixedMs: 60_000 };
const MOCK = { status: 200, headers: [['content-type', 'application/json']], body: '{"late": true}' } as const;

/** What the upstream does, by the last segment of the path. */
const BEHAVIORS: Readonly<Record<string, (response: ServerResponse) => void>> = {
  quick: (response) => response.end('quick'),
  silent: () => undefined,
  endless: (response) => {
    const timer = setInterval(() => response.write('data: tick\n\n'), 50);
    response.on('close', () => clearInterval(timer));
  },
  large: (response) => {
    const write = (): void => {
      while (response.write(Buffer.alloc(64 * 1024)));
    };
    response.on('drain', write);
    write();
  },
  failing: (response) => response.writeHead(500).end(),
};
let stand: TestGateway;
let open = 0;
const upstream: Server = createServer((incoming: IncomingMessage, response) => {
  open++;
  response.on('close', () => open--);
  BEHAVIORS[/\/(\w+)/.exec(incoming.url ?? '')?.[1] ?? '']?.(response);
});

beforeAll(async () => {
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const origin = serverUrl(upstream);
  const forwards = (name: string, on?: readonly FallbackReason[]) =>
    endpoint(`/${name}${on === undefined ? '' : '/with-fallback'}`, {
      kind: 'Forward',
      url: `${origin}/${name}`,
      timeoutMs: 30_000,
      ...(on !== undefined && { fallback: { on, mock: { ...MOCK, headers: [...MOCK.headers], delay: LONG } } }),
    });
  stand = await startTestGateway({
    settings: {
      egress: { allowPrivate: true },
      limits: { exchangeTimeoutMs: TIMEOUT_MS, responseStallTimeoutMs: 400 },
    },
    objects: [
      ...BASIC_OBJECTS,
      ...Object.keys(BEHAVIORS).map((name) => forwards(name)),
      forwards('silent', FALLBACK_REASONS),
      forwards('failing', FALLBACK_REASONS),
      endpoint('/delayed', { kind: 'JSON', ...MOCK, headers: [...MOCK.headers], delay: LONG }),
      endpoint('/in-time', { kind: 'JSON', ...MOCK, headers: [], delay: { kind: 'Fixed', fixedMs: 100 } }),
    ],
  });
});
afterAll(async () => {
  await stand[Symbol.asyncDispose]();
  upstream.closeAllConnections();
  upstream.close();
});

let serial = 0;
const ask = (path: string): { readonly text: string; readonly row: () => Promise<LogRow> } => {
  const query = `n=${++serial}`;
  return {
    text: request('POST', `/${URI}/${path}?${query}`, [HOST, WITH_KEY, 'content-length: 0']),
    row: async () => {
      await stand.sink.until(({ rows }) => rows.some((row) => row.query === query));
      const found = stand.sink.rows.filter((row) => row.query === query);
      expect(found).toHaveLength(1);
      return found[0] as LogRow;
    },
  };
};
const expectEnd = (startedMs: number): void => {
  const tookMs = performance.now() - startedMs;
  expect(tookMs).toBeGreaterThan(TIMEOUT_MS - 20);
  expect(tookMs).toBeLessThan(TIMEOUT_MS + LATE_MS);
};

test('an exchange that ends in time is not affected', async () => {
  for (const path of ['quick', 'in-time']) {
    const { text, row } = ask(path);
    expect((await exchange(stand.gateway.url, text)).status).toBe(200);
    expect((await row()).outcome).toBe(path === 'quick' ? 'forwarded' : 'mocked');
  }
});

test.each([
  ['an endless stream', 'endless', true],
  ['a response that its caller does not read', 'large', false],
])('%s is cut off, and recorded as far as it was received', async (_what, path, isRead) => {
  const startedMs = performance.now();
  const client = await RawClient.connect(stand.gateway.url);
  if (!isRead) client.socket.pause();
  const { text, row } = ask(path);
  client.send(text);
  const { outcome, status, responseBodyBytes, upstreamError, durationUs } = await row();
  expectEnd(startedMs);
  expect([outcome, status]).toEqual(['exchange_timeout', 200]);
  expect(responseBodyBytes).toBeGreaterThan(0);
  expect(upstreamError).toContain(`limits.exchangeTimeoutMs (${TIMEOUT_MS} ms)`);
  expect(durationUs).toBeGreaterThanOrEqual(TIMEOUT_MS * 1_000 - 20_000);
  client.socket.resume();
  await client.closed();
  // A chunked response without its last chunk is not complete.
  expect(client.received.subarray(-5).toString()).not.toBe('0\r\n\r\n');
  await expect.poll(() => open).toBe(0);
});

test.each([
  ['an upstream that does not respond', 'silent'],
  ['such an upstream with a fallback, which would be even later,', 'silent/with-fallback'],
  ['a fallback that is delayed for longer', 'failing/with-fallback'],
  ['a mock that is delayed for longer', 'delayed'],
])('%s is replaced by an error at the end', async (_what, path) => {
  const startedMs = performance.now();
  const { text, row } = ask(path);
  const response = await exchange(stand.gateway.url, text);
  expectEnd(startedMs);
  const { outcome, status, responseBody, responseHeaders, durationUs } = await row();
  expect([outcome, status, response.status]).toEqual(['exchange_timeout', 504, 504]);
  expect(JSON.parse(response.body.toString())).toMatchObject({ code: 'exchange_timeout' });
  expect([Buffer.from(responseBody), responseHeaders]).toEqual([response.body, response.headers]);
  expect(Math.abs(durationUs / 1_000 - TIMEOUT_MS)).toBeLessThan(LATE_MS);
  await expect.poll(() => open).toBe(0);
});

test('a request that arrives slowly is refused, and not recorded', async () => {
  const startedMs = performance.now();
  const client = await RawClient.connect(stand.gateway.url);
  client.send(request('POST', `${PATH}?slow`, [HOST, WITH_KEY, 'content-length: 100']));
  const timer = setInterval(() => client.send('x'), 100);
  const [response] = await client.responses();
  clearInterval(timer);
  expectEnd(startedMs);
  expect(response?.status).toBe(408);
  expect(stand.sink.rows.filter(({ query }) => query === 'slow')).toEqual([]);
  client.destroy();
});
