import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  BASIC_OBJECTS,
  endpoint,
  HOST,
  KEY,
  request,
  serverUrl,
  startTestGateway,
  URI,
  WITH_KEY,
  type TestGateway,
} from '../gateway.testing.ts';
import { exchange, RawClient, rejectionCode, responseHeader } from '../raw-client.testing.ts';

const CAPTURE_MAX = 64 * 1024;
const PATH = `/${URI}/f`;

/** Sends the response of `rawUpstream`, which need not be valid HTTP. Set by each test. */
let respondRaw: (socket: Socket) => void = () => undefined;
const rawUpstream: Server = createServer((socket) => {
  socket.on('error', () => undefined);
  socket.once('data', () => respondRaw(socket));
});
/** Sends the response of `upstream`, which is always valid HTTP. Set by each test. */
let respond: (request: IncomingMessage, response: ServerResponse, body: Buffer) => void = () => undefined;
const upstream = createHttpServer((incoming, response) => {
  void incoming.toArray().then((chunks) => respond(incoming, response, Buffer.concat(chunks as Buffer[])));
});

let stand: TestGateway;

beforeAll(async () => {
  for (const server of [rawUpstream, upstream]) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const unreachable = serverUrl(closed);
  closed.close();
  const forwards = (slug: string, url: string) => endpoint(slug, { kind: 'Forward', url, timeoutMs: 700 });
  stand = await startTestGateway({
    settings: {
      egress: { allowPrivate: true },
      limits: { responseCaptureBytes: CAPTURE_MAX, disconnectedReadMs: 1_000 },
    },
    objects: [
      ...BASIC_OBJECTS,
      forwards('/f', `${serverUrl(upstream)}/base?fixed=1`),
      forwards('/items/{id}/{rest...}', `${serverUrl(upstream)}/base/\${path.id}/\${path.rest}?fixed=1`),
      forwards('/docs/{rest...}', `${serverUrl(upstream)}/\${path.rest}?fixed=1`),
      forwards('/orders/{id}:cancel', `${serverUrl(upstream)}/\${path.id}?fixed=1`),
      endpoint('/f', { kind: 'Forward', url: `${serverUrl(upstream)}/base`, timeoutMs: 700 }, { method: 'GET' }),
      endpoint('/raw', { kind: 'Forward', url: `${serverUrl(rawUpstream)}/`, timeoutMs: 700 }, { method: 'GET' }),
      endpoint('/unreachable', { kind: 'Forward', url: unreachable, timeoutMs: 700 }, { method: 'GET' }),
      forwards('/raw', `${serverUrl(rawUpstream)}/`),
      forwards('/unreachable', unreachable),
      forwards('/metadata', 'http://169.254.169.254/latest'),
    ],
  });
});
afterAll(async () => {
  await stand[Symbol.asyncDispose]();
  upstream.closeAllConnections();
  upstream.close();
  rawUpstream.close();
});

let serial = 0;
let marker = '';
beforeEach(() => {
  marker = `n=${++serial}`;
});

const capturedRow = async () => {
  await stand.sink.until(({ rows }) => rows.some(({ query }) => query === marker));
  const found = stand.sink.rows.filter(({ query }) => query === marker);
  expect(found).toHaveLength(1);
  const [row] = found;
  if (row === undefined) throw new Error('no row');
  return row;
};
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
const ask = (slug: string, lines: readonly string[] = [], body = '') =>
  exchange(stand.gateway.url, request('POST', `/${URI}${slug}?${marker}`, [HOST, WITH_KEY, ...lines], body));

