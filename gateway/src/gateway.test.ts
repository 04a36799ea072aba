import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  BASIC_OBJECTS,
  endpoint,
  HOST,
  KEY,
  PATH,
  quiet,
  request,
  sha256,
  startTestGateway,
  testSettings,
  URI,
  WITH_KEY,
  type TestGateway,
} from './gateway.testing.ts';
import { MemorySink } from './deliver/memory-sink.testing.ts';
import { runGateway } from './gateway.ts';
import { exchange, RawClient, responseHeader } from './raw-client.testing.ts';

const BODY_MAX = 64 * 1024;

const objects = [
  ...BASIC_OBJECTS,
  endpoint('/v1/orders', {}, { method: 'GET' }),
  endpoint('/empty', { kind: 'JSON', status: 204, body: '' }),
  endpoint('/not-modified', { kind: 'JSON', status: 304, body: 'never sent' }),
  endpoint('/headers', {
    kind: 'JSON',
    status: 201,
    headers: [
      ['X-Case', 'kept'],
      ['Set-Cookie', 'a=1'],
      ['set-cookie', 'b=2'],
      ['Content-Type', 'text/plain; charset=utf-8'],
      ['x-latin1', '\xe9'],
    ],
    body: 'schön 💡',
  }),
  endpoint('/large', { kind: 'JSON', body: 'x'.repeat(200_000) }),
];

let stand: TestGateway;
beforeAll(async () => {
  stand = await startTestGateway({
    objects,
    settings: { limits: { requestBodyBytes: BODY_MAX } },
  });
});
afterAll(async () => {
  await stand[Symbol.asyncDispose]();
});

const send = (method: string, target: string, lines: readonly string[] = [], body = '') =>
  exchange(stand.gateway.url, request(method, target, [HOST, WITH_KEY, ...lines], body));

describe('a mock', () => {
  test('is sent verbatim, with a length, a date and a default content type', async () => {
    const response = await send('POST', PATH, [], '');
    expect(response.headers.map(([name]) => name)).toEqual(['content-type', 'content-length', 'date']);
    expect([response.status, response.reason, response.body.toString()]).toEqual([200, 'OK', '{"id": 1}']);
    expect(responseHeader(response, 'content-type')).toBe('application/json');
  });

  test('keeps the order and case of headers, repeated cookies, and UTF-8 bytes', async () => {
    const response = await send('POST', `/${URI}/headers`);
    expect(response.status).toBe(201);
    expect(response.headers.slice(0, 6)).toEqual([
      ['X-Case', 'kept'],
      ['Set-Cookie', 'a=1'],
      ['set-cookie', 'b=2'],
      ['Content-Type', 'text/plain; charset=utf-8'],
      ['x-latin1', '\xe9'],
      ['content-length', '11'],
    ]);
    expect(response.body.toString()).toBe('schön 💡');
  });

  test.each([
    ['/empty', 204],
    ['/not-modified', 304],
  ])('%s has no body and no length', async (slug, status) => {
    const client = await RawClient.connect(stand.gateway.url);
    client.send(request('POST', `/${URI}${slug}`, [HOST, WITH_KEY]) + request('GET', PATH, [HOST, WITH_KEY]));
    const [first, second] = await client.responses(2);
    expect([first?.status, first?.headers.map(([name]) => name), second?.status]).toEqual([status, ['date'], 200]);
    client.destroy();
  });

  test('arrives whole if it is large', async () => {
    expect((await send('POST', `/${URI}/large`)).body.length).toBe(200_000);
  });

  test('is sent over HTTP/1.0, and the connection is closed', async () => {
    const response = await exchange(stand.gateway.url, `POST ${PATH} HTTP/1.0\r\n${HOST}\r\n${WITH_KEY}\r\n\r\n`);
    expect([response.status, response.isClosed]).toEqual([200, true]);
  });

  test('closes the connection if the request has connection: close', async () => {
    expect((await send('POST', PATH, ['Connection: close'])).isClosed).toBe(true);
  });
});

