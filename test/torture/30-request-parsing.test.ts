import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setTimeout as delay } from 'node:timers/promises';
import { ask, RawClient } from './raw-client.ts';
import { forward, json, Stand } from './stand.ts';
import { responseText, startUpstream, type Upstream } from './upstream.ts';

/**
 * Torture test 30: the 33 cases of h1spec (https://github.com/uNetworking/h1spec) with our own bytes, and the kinds of request
 * smuggling that HTTP Garden collects (https://github.com/narfindustries/http-garden, TROPHIES.md).
 */

let stand: Stand;
let upstream: Upstream;
beforeAll(async () => {
  upstream = await startUpstream(responseText('from upstream'));
  stand = await Stand.start({ env: { STANDIN_EGRESS_ALLOW_PRIVATE: 'true' } });
  await stand.publish(
    { slug: '/hello', action: json('hello') },
    { slug: '/hello', method: 'POST', action: json('hello') },
    { slug: '/forward', action: forward(`${upstream.url}/forward`) },
    { slug: '/forward', method: 'POST', action: forward(`${upstream.url}/forward`) },
    { slug: '/smuggled', action: forward(`${upstream.url}/smuggled`) },
  );
});
afterAll(async () => {
  await stand[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

/** A wait that is long enough to see an unexpected response. */
const SILENCE_MS = 400;

describe('h1spec: an incomplete request', () => {
  // Each pattern matches the part of the request that is sent before the cut.
  const cuts: [string, RegExp][] = [
    ['method', /^G/],
    ['URL 1', /^GET /],
    ['URL 2', /^GET \/\w+/],
    ['URL 3', /^GET \S+ /],
    ['HTTP version', /^GET \S+ HTTP/],
    ['request line', /^GET \S+ HTTP\/1\.1/],
    ['request line newline 1', /^.*\r/],
    ['request line newline 2', /^.*\r\n/],
    ['field name', /^.*\r\nHos/],
    ['field value 1', /^.*\r\nHost:/],
    ['field value 2', /^.*\r\nHost: /],
    ['field value 3', /^.*\r\nHost: gateway/],
    ['field value 4', /^.*\r\nHost: gateway\r/],
    ['request', /^[^]*\r\n(?=\r\n)/],
    ['request termination', /^[^]*\r\n\r/],
  ];

  test.concurrent.each(cuts)('cut in its %s gets a response when the rest arrives', async (_name, cut) => {
    const marker = stand.marker();
    const whole = stand.head('GET', stand.target('/hello', marker));
    const first = cut.exec(whole)?.[0] ?? expect.fail('the cut does not match');
    using client = await RawClient.connect(stand.port);
    client.send(first);
    await delay(SILENCE_MS);
    expect(client.hasEnded).toBe(false);
    expect(client.pending).toHaveLength(0);
    client.send(whole.slice(first.length));
    expect(await client.answer()).toMatchObject({ status: 200 });
    stand.accept(marker);
  });
});

describe('h1spec: a complete request', () => {
  const withKey = (lines: string) => (key: string, target: string) =>
    lines.replaceAll('KEY', key).replaceAll('TARGET', target);
  const accepted: [string, string][] = [
    ['Expect header', 'GET TARGET HTTP/1.1\r\nHost: a\r\nx-api-key: KEY\r\nExpect: 100-continue\r\n\r\n'],
    ['valid GET', 'GET TARGET HTTP/1.1\r\nHost: a\r\nx-api-key: KEY\r\n\r\n'],
    ['valid GET with edge cases', 'GET TARGET HTTP/1.1\r\nhoSt:\ta\r\nx-api-key:KEY\r\nempty:\r\n\r\n'],
    ['empty header value', 'GET TARGET HTTP/1.1\r\nHost: a\r\nx-api-key: KEY\r\nX-Empty-Header: \r\n\r\n'],
    ['valid POST with body', 'POST TARGET HTTP/1.1\r\nHost: a\r\nx-api-key: KEY\r\nContent-Length: 5\r\n\r\nhello'],
    [
      'chunked',
      'POST TARGET HTTP/1.1\r\nHost: a\r\nx-api-key: KEY\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    ],
  ];
  test.each(accepted)('with %s gets 200', async (_name, lines) => {
    const marker = stand.marker();
    const answer = await ask(stand.port, withKey(lines)(stand.own.key, stand.target('/hello', marker)));
    expect(answer).toMatchObject({ status: 200, body: Buffer.from('hello') });
    stand.accept(marker);
  });

  const refused: [string, string][] = [
    ['no HTTP version', 'GET TARGET \r\n\r\n'],
    ['invalid header characters', 'GET TARGET HTTP/1.1\r\nHost: a\r\nx-api-key: KEY\r\nX-Invalid[]: test\r\n\r\n'],
    ['missing Host', 'GET TARGET HTTP/1.1\r\nx-api-key: KEY\r\nContent-Length: 5\r\n\r\nhello'],
    ['multiple Hosts', 'GET TARGET HTTP/1.1\r\nHost: a\r\nx-api-key: KEY\r\nHost: b\r\n\r\n'],
    [
      'overflowing negative Content-Length',
      'GET TARGET HTTP/1.1\r\nHost: a\r\nx-api-key: KEY\r\nContent-Length: -123456789123456789123456789\r\n\r\n',
    ],
    ['negative Content-Length', 'GET TARGET HTTP/1.1\r\nHost: a\r\nx-api-key: KEY\r\nContent-Length: -1234\r\n\r\n'],
    ['non-numeric Content-Length', 'GET TARGET HTTP/1.1\r\nHost: a\r\nx-api-key: KEY\r\nContent-Length: abc\r\n\r\n'],
    ['control character in a header', 'GET TARGET HTTP/1.1\r\nHost: a\r\nx-api-key: KEY\r\nX-Bad: test\x07\r\n\r\n'],
    ['invalid HTTP version', 'GET TARGET HTTP/9.9\r\nHost: a\r\nx-api-key: KEY\r\n\r\n'],
    ['invalid prefix', 'Extra lineGET TARGET HTTP/1.1\r\nHost: a\r\nx-api-key: KEY\r\n\r\n'],
    ['invalid line ending', 'GET TARGET HTTP/1.1\r\nHost: a\r\nx-api-key: KEY\r\n\rSome-Header: Test\r\n\r\n'],
    [
      'Transfer-Encoding and Content-Length',
      'GET TARGET HTTP/1.1\r\nHost: a\r\nx-api-key: KEY\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n',
    ],
  ];
  test.each(refused)('with %s gets 400 as a rejection', async (_name, lines) => {
    const answer = await ask(stand.port, withKey(lines)(stand.own.key, stand.target('/hello')));
    expect(answer?.status).toBe(400);
    expect(answer?.all('standin-rejected')).toHaveLength(1);
    expect(answer?.all('content-type')).toEqual(['application/problem+json']);
  });

  test('is one of 33 cases, all of which are covered', () => {
    expect(15 + accepted.length + refused.length).toBe(33);
  });
});

describe('request smuggling', () => {
  /** Returns a complete request to hide in or behind another request. The gateway must never treat it as a request. */
  const inner = (marker = stand.marker()) => stand.head('GET', stand.target('/smuggled', marker));
  type Payload = [name: string, headers: string, body: (smuggled: string) => string, method?: 'GET' | 'POST'];
  const chunked = 'Transfer-Encoding: chunked\r\n';
  const plain = (smuggled: string) => `0\r\n\r\n${smuggled}`;

  const refused: Payload[] = [
    ['chunk size with an underscore', chunked, (s) => `0_${s.length.toString(16)}\r\n${s}\r\n0\r\n\r\n`],
    ['chunk size with a plus', chunked, (s) => `+${s.length.toString(16)}\r\n${s}\r\n0\r\n\r\n`],
    ['chunk size with a minus', chunked, (s) => `-0\r\n\r\n${s}`],
    ['chunk size with 0x', chunked, (s) => `0x${s.length.toString(16)}\r\n${s}\r\n0\r\n\r\n`],
    ['chunk size after a space', chunked, (s) => ` 0\r\n\r\n${s}`],
    ['empty chunk size', chunked, (s) => `\r\n\r\n${s}`],
    ['chunk size that overflows 64 bits', chunked, (s) => `10000000000000000\r\n${s}\r\n0\r\n\r\n`],
    ['chunk size line that ends with LF', chunked, (s) => `0\n\n${s}`],
    ['chunk that ends with LF', chunked, (s) => `2\r\nab\n0\r\n\r\n${s}`],
    ['chunk longer than its size', chunked, (s) => `2\r\nabcd\r\n0\r\n\r\n${s}`],
    ['chunk extension with LF', chunked, (s) => `2;\nxx\r\n0\r\n\r\n${s}`],
    ['chunk extension with bare CR', chunked, (s) => `2;a\rb\r\nab\r\n0\r\n\r\n${s}`],
    ['trailer with LF', chunked, (s) => `0\r\nx: y\n\n${s}`],
    ['NUL and CR in a value', 'Header: v\x00\ralue\r\n', (s) => s],
    ['bare CR as the end of a line', 'Visible: a\rContent-Length: 5\r\n', (s) => s],
    ['bare LF as the end of a line', 'Visible: a\nContent-Length: 5\r\n', (s) => s],
    ['space before the colon', 'Content-Length : 34\r\n', (s) => s],
    ['space before the colon of Transfer-Encoding', 'Transfer-Encoding : chunked\r\n', plain],
    ['folded line', 'X-A: b\r\n\tContent-Length: 5\r\n', (s) => s],
    ['line that begins with a space', ' Content-Length: 5\r\n', (s) => s],
    ['empty header name', ': ignored\r\n', (s) => s],
    ['control characters in a header name', '\x01\x0b"(),/: a\r\n', (s) => s],
    ['byte above 127 in a header name', '\xefoo: bar\r\n', (s) => s],
    ['Content-Length +10', 'Content-Length: +10\r\n', (s) => s],
    ['Content-Length 1_0', 'Content-Length: 1_0\r\n', (s) => s],
    ['Content-Length 0x5', 'Content-Length: 0x5\r\n', (s) => s],
    ['Content-Length empty', 'Content-Length: \r\n', (s) => s],
    ['Content-Length 0,0', 'Content-Length: 0,0\r\n', (s) => s],
    ['Content-Length 5 6', 'Content-Length: 5 6\r\n', (s) => s],
    ['two equal Content-Lengths', 'Content-Length: 0\r\nContent-Length: 0\r\n', (s) => s],
    ['two different Content-Lengths', 'Content-Length: 0\r\nContent-Length: 5\r\n', (s) => s],
    ['coding before length', `${chunked}Content-Length: 6\r\n`, plain],
    ['length before coding', `content-LENGTH: 6\r\ntransfer-ENCODING: Chunked\r\n`, plain],
    ['coding xchunked', 'Transfer-Encoding: xchunked\r\n', plain],
    ['coding chunked, identity', 'Transfer-Encoding: chunked, identity\r\n', plain],
    ['coding identity', 'Transfer-Encoding: identity\r\n', plain],
    ['coding gzip, chunked', 'Transfer-Encoding: gzip, chunked\r\n', plain],
    ['coding with a vertical tab', 'Transfer-Encoding: \x0bchunked\r\n', plain],
    ['coding with no-break spaces', 'Transfer-Encoding: \xa0chunked\xa0\r\n', plain],
    ['coding with a parameter', 'Transfer-Encoding: chunked;a=b\r\n', plain],
    ['coding twice', `${chunked}${chunked}`, plain],
    ['coding twice, the second hidden', `${chunked}Transfer-Encoding: x\r\n`, plain],
  ];
  /** Maps the marker of each hidden request to the name of the payload that contains it. */
  const hidden = new Map<string, string>();

  test.concurrent.each(refused)('%s: is rejected, and the connection closes', async (name, headers, body) => {
    const marker = stand.marker();
    hidden.set(marker, name);
    const head = stand.head('POST', stand.target('/forward')).replace(/\r\n$/, `${headers}\r\n`);
    using client = await RawClient.connect(stand.port);
    client.send(head + body(inner(marker)));
    const answer = await client.answer();
    expect(answer?.status).toBe(400);
    expect(answer?.all('standin-rejected')).toHaveLength(1);
    await client.closed();
    expect(client.pending.toString('latin1')).toBe('');
  });

  // The gateway itself rejects these requests. Node's parser continues with the bytes that follow, so the gateway must close the
  // connection.
  test.concurrent.each([
    ['two Hosts', 'Host: gateway\r\nHost: b', 400],
    ['an unknown expectation', 'Host: gateway\r\nExpect: a miracle', 417],
    ['an invalid Host', 'Host: a/b', 400],
  ])('serves nothing after a request with %s and closes the connection', async (name, host, status) => {
    const marker = stand.marker();
    hidden.set(marker, name);
    const head = stand.head('POST', stand.target('/forward'), [['Content-Length', '2']]);
    using client = await RawClient.connect(stand.port);
    client.send(`${head.replace('Host: gateway', host)}ab${inner(marker)}`);
    expect((await client.answer())?.status).toBe(status);
    await client.closed();
    expect(client.pending.toString('latin1')).toBe('');
  });

  test('forwards none of these requests to the upstream', async () => {
    // The hidden requests were sent earlier, so the upstream would have received them before this request.
    const marker = stand.marker();
    expect(await ask(stand.port, stand.head('GET', stand.target('/forward', marker)))).toMatchObject({ status: 200 });
    stand.accept(marker);
    const reached = upstream.requests.map(({ target }) => hidden.get(target.replace(/^.*\?/, '')));
    expect(reached.filter((name) => name !== undefined)).toEqual([]);
    expect(upstream.requests.map(({ target }) => target)).toEqual([`/forward?${marker}`]);
    expect(upstream.leftovers()).toHaveLength(0);
  });

  const ordinary: Payload[] = [
    ['in a body with a length', 'Content-Length: LENGTH\r\n', (s) => s],
    ['in the body of a GET', 'Content-Length: LENGTH\r\n', (s) => s, 'GET'],
    ['in a chunk', chunked, (s) => `${s.length.toString(16)}\r\n${s}\r\n0\r\n\r\n`],
    ['in a chunk with an extension', chunked, (s) => `${s.length.toString(16)};a="b"\r\n${s}\r\n0\r\n\r\n`],
    [
      'behind a header that Connection lists for removal',
      'Connection: content-length, x-api-key\r\nContent-Length: LENGTH\r\n',
      (s) => s,
    ],
    [
      'behind an upper-case coding',
      'TRANSFER-ENCODING: CHUNKED\r\n',
      (s) => `${s.length.toString(16)}\r\n${s}\r\n0\r\n\r\n`,
    ],
  ];
  test.each(ordinary)(
    'treats a request %s as a body: the upstream gets one request',
    async (_name, headers, body, method = 'POST') => {
      const marker = stand.marker();
      const smuggled = inner();
      const head = stand
        .head(method, stand.target('/forward', marker))
        .replace(/\r\n$/, `${headers.replace('LENGTH', String(smuggled.length))}\r\n`);
      const before = upstream.requests.length;
      expect(await ask(stand.port, head + body(smuggled))).toMatchObject({ status: 200 });
      stand.accept(marker);
      expect(
        upstream.requests.slice(before).map(({ target, body: bytes }) => [target, bytes.toString('latin1')]),
      ).toEqual([[`/forward?${marker}`, smuggled]]);
      expect(upstream.leftovers()).toHaveLength(0);
    },
  );

  test('does not forward trailers that look like framing', async () => {
    const marker = stand.marker();
    const head = stand.head('POST', stand.target('/forward', marker)).replace(/\r\n$/, `${chunked}\r\n`);
    const before = upstream.requests.length;
    const answer = await ask(stand.port, `${head}2\r\nab\r\n0\r\nContent-Length: 50\r\nX-Sum: 1\r\n\r\n`);
    // Node's parser may reject framing headers in trailers. Otherwise, the gateway forwards one request with the real length.
    if (answer?.status === 200) stand.accept(marker);
    const seen = upstream.requests.slice(before);
    expect(seen.length).toBe(answer?.status === 200 ? 1 : 0);
    for (const { headers } of seen)
      expect(headers.filter(([name]) => /^content-length$/i.test(name))).toEqual([['content-length', '2']]);
  });

  test.each([
    ['HTTP/0.9', (target: string) => `GET ${target}\r\n\r\n`],
    ['an invalid version', (target: string) => `GET ${target} HTTP/\r\r1.1\r\n\r\n`],
    ['LF within the request line', (target: string) => `GET ${target}\nHTTP/1.1\r\n\r\n`],
    ['a method with a quote', (target: string) => `G="T ${target} HTTP/1.1\r\nHost: a\r\n\r\n`],
    ['the HTTP/2 preface', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['TLS bytes', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ])('rejects %s', async (_name, bytes) => {
    const answer = await ask(stand.port, bytes(stand.target('/forward')));
    expect(answer?.status).toBe(400);
  });
});

test('the log contains only the accepted requests', async () => {
  const rows = await stand.verify();
  expect(rows.filter(({ path }) => path === '/smuggled')).toEqual([]);
});