describe('a request to an upstream', () => {
  test('keeps its body, query and headers, without the key and hop-by-hop headers', async () => {
    let seen: { url: string | undefined; headers: string[]; body: string } | undefined;
    respond = (incoming, response, body) => {
      seen = { url: incoming.url, headers: incoming.rawHeaders, body: body.toString('latin1') };
      response.end('ok');
    };
    const lines = [
      'Authorization: Bearer t',
      'X-Case: a',
      'x-case: b',
      'X-Hop: gone',
      'Connection: x-hop, x-forwarded-for',
      'TE: trailers',
      'Keep-Alive: 1',
      'X-Forwarded-For: 192.0.2.1',
      'Proxy-Authorization: p',
      'Content-Length: 4',
      'Expect: 100-continue',
    ];
    const { status } = await ask('/f', lines, '\x00\xffab');
    expect(status).toBe(200);
    expect(seen?.url).toBe(`/base?fixed=1&${marker}`);
    expect(seen?.body).toBe('\x00\xffab');
    const headers = seen?.headers ?? [];
    const pairs = headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1]]] : []));
    expect(pairs).toEqual(
      expect.arrayContaining([
        ['Authorization', 'Bearer t'],
        ['X-Case', 'a'],
        ['x-case', 'b'],
        ['x-forwarded-for', '192.0.2.1, 127.0.0.1'],
        ['x-forwarded-host', 'gateway'],
        ['x-forwarded-proto', 'http'],
      ]),
    );
    const names = pairs.map(([name = '']) => name.toLowerCase());
    for (const gone of ['x-api-key', 'x-hop', 'te', 'keep-alive', 'proxy-authorization', 'expect'])
      expect(names).not.toContain(gone);
    expect(pairs.filter(([name = '']) => name.toLowerCase() === 'host')).toEqual([
      ['host', new URL(serverUrl(upstream)).host],
    ]);
    expect(JSON.stringify(pairs)).not.toContain(KEY);
  });

  test.each([
    ['/items/x%2Fa/b/%C3%A9%3F', '/base/x%2Fa/b/%C3%A9%3F'],
    ["/items/a:b@c/d;e=f/Orders('x')/*+!$&,~", "/base/a:b@c/d;e=f/Orders('x')/*+!$&,~"],
    ['/items/a\\b/%5c|', '/base/a%5Cb/%5c%7C'],
    ['/items/a/', '/base/a/'],
    ['/items/a//b//', '/base/a//b//'],
    ['/docs/', '/'],
    ['/docs//evil.example/', '//evil.example/'],
    ['/orders/a:b:cancel', '/a:b'],
  ])('to %s has the values of path parameters in its URL', async (path, expected) => {
    let url: string | undefined;
    respond = (incoming, response) => {
      url = incoming.url;
      response.end();
    };
    await ask(path);
    expect(url).toBe(`${expected}?fixed=1&${marker}`);
    expect((await capturedRow()).upstreamUrl).toBe(`${serverUrl(upstream)}${url}`);
  });

  test('is logged as received, with the requested URL', async () => {
    respond = (_incoming, response) => response.end('ok');
    await ask('/f', ['Content-Length: 2'], 'hi');
    const row = await capturedRow();
    expect(row).toMatchObject({
      outcome: 'forwarded',
      action: 'Forward',
      version: 2,
      status: 200,
      upstreamUrl: `${serverUrl(upstream)}/base?fixed=1&${marker}`,
      upstreamError: '',
    });
    expect([text(row.requestBody), text(row.responseBody), row.responseTruncated]).toEqual(['hi', 'ok', false]);
    expect(row.upstreamFirstByteUs).toBeGreaterThan(0);
  });
});

