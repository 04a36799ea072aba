import { once } from 'node:events';
import { createServer as createHttpServer, request as httpRequest } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { FALLBACK_REASONS, type FallbackReason, type JsonMockConfig } from '@standin/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  BASIC_OBJECTS,
  endpoint,
  fetchMetrics,
  HOST,
  KEY,
  request,
  serverUrl,
  startTestGateway,
  URI,
  WITH_KEY,
  type TestGateway,
} from '../gateway.testing.ts';
import { exchange, RawClient, rejectionCode } from '../raw-client.testing.ts';

/** Only the endpoints whose name ends with `Timeout` have it, because a busy machine may be as slow as that. */
const TIMEOUT_MS = 300;
const PATIENT_MS = 15_000;
const DELAY_MS = 200;
const STALE: JsonMockConfig = { status: 203, headers: [['content-type', 'application/json']], body: '{"stale": true}' };

/** Sends the bytes of a response, which need not be valid HTTP. Set by each test. */
let act: (socket: Socket) => void = () => undefined;
const connections: Socket[] = [];
const upstream = createServer((socket) => {
  connections.push(socket);
  socket.on('error', () => undefined).on('data', () => act(socket));
});
/** A proxy that sends each request to the gateway again, with the key. */
const looping = createHttpServer((incoming, response) => {
  const headers = { ...incoming.headers, 'x-api-key': KEY };
  const again = httpRequest(`${stand.gateway.url}/${URI}/proxied`, { method: 'POST', headers, agent: false });
  again.on('error', () => response.destroy());
  again.on('response', (passed) => passed.pipe(response.writeHead(passed.statusCode ?? 0)));
  incoming.pipe(again);
});

let stand: TestGateway;
const forwards = (slug: string, url: string, on: readonly FallbackReason[], mock = STALE) =>
  endpoint(slug, {
    kind: 'Forward',
    url,
    timeoutMs: slug.endsWith('Timeout') ? TIMEOUT_MS : PATIENT_MS,
    fallback: { on, mock },
  });

beforeAll(async () => {
  for (const server of [upstream, looping]) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const unreachable = serverUrl(closed);
  closed.close();
  const targets = { raw: serverUrl(upstream), unreachable, blocked: 'http://169.254.169.254' };
  stand = await startTestGateway({
    settings: { egress: { allowPrivate: true }, limits: { requestHeadBytes: 2_048 } },
    objects: [
      ...BASIC_OBJECTS,
      ...Object.entries(targets).flatMap(([name, url]) =>
        FALLBACK_REASONS.flatMap((reason) => [
          forwards(`/${name}/on/${reason}`, url, [reason]),
          forwards(
            `/${name}/except/${reason}`,
            url,
            FALLBACK_REASONS.filter((other) => other !== reason),
          ),
        ]),
      ),
      forwards('/late', unreachable, ['Unreachable'], { ...STALE, delay: { kind: 'Fixed', fixedMs: DELAY_MS } }),
      forwards('/rendered', unreachable, ['Unreachable'], { ...STALE, body: '"${request.method}"', template: 'CEL' }),
      forwards('/failing', unreachable, ['Unreachable'], { ...STALE, body: '${request.json.id}', template: 'CEL' }),
      forwards('/proxied', serverUrl(looping), FALLBACK_REASONS),
    ],
  });
  await stand.operator.publish([forwards('/self', `${stand.gateway.url}/${URI}/self`, FALLBACK_REASONS)]);
});
afterAll(async () => {
  await stand[Symbol.asyncDispose]();
  looping.closeAllConnections();
  looping.close();
  for (const socket of connections) socket.destroy();
  upstream.close();
});