describe('the log', () => {
  const capturedRow = async (marker: string) => {
    await stand.sink.until(({ rows }) => rows.some(({ query }) => query === marker));
    const found = stand.sink.rows.filter(({ query }) => query === marker);
    expect(found).toHaveLength(1);
    return found[0];
  };

  test('contains the exchange byte for byte, except that the key is replaced by its fingerprint', async () => {
    const body = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)).toString('latin1');
    const response = await send(
      'POST',
      `${PATH}?a=1&%00=//?`,
      ['Content-Length: 256', 'Accept: x', 'X-L: \xe9', 'accept: y'],
      body,
    );
    const row = await capturedRow('a=1&%00=//?');
    expect(row).toMatchObject({
      version: 2,
      namespace: 'team-a',
      account: 'own',
      accountUid: 'account-own',
      project: 'shop',
      projectUid: 'project-shop',
      endpoint: 'post-v1-orders',
      endpointUid: 'endpoint-post-v1-orders',
      endpointGeneration: 1,
      gateway: stand.settings.name,
      action: 'JSON',
      outcome: 'mocked',
      clientAddress: '127.0.0.1',
      keyFingerprint: sha256(KEY).slice(0, 8),
      method: 'POST',
      target: `${PATH}?a=1&%00=//?`,
      path: '/v1/orders',
      httpVersion: '1.1',
      requestHeaders: [
        ['Host', 'gateway'],
        ['x-api-key', `sha256:${sha256(KEY).slice(0, 8)}`],
        ['Content-Length', '256'],
        ['Accept', 'x'],
        ['X-L', '\xe9'],
        ['accept', 'y'],
      ],
      requestTrailers: [],
      status: 200,
      responseHeaders: response.headers,
      responseTruncated: false,
      responseBodyBytes: 9,
      upstreamUrl: '',
      upstreamError: '',
    });
    expect(Buffer.from(row?.requestBody ?? []).toString('latin1')).toBe(body);
    expect(Buffer.from(row?.responseBody ?? []).toString()).toBe('{"id": 1}');
    expect(row?.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    expect(Math.abs((row?.receivedAtUs ?? 0) / 1000 - Date.now())).toBeLessThan(10_000);
    expect((row?.expiresAtS ?? 0) - Math.floor((row?.receivedAtUs ?? 0) / 1e6)).toBe(30 * 24 * 60 * 60);
  });

  test('contains a body of exactly the maximum size, joined chunked bodies, and trailers', async () => {
    expect((await send('POST', `${PATH}?limit`, [`Content-Length: ${BODY_MAX}`], 'x'.repeat(BODY_MAX))).status).toBe(
      200,
    );
    expect((await capturedRow('limit'))?.requestBody.length).toBe(BODY_MAX);
    await send(
      'POST',
      `${PATH}?chunked`,
      ['Transfer-Encoding: chunked'],
      '3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX-T: 1\r\nx-t: 2\r\n\r\n',
    );
    const row = await capturedRow('chunked');
    expect([Buffer.from(row?.requestBody ?? []).toString(), row?.requestTrailers]).toEqual([
      'abcde',
      [
        ['X-T', '1'],
        ['x-t', '2'],
      ],
    ]);
  });

  test('does not contain a key that was sent in a trailer', async () => {
    const body = `1\r\na\r\n0\r\nX-Api-Key: ${KEY}\r\nx-t: 1\r\n\r\n`;
    await send('POST', `${PATH}?trailer`, ['Transfer-Encoding: chunked'], body);
    expect((await capturedRow('trailer'))?.requestTrailers).toEqual([
      ['X-Api-Key', `sha256:${sha256(KEY).slice(0, 8)}`],
      ['x-t', '1'],
    ]);
  });

  test('contains the body of a GET request', async () => {
    await send('GET', `${PATH}?get`, ['Content-Length: 2'], 'hi');
    expect(Buffer.from((await capturedRow('get'))?.requestBody ?? []).toString()).toBe('hi');
  });

  test('does not contain a request whose caller disconnected before its end', async () => {
    const client = await RawClient.connect(stand.gateway.url);
    client.send(request('POST', `${PATH}?gone`, [HOST, WITH_KEY, 'Content-Length: 100']) + 'x');
    await delay(20);
    client.destroy();
    await send('POST', `${PATH}?later`);
    await capturedRow('later');
    expect(stand.sink.rows.some(({ query }) => query === 'gone')).toBe(false);
  });
});