describe('a response from an upstream', () => {
  test('keeps its status, reason and headers, without hop-by-hop headers', async () => {
    respondRaw = (socket) =>
      socket.end(
        'HTTP/1.1 418 I am a teapot\r\nX-A: 1\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\nX-Hop: gone\r\nConnection: close, x-hop\r\nKeep-Alive: timeout=1\r\nContent-Length: 3\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nstandin-rejected: forged\r\n\r\nabc',
      );
    const got = await ask('/raw');
    expect([got.status, got.reason, got.body.toString()]).toEqual([418, 'I am a teapot', 'abc']);
    expect(got.headers).toEqual([
      ['X-A', '1'],
      ['Set-Cookie', 'a=1'],
      ['set-cookie', 'b=2'],
      ['Date', 'Thu, 01 Jan 1970 00:00:00 GMT'],
      ['content-length', '3'],
    ]);
    expect((await capturedRow()).responseHeaders).toEqual(got.headers);
  });

  test('is neither followed if it is a redirect nor decompressed', async () => {
    respondRaw = (socket) =>
      socket.end(
        'HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b',
        'latin1',
      );
    const got = await ask('/raw');
    expect([got.status, responseHeader(got, 'location'), got.body.toString('latin1')]).toEqual([
      302,
      'http://169.254.169.254/',
      '\x1f\x8b',
    ]);
  });

  test.each([
    [204, ''],
    [304, 'Content-Length: 10\r\n'],
  ])('%i has no body', async (status, line) => {
    respondRaw = (socket) => socket.end(`HTTP/1.1 ${status} X\r\n${line}\r\n`);
    const client = await RawClient.connect(stand.gateway.url);
    client.send(request('POST', `/${URI}/raw?${marker}`, [HOST, WITH_KEY, 'Connection: close']));
    await client.closed();
    expect(client.received.toString()).toMatch(new RegExp(`^HTTP/1.1 ${status} X\r\n[^]*\r\n\r\n$`));
    expect((await capturedRow()).responseBodyBytes).toBe(0);
  });

  test('is streamed, so the first part is passed on before the rest arrives', async () => {
    const pending: ServerResponse[] = [];
    respond = (_incoming, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n');
      pending.push(response);
    };
    const client = await RawClient.connect(stand.gateway.url);
    client.send(request('POST', `${PATH}?${marker}`, [HOST, WITH_KEY]));
    while (!client.received.toString().includes('data: 1\n\n')) await once(client.socket, 'data');
    pending[0]?.end('data: 2\n\n');
    while (!client.received.toString().endsWith('0\r\n\r\n')) await once(client.socket, 'data');
    expect(text((await capturedRow()).responseBody)).toBe('data: 1\n\ndata: 2\n\n');
    client.destroy();
  });

  test('reaches the caller in full if it is larger than the captured size', async () => {
    respond = (_incoming, response) => {
      response.writeHead(200, { 'content-length': 3 * CAPTURE_MAX });
      response.end('y'.repeat(3 * CAPTURE_MAX));
    };
    expect((await ask('/f')).body.length).toBe(3 * CAPTURE_MAX);
    const row = await capturedRow();
    expect([row.responseBody.length, row.responseBodyBytes, row.responseTruncated]).toEqual([
      CAPTURE_MAX,
      3 * CAPTURE_MAX,
      true,
    ]);
  });

  test('keeps its trailers for callers that accept them, and they are recorded', async () => {
    respondRaw = (socket) =>
      socket.end(
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n',
      );
    const client = await RawClient.connect(stand.gateway.url);
    client.send(request('POST', `/${URI}/raw?${marker}`, [HOST, WITH_KEY, 'TE: trailers', 'Connection: close']));
    await client.closed();
    expect(client.received.toString()).toMatch(/2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n$/);
    expect((await capturedRow()).responseTrailers).toEqual([['X-Sum', '1']]);
  });

  test('has connection fields and gateway fields removed from its trailers, as from its head', async () => {
    const passed = ['X-Sum: 1', 'Server-Timing: a'];
    // Transfer-Encoding and Content-Length are not included, because undici rejects a response that has them in its trailers.
    const taken = [
      'Standin-Rejected: a',
      'Keep-Alive: 1',
      'Trailer: x',
      'Proxy-Authenticate: a',
      'Host: a',
      'X-Hop: 1',
    ];
    const trailers = [...taken, ...passed].join('\r\n');
    respondRaw = (socket) =>
      socket.end(
        `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: X-Hop\r\n\r\n2\r\nok\r\n0\r\n${trailers}\r\n\r\n`,
      );
    const client = await RawClient.connect(stand.gateway.url);
    client.send(request('POST', `/${URI}/raw?${marker}`, [HOST, WITH_KEY, 'TE: trailers', 'Connection: close']));
    await client.closed();
    expect(client.received.toString().split('ok\r\n0\r\n')[1]).toBe(`${passed.join('\r\n')}\r\n\r\n`);
    expect((await capturedRow()).responseTrailers.map(([name]) => name)).toContain('Standin-Rejected');
  });
});

