import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HeaderPair } from '@standin/contract';
import { ask, RawClient } from './raw-client.ts';
import { forward, json, Stand } from './stand.ts';
import { responseText, startUpstream, type Upstream } from './upstream.ts';

/** Torture test 38: headers that try to inject other headers, and hop-by-hop headers. */

let stand: Stand;
let upstream: Upstream;
let nextAnswer = '';
beforeAll(async () => {
  upstream = await startUpstream((socket) => {
    socket.write(nextAnswer, 'latin1');
  });
  stand = await Stand.start({ env: { STANDIN_EGRESS_ALLOW_PRIVATE: 'true' } });
  await stand.publish(
    { slug: '/up', action: forward(upstream.url) },
    { slug: '/up', method: 'POST', action: forward(upstream.url) },
  );
});
afterAll(async () => {
  await stand[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

const send = async (slug: string, headers: readonly HeaderPair[] = [], method = 'GET', body = '') => {
  const marker = stand.marker();
  const answer = await ask(stand.port, stand.head(method, stand.target(slug, marker), headers) + body);
  stand.accept(marker);
  return { answer, marker };
};

describe('mocks', () => {
  const bad: [string, HeaderPair][] = [
    ['CR LF in a value', ['x-a', 'b\r\nset-cookie: evil=1']],
    ['LF in a value', ['x-a', 'b\nset-cookie: evil=1']],
    ['CR in a value', ['x-a', 'b\rc']],
    ['NUL in a value', ['x-a', 'b\u0000c']],
    ['a character outside Latin-1', ['x-a', '\u{1f600}']],
    ['a space in a name', ['x a', 'b']],
    ['a colon in a name', ['x:a', 'b']],
    ['CR LF in a name', ['x\r\ny', 'b']],
    ['an empty name', ['', 'b']],
    ['Transfer-Encoding', ['Transfer-Encoding', 'chunked']],
    ['Content-Length', ['Content-Length', '1']],
    ['Connection', ['Connection', 'close']],
  ];
  test.each(bad)('with %s are rejected by the gateway, or sent without it', async (name, header) => {
    const slug = `/bad-${name.toLowerCase().replace(/[^a-z]+/g, '-')}`;
    const rejected = await stand.publish({ slug, action: json('mock', { headers: [header, ['x-good', 'yes']] }) });
    using client = await RawClient.connect(stand.port);
    const marker = stand.marker();
    client.send(stand.head('GET', stand.target(slug, marker)));
    const answer = await client.answer();
    if (rejected.size > 0) {
      expect([...rejected.values()][0]).not.toBe('');
      expect(answer?.status).toBe(404);
      return;
    }
    stand.accept(marker);
    expect(answer).toMatchObject({ status: 200, body: Buffer.from('mock') });
    expect(answer?.all('x-good')).toEqual(['yes']);
    expect(answer?.all('set-cookie')).toEqual([]);
    expect(client.pending).toHaveLength(0);
  });

  test.each([99, 100, 101, 199, 600, 1000])('with status %i are rejected by the gateway', async (status) => {
    const slug = `/status-${status}`;
    const rejected = await stand.publish({ slug, action: json('', { status }) });
    expect(rejected.size).toBe(1);
    expect((await ask(stand.port, stand.head('GET', stand.target(slug))))?.status).toBe(404);
  });

  test('keep two cookies separate and preserve the case of their headers', async () => {
    const headers: HeaderPair[] = [
      ['Set-Cookie', 'a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT'],
      ['set-cookie', 'b=2'],
      ['X-Same', '1'],
      ['X-Same', '2'],
    ];
    await stand.publish({ slug: '/cookies', action: json('mock', { headers }) });
    const { answer, marker } = await send('/cookies');
    expect(answer?.headers).toEqual(expect.arrayContaining(headers.map((pair) => [...pair])));
    expect(answer?.all('set-cookie')).toEqual(headers.slice(0, 2).map(([, value]) => value));
    const row = await stand.row(marker);
    expect(row.response.headers.filter(([name]) => name.toLowerCase() === 'set-cookie')).toEqual(headers.slice(0, 2));
  });
});

describe('upstreams', () => {
  test.each([
    ['bare CR in a value', 'x-a: b\rset-cookie: evil=1\r\n'],
    ['NUL in a value', 'x-a: b\x00c\r\n'],
    ['a space before the colon', 'x-a : b\r\n'],
    ['a folded line', 'x-a: b\r\n c\r\n'],
    ['a space in a name', 'x a: b\r\n'],
    ['a control character', 'x-a: b\x01\r\n'],
  ])('with %s cause 502 and no extra header', async (_name, line) => {
    nextAnswer = responseText('upstream', line);
    const { answer } = await send('/up');
    expect(answer?.status).toBe(502);
    expect(answer?.all('set-cookie')).toEqual([]);
  });

  test('keep two cookies separate; headers that Connection lists are removed in both directions', async () => {
    nextAnswer = responseText(
      'upstream',
      'Set-Cookie: a=1\r\nset-cookie: b=2\r\nConnection: keep-alive, X-Secret\r\nX-Secret: s\r\nKeep-Alive: timeout=5\r\n' +
        'Proxy-Authenticate: Basic\r\nTrailer: x-sum\r\nUpgrade: h2c\r\nX-Kept: k\r\n',
    );
    const before = upstream.requests.length;
    const { answer, marker } = await send('/up', [
      ['Connection', 'keep-alive, X-Hop, Authorization'],
      ['X-Hop', 'h'],
      ['Keep-Alive', 'timeout=9'],
      ['Proxy-Authorization', 'Basic eA=='],
      ['Proxy-Connection', 'keep-alive'],
      ['TE', 'trailers'],
      ['Authorization', 'Bearer named-by-connection'],
      ['X-Kept', 'k'],
      ['X-Forwarded-For', '192.0.2.7'],
    ]);
    expect(answer?.status).toBe(200);
    expect(answer?.all('set-cookie')).toEqual(['a=1', 'b=2']);
    expect(answer?.all('x-kept')).toEqual(['k']);
    for (const name of ['x-secret', 'proxy-authenticate', 'upgrade', 'trailer']) expect(answer?.all(name)).toEqual([]);
    const names = upstream.requests[before]?.headers.map(([name]) => name.toLowerCase()) ?? [];
    for (const name of [
      'x-hop',
      'keep-alive',
      'proxy-authorization',
      'proxy-connection',
      'te',
      'authorization',
      'x-api-key',
    ]) {
      expect(names).not.toContain(name);
    }
    expect(names.filter((name) => name === 'x-kept')).toHaveLength(1);
    expect(names.filter((name) => name === 'host')).toHaveLength(1);
    const row = await stand.row(marker);
    // The log contains everything that the client sent.
    expect(row.request.headers.map(([name]) => name)).toEqual(expect.arrayContaining(['X-Hop', 'TE', 'Authorization']));
    expect(row.response.headers.filter(([name]) => name.toLowerCase() === 'set-cookie')).toHaveLength(2);
  });

  test("get the client's authorization and cookies unchanged", async () => {
    nextAnswer = responseText('upstream');
    const before = upstream.requests.length;
    await send('/up', [
      ['Authorization', 'Bearer one'],
      ['Cookie', 'a=1'],
      ['cookie', 'b=2'],
    ]);
    const seen = upstream.requests[before]?.headers ?? [];
    expect(seen.filter(([name]) => name.toLowerCase() === 'authorization')).toEqual([['Authorization', 'Bearer one']]);
    expect(seen.filter(([name]) => name.toLowerCase() === 'cookie')).toEqual([
      ['Cookie', 'a=1'],
      ['cookie', 'b=2'],
    ]);
  });
});

test('the log contains exactly the accepted requests', async () => {
  await stand.verify();
});