let marker = 0;
beforeEach(() => {
  marker += 1;
});
const post = (slug: string): string => request('POST', `/${URI}${slug}?${marker}`, [HOST, WITH_KEY]);
const ask = (slug: string) => exchange(stand.gateway.url, post(slug));
const capturedRow = async () => {
  const isOwn = ({ query }: { readonly query: string }) => query === String(marker);
  await stand.sink.until(({ rows }) => rows.some(isOwn));
  const [row, ...others] = stand.sink.rows.filter(isOwn);
  expect(others).toEqual([]);
  return row;
};
const sends = (bytes: string) => (socket: Socket) => socket.end(bytes);

const FAILURES: readonly [string, FallbackReason, string, typeof act, number, string][] = [
  ['refuses the connection', 'Unreachable', 'unreachable', () => undefined, 502, 'refused the connection.'],
  ['has a blocked address', 'Unreachable', 'blocked', () => undefined, 502, 'Not connected: 169.254.169.254 is'],
  [
    'closes the connection',
    'Unreachable',
    'raw',
    (socket) => socket.end(),
    502,
    'closed the connection before it responded.',
  ],
  ['does not respond', 'Timeout', 'raw', () => undefined, 504, 'did not respond within 300 ms.'],
  ['does not speak HTTP', 'InvalidAnswer', 'raw', sends('SSH-2.0-x\r\n'), 502, 'is not valid HTTP/1.1'],
  [
    'sends an invalid length',
    'InvalidAnswer',
    'raw',
    sends(`HTTP/1.1 200 OK\r\nContent-Length: ${'9'.repeat(17)}\r\n\r\n`),
    502,
    'conflicting or invalid Content-Length values.',
  ],
  [
    'responds with 503',
    'ServerError',
    'raw',
    sends('HTTP/1.1 503 Down\r\nContent-Length: 4\r\n\r\ndown'),
    503,
    'The upstream responded with status 503.',
  ],
];

describe('the fallback', () => {
  test.each(FAILURES)('responds if the upstream %s', async (...[, reason, name, action, , error]) => {
    act = action;
    const got = await ask(`/${name}/on/${reason}`);
    expect([got.status, got.body.toString()]).toEqual([203, STALE.body]);
    const row = await capturedRow();
    expect(row).toMatchObject({
      outcome: 'fallback',
      action: 'Forward',
      version: 2,
      status: 203,
      responseHeaders: got.headers,
      delayUs: 0,
      responseBodyBytes: STALE.body.length,
      responseTruncated: false,
      response: '',
    });
    expect(row?.upstreamError).toContain(error);
    expect(row?.upstreamUrl).toMatch(/^http:/);
    expect(Buffer.from(row?.responseBody ?? []).toString()).toBe(STALE.body);
  });

  test.each(FAILURES)(
    'is not used for other reasons if the upstream %s',
    async (...[, reason, name, action, status]) => {
      act = action;
      expect((await ask(`/${name}/except/${reason}`)).status).toBe(status);
      expect((await capturedRow())?.outcome).not.toBe('fallback');
    },
  );

  test('has its own delay', async () => {
    const sentMs = performance.now();
    expect((await ask('/late')).status).toBe(203);
    expect(performance.now() - sentMs).toBeGreaterThanOrEqual(DELAY_MS);
    const row = await capturedRow();
    expect(row).toMatchObject({ outcome: 'fallback', delayUs: DELAY_MS * 1_000 });
    expect(row?.durationUs).toBeGreaterThanOrEqual(DELAY_MS * 1_000);
  });

  test('is rendered if it has a template, and the row has both reasons if that fails', async () => {
    expect((await ask('/rendered')).body.toString()).toBe('"POST"');
    expect(await capturedRow()).toMatchObject({ outcome: 'fallback', templateError: '' });
    marker += 1;
    expect((await ask('/failing')).status).toBe(500);
    const row = await capturedRow();
    expect(row).toMatchObject({ outcome: 'template_failed', status: 500 });
    expect([row?.upstreamError, row?.templateError]).toEqual([
      expect.stringContaining('refused the connection'),
      expect.stringContaining('JSON'),
    ]);
  });

  test.each(['Content-Length: 100\r\n\r\nabc', 'Content-Length: 100\r\n\r\n', 'Transfer-Encoding: chunked\r\n\r\n'])(
    'is not used after the head of a response: %j',
    async (rest) => {
      act = (socket) => socket.write(`HTTP/1.1 200 OK\r\n${rest}`, () => setTimeout(() => socket.destroy(), 20));
      const client = await RawClient.connect(stand.gateway.url);
      client.send(post('/raw/except/ServerError'));
      await client.closed();
      expect(client.received.toString()).toMatch(/^HTTP\/1.1 200 OK\r\n/);
      expect(client.received.toString()).not.toContain('stale');
      expect(await capturedRow()).toMatchObject({ outcome: 'upstream_failed', status: 200 });
    },
  );

  test('is not used if a response stalls after its head', async () => {
    act = (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc');
    const client = await RawClient.connect(stand.gateway.url);
    client.send(post('/raw/on/Timeout'));
    await client.closed();
    expect(client.received.toString()).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*abc$/);
    expect(await capturedRow()).toMatchObject({ outcome: 'upstream_timeout', status: 200 });
  });

  test('is recorded if the caller has disconnected', async () => {
    const dialled = new Promise<void>((resolve) => (act = () => resolve()));
    const client = await RawClient.connect(stand.gateway.url);
    client.send(post('/raw/on/Timeout'));
    await dialled;
    client.destroy();
    expect(await capturedRow()).toMatchObject({ outcome: 'fallback', status: 203 });
  });
});