describe('a failing upstream', () => {
  test.each([
    ['refuses the connection', '/unreachable', () => undefined, 502, 'upstream_unreachable', 'upstream_failed'],
    ['is blocked', '/metadata', () => undefined, 502, 'upstream_blocked', 'upstream_failed'],
    [
      'closes without a response',
      '/raw',
      (socket: Socket) => socket.destroy(),
      502,
      'upstream_unreachable',
      'upstream_failed',
    ],
    [
      'does not speak HTTP',
      '/raw',
      (socket: Socket) => socket.end('SSH-2.0-x\r\n'),
      502,
      'upstream_invalid',
      'upstream_failed',
    ],
    [
      'responds with status 600',
      '/raw',
      (socket: Socket) => socket.end('HTTP/1.1 600 X\r\n\r\n'),
      502,
      'upstream_invalid',
      'upstream_failed',
    ],
    [
      'responds with status 000',
      '/raw',
      (socket: Socket) => socket.end('HTTP/1.1 000 X\r\n\r\n'),
      502,
      'upstream_invalid',
      'upstream_failed',
    ],
    ['does not respond', '/raw', () => undefined, 504, 'upstream_timeout', 'upstream_timeout'],
  ] as const)(
    'that %s results in a problem document, which is stored like any response',
    async (...[, slug, act, status, code, outcome]) => {
      respondRaw = act;
      const got = await ask(slug);
      expect([got.status, responseHeader(got, 'content-type'), rejectionCode(got)]).toEqual([
        status,
        'application/problem+json',
        undefined,
      ]);
      expect(JSON.parse(got.body.toString())).toMatchObject({ status, code });
      const row = await capturedRow();
      expect(row).toMatchObject({ status, outcome, responseHeaders: got.headers });
      expect(text(row.responseBody)).toBe(got.body.toString());
      expect(row.upstreamError).not.toBe('');
    },
  );

  test.each([
    ['a known length', 'Content-Length: 100\r\n\r\nabc'],
    ['chunks', 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n'],
  ])("that stops within %s closes the caller's connection, and the row records the error", async (_name, rest) => {
    respondRaw = (socket) => socket.write(`HTTP/1.1 200 OK\r\n${rest}`, () => setTimeout(() => socket.destroy(), 20));
    const client = await RawClient.connect(stand.gateway.url);
    client.send(request('POST', `/${URI}/raw?${marker}`, [HOST, WITH_KEY]));
    await once(client.socket, 'close');
    expect(client.received.toString()).toContain('abc');
    expect(client.received.toString()).not.toContain('0\r\n\r\n');
    const row = await capturedRow();
    expect([row.status, row.outcome, text(row.responseBody)]).toEqual([200, 'upstream_failed', 'abc']);
    expect(row.upstreamError).not.toBe('');
  });
});

describe('after the caller has disconnected', () => {
  test('a response is recorded in full', async () => {
    const pending: ServerResponse[] = [];
    const arrived = new Promise<void>((resolve) => {
      respond = (_incoming, response) => {
        response.write('begin ');
        pending.push(response);
        resolve();
      };
    });
    const client = await RawClient.connect(stand.gateway.url);
    client.send(request('POST', `${PATH}?${marker}`, [HOST, WITH_KEY]));
    await arrived;
    await once(client.socket, 'data');
    client.destroy();
    await once(client.socket, 'close');
    pending[0]?.end('end');
    const row = await capturedRow();
    expect([row.outcome, text(row.responseBody), row.responseTruncated]).toEqual(['forwarded', 'begin end', false]);
  });

  test('a slow response is not read forever', async () => {
    const cut = Promise.withResolvers<undefined>();
    respond = (_incoming, response) => {
      const timer = setInterval(() => response.write('z'), 50);
      response.on('close', () => {
        clearInterval(timer);
        cut.resolve(undefined);
      });
    };
    const client = await RawClient.connect(stand.gateway.url);
    client.send(request('POST', `${PATH}?${marker}`, [HOST, WITH_KEY]));
    await once(client.socket, 'data');
    client.destroy();
    await cut.promise;
    expect((await capturedRow()).responseTruncated).toBe(true);
  });

  test('an endless response is cut off', async () => {
    const cut = Promise.withResolvers<undefined>();
    respond = (_incoming, response) => {
      const pour = (): void => {
        while (!response.destroyed && response.write('z'.repeat(16_384)));
      };
      response.on('drain', pour).on('close', () => cut.resolve(undefined));
      pour();
    };
    const client = await RawClient.connect(stand.gateway.url);
    client.send(request('POST', `${PATH}?${marker}`, [HOST, WITH_KEY]));
    await once(client.socket, 'data');
    client.destroy();
    await cut.promise;
    const row = await capturedRow();
    expect([row.responseTruncated, row.responseBody.length]).toEqual([true, CAPTURE_MAX]);
  });
});

describe('a HEAD request', () => {
  const head = async (slug: string): Promise<string> => {
    const client = await RawClient.connect(stand.gateway.url);
    client.send(request('HEAD', `/${URI}${slug}?${marker}`, [HOST, WITH_KEY]));
    await expect.poll(() => client.received.toString('latin1')).toContain('\r\n\r\n');
    // Its connection can be used again.
    client.send(request('HEAD', `/${URI}${slug}?again`, [HOST, WITH_KEY]));
    await expect.poll(() => client.received.toString('latin1').split('HTTP/1.1 ').length).toBe(3);
    client.socket.end();
    return client.received.toString('latin1').slice(0, client.received.indexOf('HTTP/1.1 ', 1));
  };

  test.each([
    ['a length', ['content-length: 12345']],
    ['chunks', ['transfer-encoding: chunked']],
    ['no framing', []],
  ])('is sent as HEAD, and the response has %s and no body', async (_name, lines) => {
    let seen = '';
    respondRaw = (socket) => socket.end(['HTTP/1.1 200 OK', 'x-up: 1', ...lines, '', ''].join('\r\n'));
    rawUpstream.once('connection', (socket: Socket) =>
      socket.once('data', (bytes: Buffer) => (seen = bytes.toString())),
    );
    const response = await head('/raw');
    expect(seen).toMatch(/^HEAD \/\?/);
    expect(response).toMatch(/^HTTP\/1\.1 200 OK\r\n.*\r\n\r\n$/s);
    expect(response).toContain('x-up: 1\r\n');
    expect(response.includes('content-length: 12345')).toBe(lines.includes('content-length: 12345'));
    const row = await capturedRow();
    expect(row).toMatchObject({ method: 'HEAD', outcome: 'forwarded', status: 200, responseBodyBytes: 0 });
    expect(row.responseBody).toHaveLength(0);
  });

  test('to an upstream that does not respond gets the head of the 502', async () => {
    expect(await head('/unreachable')).toMatch(/^HTTP\/1\.1 502 .*\r\ncontent-length: \d+\r\n.*\r\n\r\n$/s);
    expect(await capturedRow()).toMatchObject({ method: 'HEAD', outcome: 'upstream_failed', responseBodyBytes: 0 });
  });
});
