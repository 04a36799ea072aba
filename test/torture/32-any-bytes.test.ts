import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { METHODS, type HeaderPair, type Method } from '@standin/contract';
import { bodyAsBuffer } from '@standin/exchange';
import { ask, RawClient } from './raw-client.ts';
import { forward, json, Stand } from './stand.ts';
import { responseText, startUpstream, type Upstream } from './upstream.ts';

/** Torture test 32: any bytes that a client sends are accepted, forwarded and stored unchanged. */

const MOCK = '{"id":1.0,  "big": 12345678901234567890, "é": null}';
const MOCK_HEADERS: HeaderPair[] = [
  ['Content-Type', 'application/vnd.shop+json; charset=utf-8'],
  ['Set-Cookie', 'a=1; Path=/'],
  ['set-cookie', 'b=2'],
  ['X-Latin', 'caf\u00e9'],
];
const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_unused, byte) => byte));

let stand: Stand;
let upstream: Upstream;
beforeAll(async () => {
  upstream = await startUpstream((socket) => {
    socket.write(Buffer.concat([Buffer.from(responseText(ALL_BYTES.toString('latin1')), 'latin1')]));
  });
  stand = await Stand.start({ env: { STANDIN_EGRESS_ALLOW_PRIVATE: 'true' } });
  await stand.publish(
    ...METHODS.map((method) => ({ slug: '/any', method, action: json(MOCK, { status: 201, headers: MOCK_HEADERS }) })),
    ...METHODS.map((method) => ({ slug: '/up', method, action: forward(`${upstream.url}/up`) })),
  );
});
afterAll(async () => {
  await stand[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

const sha = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

/** Checks that the row contains the request as sent, except for the key, which its fingerprint replaces. */
const expectExact = async (
  marker: string,
  sent: { headers: readonly HeaderPair[]; body: Uint8Array; target: string },
) => {
  const row = await stand.row(marker);
  const masked = sent.headers.map(([name, value]): HeaderPair =>
    name === 'x-api-key' ? [name, `sha256:${row.keyFingerprint}`] : [name, value],
  );
  expect(row.request.headers).toEqual(masked);
  expect(row.request.target).toBe(sent.target);
  expect(sha(bodyAsBuffer(row.request))).toBe(sha(sent.body));
  return row;
};

const BODIES: [name: string, type: string | undefined, body: Uint8Array][] = [
  ['no body', undefined, Buffer.alloc(0)],
  ['an empty body with a type', 'application/json', Buffer.alloc(0)],
  ['invalid JSON', 'application/json', latin1('{"a": ')],
  [
    'JSON with __proto__',
    'application/json',
    latin1('{"__proto__": {"admin": true}, "constructor": {"prototype": 1}}'),
  ],
  ['JSON without a type', undefined, latin1('{"a": 1}')],
  ['an invalid type', '!!!', latin1('hello')],
  ['an empty type', '', latin1('hello')],
  ['a type with broken parameters', 'text/plain;;;=', latin1('hello')],
  ['a gzip body', 'application/json', gzipSync('{"a": 1}')],
  ['all byte values', 'application/octet-stream', ALL_BYTES],
  ['lone surrogates in UTF-8', 'text/plain; charset=utf-8', Buffer.from([0xed, 0xa0, 0x80, 0xed, 0xbf, 0xbf])],
  ['a byte order mark', 'text/plain', Buffer.from([0xef, 0xbb, 0xbf, 0x61])],
  ['invalid UTF-8', 'text/plain', Buffer.from([0xc3, 0x28, 0xff, 0xfe])],
  [
    'a multipart that never ends',
    'multipart/form-data; boundary=x',
    latin1('--x\r\ncontent-disposition: form-data\r\n\r\nabc'),
  ],
  ['a form', 'application/x-www-form-urlencoded', latin1('a=1&a=2&__proto__[x]=1')],
];

describe.each(['/any', '/up'])('%s', (slug) => {
  test.each(METHODS.flatMap((method) => BODIES.map(([name, type, body]) => [method, name, type, body] as const)))(
    '%s with %s',
    async (method, _name, type, body) => {
      const marker = stand.marker();
      const target = stand.target(slug, marker);
      const headers: HeaderPair[] = [
        ...(type === undefined ? [] : [['Content-Type', type] as const]),
        ...(body.length > 0 || method === 'POST' ? [['Content-Length', String(body.length)] as const] : []),
      ];
      const before = upstream.requests.length;
      const answer = await ask(stand.port, Buffer.concat([latin1(stand.head(method, target, headers)), body]));
      stand.accept(marker);
      if (slug === '/any') {
        expect(answer).toMatchObject({ status: 201, body: Buffer.from(MOCK) });
        expect(answer?.headers).toEqual(expect.arrayContaining(MOCK_HEADERS.map(([name, value]) => [name, value])));
      } else {
        expect(answer).toMatchObject({ status: 200, body: ALL_BYTES });
        const [seen, ...more] = upstream.requests.slice(before);
        expect(more).toEqual([]);
        expect(seen).toMatchObject({ method, target: `/up?${marker}` });
        expect(sha(seen?.body ?? Buffer.alloc(1))).toBe(sha(body));
        expect(seen?.headers.map(([name]) => name.toLowerCase())).not.toContain('x-api-key');
      }
    },
  );
});

test('every row matches its request and response exactly', async () => {
  const rows = await stand.verify();
  const sent = METHODS.flatMap((method) => BODIES.map(([, type, body]) => ({ method, type, body })));
  for (const [index, row] of rows.slice(0, -1).entries()) {
    const request = sent[index % sent.length] ?? expect.fail('more rows than requests');
    expect(row.method).toBe(request.method);
    expect(row.request.headers[2]).toEqual(
      request.type === undefined
        ? request.body.length > 0 || request.method === 'POST'
          ? ['Content-Length', String(request.body.length)]
          : undefined
        : ['Content-Type', request.type],
    );
    expect(sha(bodyAsBuffer(row.request))).toBe(sha(request.body));
    const answer = row.path === '/any' ? Buffer.from(MOCK) : ALL_BYTES;
    expect(sha(bodyAsBuffer(row.response))).toBe(sha(answer));
    if (row.path === '/any')
      expect(row.response.headers).toEqual(expect.arrayContaining(MOCK_HEADERS.map((pair) => [...pair])));
  }
});

describe('heads', () => {
  const send = async (method: Method, headers: readonly HeaderPair[], body = '', raw = body) => {
    const marker = stand.marker();
    const target = stand.target('/any', marker);
    const answer = await ask(stand.port, stand.head(method, target, headers) + raw);
    expect(answer?.status).toBe(201);
    stand.accept(marker);
    const all: HeaderPair[] = [['Host', 'gateway'], ['x-api-key', stand.own.key], ...headers];
    return expectExact(marker, { headers: all, body: latin1(body), target });
  };

  test('with duplicates, Latin-1, odd case and empty values keep their order and bytes', async () => {
    await send('GET', [
      ['X-Dup', '1'],
      ['x-dup', '2'],
      ['X-DUP', '1'],
      ['X-Latin', 'caf\u00e9 \u00ff'],
      ['Authorization', 'Bearer one'],
      ['Authorization', 'Bearer two'],
      ['Cookie', 'a=1'],
      ['Cookie', 'b=2'],
      ['X-Empty', ''],
      ['__proto__', 'x'],
      ['constructor', 'y'],
      ['Content-Type', 'a/b'],
      ['Content-Type', 'c/d'],
      ['X-Tab', 'a\tb  c'],
      ["!#$%&'*+-.^_`|~", 'token'],
    ]);
  });

  test('with 990 headers are stored completely', async () => {
    const row = await send(
      'GET',
      Array.from({ length: 988 }, (_unused, index): HeaderPair => [`h${index}`, 'v']),
    );
    expect(row.request.headers).toHaveLength(990);
  });

  test('with chunks, extensions and trailers are stored', async () => {
    const chunked = '4;ext="a;b"\r\n\x00\xff\r\n\r\n0003\r\nabc\r\n0\r\nX-Sum: caf\u00e9\r\nx-sum: 2\r\n\r\n';
    const row = await send(
      'POST',
      [
        ['Transfer-Encoding', 'chunked'],
        ['Trailer', 'X-Sum'],
      ],
      '\x00\xff\r\nabc',
      chunked,
    );
    expect(row.request.trailers).toEqual([
      ['X-Sum', 'caf\u00e9'],
      ['x-sum', '2'],
    ]);
  });

  test('with every byte that is valid in a target are stored', async () => {
    const marker = stand.marker();
    const target = `/${stand.own.uri}/any?${marker}`;
    const odd = `${target}&q=%00%FF%zz%&a[]=1&__proto__=2&;=,'"<>|\\^\`{}~&u=//evil@x:1?y=%0d%0a`;
    const answer = await ask(stand.port, stand.head('GET', odd));
    expect(answer?.status).toBe(201);
    stand.accept(odd.slice(odd.indexOf('?') + 1));
    const row = await stand.row(odd.slice(odd.indexOf('?') + 1));
    expect(row.request.target).toBe(odd);
  });

  test('in HTTP/1.0 with keep-alive are accepted', async () => {
    const marker = stand.marker();
    const answer = await ask(
      stand.port,
      stand.head('GET', stand.target('/any', marker)).replace('HTTP/1.1', 'HTTP/1.0'),
    );
    expect(answer?.status).toBe(201);
    stand.accept(marker);
    expect((await stand.row(marker)).request.httpVersion).toBe('1.0');
  });
});

test('pipelined requests are served and stored, each with its own head and body', async () => {
  using client = await RawClient.connect(stand.port);
  const markers = Array.from({ length: 40 }, () => stand.marker());
  const text = markers.map((marker, index) => {
    const body = `${'x'.repeat(index)}\r\nx-api-key: look-alike \r\n\r\n`;
    return stand.head('POST', stand.target('/any', marker), [['Content-Length', String(body.length)]]) + body;
  });
  client.send(text.join(''));
  for (const marker of markers) {
    expect((await client.answer())?.status).toBe(201);
    stand.accept(marker);
  }
});

test('random bodies in random chunks and TCP segments arrive completely', { timeout: 60_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ minLength: 1, maxLength: 5_000 }),
      fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 1, max: 900 }),
      async (body, sizes, segment) => {
        const marker = stand.marker();
        const target = stand.target('/up', marker);
        const parts: Buffer[] = [latin1(stand.head('PUT', target, [['Transfer-Encoding', 'chunked']]))];
        for (let at = 0, turn = 0; at < body.length; turn += 1) {
          const size = Math.min(sizes[turn % sizes.length] ?? 1, body.length - at);
          parts.push(latin1(`${size.toString(16)}\r\n`), Buffer.from(body.subarray(at, at + size)), latin1('\r\n'));
          at += size;
        }
        const bytes = Buffer.concat([...parts, latin1('0\r\n\r\n')]);
        using client = await RawClient.connect(stand.port);
        for (let at = 0; at < bytes.length; at += segment) {
          client.send(bytes.subarray(at, at + segment));
          await new Promise(setImmediate);
        }
        expect(await client.answer()).toMatchObject({ status: 200, body: ALL_BYTES });
        stand.accept(marker);
        const seen = upstream.requests.find((request) => request.target === `/up?${marker}`);
        expect(sha(seen?.body ?? Buffer.alloc(0))).toBe(sha(body));
      },
    ),
    { numRuns: 60, seed: 32 },
  );
  await stand.verify();
});