describe('the body of a server error', () => {
  test('is read to its end if it is short, so that its connection is used again', async () => {
    act = (socket) => socket.write('HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops');
    const before = connections.length;
    for (let sent = 0; sent < 3; sent += 1) await ask('/raw/on/ServerError');
    expect(connections.length - before).toBeLessThanOrEqual(1);
  });

  test('is cut off if it is long', async () => {
    const written = Promise.withResolvers<number>();
    act = (socket) => {
      const pour = (): void => {
        while (!socket.destroyed && socket.write('x'.repeat(65_536)));
      };
      socket.write('HTTP/1.1 500 Oops\r\nContent-Length: 999999999999\r\n\r\n');
      socket.on('drain', pour).once('close', () => written.resolve(socket.bytesWritten));
      pour();
    };
    expect((await ask('/raw/on/ServerError')).status).toBe(STALE.status);
    // Most of it is in the buffers of the two sockets.
    expect(await written.promise).toBeLessThan(16_000_000);
  });

  test('is cut off if it takes a long time', async () => {
    const cut = Promise.withResolvers<undefined>();
    act = (socket) => {
      const timer = setInterval(() => socket.write('x'), 50);
      socket.write('HTTP/1.1 500 Oops\r\nContent-Length: 1000\r\n\r\n');
      socket.once('close', () => {
        clearInterval(timer);
        cut.resolve(undefined);
      });
    };
    expect((await ask('/raw/on/ServerError')).status).toBe(STALE.status);
    await cut.promise;
  });
});

describe('a loop', () => {
  test('ends at the gateway, because upstreams never get the key', async () => {
    const got = await ask('/self');
    expect([got.status, rejectionCode(got)]).toEqual([401, undefined]);
    expect(await capturedRow()).toMatchObject({ outcome: 'forwarded', status: 401 });
  });

  test('through a proxy that adds the key ends when x-forwarded-for is too long', async () => {
    expect([203, 431]).toContain((await ask('/proxied')).status);
    const metrics = () => fetchMetrics(stand.gateway);
    await expect.poll(metrics, { timeout: 15_000 }).toContain('\nstandin_receive_running_requests 0\n');
    expect(await capturedRow()).toMatchObject({ endpoint: 'post-proxied' });
    await stand.sink.until(({ rows }) => rows.filter(({ path }) => path === '/proxied').length > 2);
  }, 20_000);
});