describe('a connection', () => {
  test('serves pipelined requests in order', async () => {
    const client = await RawClient.connect(stand.gateway.url);
    client.send(
      request('POST', `${PATH}?p1`, [HOST, WITH_KEY, 'Content-Length: 3'], 'abc') +
        request('POST', PATH, [HOST, `x-api-key:  ${KEY}`]) +
        request('POST', `/${URI}/large`, [HOST, WITH_KEY]) +
        request('GET', PATH, [HOST, WITH_KEY]),
    );
    const responses = await client.responses(4);
    expect(responses.map(({ status, body }) => [status, body.length])).toEqual([
      [200, 9],
      [401, expect.any(Number)],
      [200, 200_000],
      [200, 9],
    ]);
    client.destroy();
  });

  test('ignores bytes after a request that ends the connection', async () => {
    for (const [index, ending] of [
      request('POST', PATH, [HOST, HOST, WITH_KEY]),
      request('POST', PATH, [HOST, WITH_KEY, 'Expect: 200-ok']),
      request('POST', PATH, [HOST, WITH_KEY, 'Transfer-Encoding: gzip, chunked'], '0\r\n\r\n'),
      request('POST', PATH, [HOST, WITH_KEY, `Content-Length: ${BODY_MAX + 1}`], 'x'.repeat(BODY_MAX + 1)),
      request('POST', PATH, [HOST, WITH_KEY, 'Connection: close']),
    ].entries()) {
      const client = await RawClient.connect(stand.gateway.url);
      client.send(ending + request('POST', `${PATH}?behind${index}`, [HOST, WITH_KEY]));
      await client.closed();
      expect(client.received.toString('latin1').match(/^HTTP/gm)).toHaveLength(1);
    }
    await send('POST', `${PATH}?settled`);
    await stand.sink.until(({ rows }) => rows.some(({ query }) => query === 'settled'));
    expect(stand.sink.rows.filter(({ query }) => query.startsWith('behind'))).toEqual([]);
  });

  test('responds to invalid bytes after responding to the requests before them', async () => {
    const client = await RawClient.connect(stand.gateway.url);
    client.send(
      request('POST', `/${URI}/large`, [HOST, WITH_KEY]) + request('GET', PATH, [HOST, WITH_KEY]) + 'garbage\r\n\r\n',
    );
    const responses = await client.responses(3);
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 400]);
    await client.closed();
  });

  test('stays open after a refusal, and the refused body is discarded', async () => {
    const client = await RawClient.connect(stand.gateway.url);
    client.send(request('POST', PATH, [HOST, 'Content-Length: 5'], 'GET /') + request('GET', PATH, [HOST, WITH_KEY]));
    expect((await client.responses(2)).map(({ status }) => status)).toEqual([401, 200]);
    client.destroy();
  });

  test('gets 100 Continue when the key and the path are accepted', async () => {
    const client = await RawClient.connect(stand.gateway.url);
    client.send(request('POST', `${PATH}?continue`, [HOST, WITH_KEY, 'Content-Length: 2', 'Expect: 100-continue']));
    while (!client.received.toString().startsWith('HTTP/1.1 100 Continue\r\n\r\n')) await delay(5);
    client.send('hi');
    const [response] = await client.responses();
    expect(response?.status).toBe(200);
    client.destroy();
  });

  test.each([
    ['a wrong key', 'x-api-key: sk_unknown', 2, 401],
    ['a body that is too large', WITH_KEY, BODY_MAX + 1, 413],
  ])('gets no 100 Continue for %s', async (_name, keyLine, length, status) => {
    const client = await RawClient.connect(stand.gateway.url);
    client.send(request('POST', PATH, [HOST, keyLine, `Content-Length: ${length}`, 'Expect: 100-continue']));
    const [response] = await client.responses();
    expect(client.received.toString().startsWith(`HTTP/1.1 ${status}`)).toBe(true);
    expect(response && responseHeader(response, 'connection')).toBe('close');
    client.destroy();
  });

  test('delivers a refusal to a caller that is still sending its body', async () => {
    const client = await RawClient.connect(stand.gateway.url);
    const length = 3 * 1024 * 1024;
    client.send(request('POST', PATH, [HOST, WITH_KEY, `Content-Length: ${length}`]));
    client.send('x'.repeat(length));
    const [response] = await client.responses();
    expect(response?.status).toBe(413);
    await client.closed();
  });
});

test.each(['port', 'admin'])('a gateway whose %s is in use closes everything that it opened', async (which) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'standin-gateway-'));
  const taken = Number(new URL(stand.gateway.url).port);
  const settings = testSettings(
    dir,
    which === 'port' ? { port: taken } : { admin: { host: '127.0.0.1', port: taken } },
  );
  const sink = new MemorySink();
  await expect(runGateway({ settings, logger: quiet, logSink: sink })).rejects.toThrow('EADDRINUSE');
  expect([sink.isClosed, await readdir(path.join(settings.dataDir, 'spool'))]).toEqual([true, []]);
  await rm(dir, { recursive: true });
});

describe('a request with a target in absolute form', () => {
  test.each([
    ['http', `http://mocks.example.com${PATH}`],
    ['another case and a port', `HTTP://Mocks.Example.com:8080${PATH}`],
    ['https, which ended at a proxy', `https://[::1]:443${PATH}`],
  ])('is accepted: %s', async (name, target) => {
    const query = `absolute=${name.length}`;
    const response = await send('POST', `${target}?${query}`);
    expect([response.status, response.body.toString()]).toEqual([200, '{"id": 1}']);
    expect(responseHeader(response, 'connection')).toBeUndefined();
    await stand.sink.until(({ rows }) => rows.some((row) => row.query === query));
    const row = stand.sink.rows.find((one) => one.query === query);
    expect(row).toMatchObject({ target: `${target}?${query}`, path: '/v1/orders' });
    expect(row?.requestHeaders[0]).toEqual(['Host', 'gateway']);
  });

  test('has the path / if its target has none', async () => {
    for (const target of ['http://gateway', 'http://gateway?x']) expect((await send('GET', target)).status).toBe(404);
  });
});

describe('a request for an upgrade', () => {
  const WEBSOCKET = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];
  test.each([
    ['h2c', 'POST', ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQ'], 'body'],
    [
      'TLS in a body with chunks',
      'POST',
      ['Connection: upgrade', 'Upgrade: TLS/1.0', 'Transfer-Encoding: chunked'],
      '4\r\nbody\r\n0\r\n\r\n',
    ],
    ['a WebSocket', 'GET', WEBSOCKET, ''],
    ['nothing, in two headers', 'POST', ['Upgrade: a', 'Upgrade: b'], 'body'],
  ])('for %s is answered as if it had not asked, and the connection stays open', async (name, method, lines, body) => {
    const query = `upgrade=${name.length}`;
    const length = body === 'body' ? ['Content-Length: 4'] : [];
    const one = request(method, `${PATH}?${query}`, [HOST, WITH_KEY, ...lines, ...length], body);
    const client = await RawClient.connect(stand.gateway.url);
    client.send(one + one);
    await expect.poll(() => client.received.toString('latin1').split('HTTP/1.1 200 OK').length).toBe(3);
    client.socket.end();
    await stand.sink.until(({ rows }) => rows.filter((row) => row.query === query).length === 2);
    const bodies = stand.sink.rows.filter((row) => row.query === query).map(({ requestBody }) => requestBody);
    expect(bodies.map((bytes) => Buffer.from(bytes).toString())).toEqual(Array(2).fill(body === '' ? '' : 'body'));
  });
});

describe('a HEAD request to an endpoint for GET', () => {
  test('gets the head of the mock, is stored as it was, and leaves the connection open', async () => {
    const query = 'head-request';
    const client = await RawClient.connect(stand.gateway.url);
    const before = await exchange(stand.gateway.url, request('GET', PATH, [HOST, WITH_KEY]));
    client.send(request('HEAD', `${PATH}?${query}`, [HOST, WITH_KEY]));
    await expect.poll(() => client.received.toString('latin1')).toContain('\r\n\r\n');
    const head = client.received.toString('latin1');
    client.send(request('GET', PATH, [HOST, WITH_KEY]));
    await expect.poll(() => client.received.toString('latin1').split('HTTP/1.1 200 OK').length).toBe(3);
    client.socket.end();
    expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(head).toContain(`\r\ncontent-length: ${responseHeader(before, 'content-length') ?? ''}\r\n`);
    expect(head.endsWith('\r\n\r\n')).toBe(true);
    await stand.sink.until(({ rows }) => rows.some((row) => row.query === query));
    const row = stand.sink.rows.find((one) => one.query === query);
    expect(row).toMatchObject({ method: 'HEAD', status: 200, outcome: 'mocked', responseBodyBytes: 0 });
    expect(row?.responseBody).toHaveLength(0);
    expect(row?.responseHeaders).toContainEqual(['content-length', responseHeader(before, 'content-length')]);
    expect(row?.quotaPermit).toBeTypeOf('number');
  });
});
