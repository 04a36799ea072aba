import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LIMITS, type Outcome } from '@standin/contract';
import { bodyAsBuffer } from '@standin/exchange';
import { ask, RawClient } from './raw-client.ts';
import { forward, json, Stand } from './stand.ts';
import { responseText, startUpstream, type Behavior, type Upstream } from './upstream.ts';

/**
 * Torture test 35: if an upstream misbehaves, the client gets a 502, a 504, or a response that is recognizably incomplete. The log
 * contains the exchange, and the gateway survives.
 */

let stand: Stand;
const upstreams: Upstream[] = [];
beforeAll(async () => {
  stand = await Stand.start({ env: { STANDIN_EGRESS_ALLOW_PRIVATE: 'true' } });
  await stand.publish({ slug: '/mock', action: json('alive') });
});
afterAll(async () => {
  await stand[Symbol.asyncDispose]();
  for (const upstream of upstreams) await upstream[Symbol.asyncDispose]();
});

let serial = 0;
/**
 * Publishes a new endpoint that forwards to `url`. Returns the bytes of a request to it and the marker of the request, and makes
 * `verify` expect the row.
 */
const forwardTo = async (url: string, timeoutMs = 5_000): Promise<{ marker: string; bytes: string }> => {
  serial += 1;
  const slug = `/up-${serial}`;
  await stand.publish({ slug, action: forward(url, { timeoutMs }) });
  const marker = stand.marker();
  stand.accept(marker);
  return { marker, bytes: stand.head('GET', stand.target(slug, marker)) };
};

const upstreamWith = async (behavior: Behavior | string): Promise<Upstream> => {
  const upstream = await startUpstream(behavior);
  upstreams.push(upstream);
  return upstream;
};

const errorCode = (body: Buffer): unknown => (JSON.parse(body.toString()) as { code: unknown }).code;

const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

describe('502 or 504 for an upstream that', () => {
  const cases: [string, Behavior | string, number, string, Outcome][] = [
    ['closes the connection immediately', (socket) => socket.end(), 502, 'upstream_unreachable', 'upstream_failed'],
    [
      'resets the connection immediately',
      (socket) => socket.resetAndDestroy(),
      502,
      'upstream_unreachable',
      'upstream_failed',
    ],
    [
      'resets within its head',
      (socket) => socket.write('HTTP/1.1 200 OK\r\nx-a', () => socket.resetAndDestroy()),
      502,
      'upstream_unreachable',
      'upstream_failed',
    ],
    ['is silent', () => undefined, 504, 'upstream_timeout', 'upstream_timeout'],
    [
      'sends its head byte by byte',
      (socket) => {
        const drip = setInterval(() => socket.write('x'), 50);
        socket.write('HTTP/1.1 200 OK\r\nx-a: ');
        socket.on('close', () => clearInterval(drip));
      },
      504,
      'upstream_timeout',
      'upstream_timeout',
    ],
    [
      'sends a head of 70 kB',
      `HTTP/1.1 200 OK\r\nx-a: ${'x'.repeat(70_000)}\r\n\r\n`,
      502,
      'upstream_invalid',
      'upstream_failed',
    ],
    [
      'sends length and coding',
      'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      502,
      'upstream_invalid',
      'upstream_failed',
    ],
    [
      'sends coding and length',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n',
      502,
      'upstream_invalid',
      'upstream_failed',
    ],
    [
      'sends two lengths',
      'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab',
      502,
      'upstream_invalid',
      'upstream_failed',
    ],
    ['sends status 600', 'HTTP/1.1 600 Odd\r\ncontent-length: 0\r\n\r\n', 502, 'upstream_invalid', 'upstream_failed'],
    ['sends status 999', 'HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n', 502, 'upstream_invalid', 'upstream_failed'],
    ['sends status 000', 'HTTP/1.1 000 Odd\r\ncontent-length: 0\r\n\r\n', 502, 'upstream_invalid', 'upstream_failed'],
    [
      'switches protocols',
      'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
      502,
      'upstream_invalid',
      'upstream_failed',
    ],
    ['speaks SMTP', '220 mail ESMTP\r\n', 502, 'upstream_invalid', 'upstream_failed'],
    [
      'speaks HTTP/2',
      '\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64\x00\x04',
      502,
      'upstream_invalid',
      'upstream_failed',
    ],
  ];
  test.each(cases)('%s', async (...[, behavior, status, code, outcome]) => {
    const upstream = await upstreamWith(behavior);
    const { marker, bytes } = await forwardTo(upstream.url, 700);
    const answer = await ask(stand.port, bytes);
    expect(answer?.status).toBe(status);
    expect(errorCode(answer?.body ?? Buffer.from('{}'))).toBe(code);
    expect(answer?.all('standin-rejected')).toEqual([]);
    const row = await stand.row(marker);
    expect(row).toMatchObject({ status, outcome, upstreamUrl: `${upstream.url}/?${marker}` });
    expect(row.upstreamError).not.toBe('');
    expect(bodyAsBuffer(row.response)).toEqual(answer?.body);
    expect(upstream.requests).toHaveLength(1);
  });

  test('refuses connections', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const { marker, bytes } = await forwardTo(`http://127.0.0.1:${port}`);
    const answer = await ask(stand.port, bytes);
    expect(answer?.status).toBe(502);
    expect(await stand.row(marker)).toMatchObject({ status: 502, outcome: 'upstream_failed' });
  });

  test('does not speak TLS', async () => {
    const server = createServer((socket) =>
      socket
        .on('error', () => undefined)
        .resume()
        .end(responseText('plain')),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const { marker, bytes } = await forwardTo(`https://127.0.0.1:${port}`);
    expect((await ask(stand.port, bytes))?.status).toBe(502);
    expect(await stand.row(marker)).toMatchObject({ status: 502, outcome: 'upstream_failed' });
    await new Promise((resolve) => server.close(resolve));
  });
});

describe('an incomplete response reaches the client as incomplete when it is truncated', () => {
  const reset: Behavior = (socket) =>
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc', () =>
      setTimeout(() => socket.resetAndDestroy(), 50),
    );
  const cases: [string, Behavior, Outcome][] = [
    ['by a reset', reset, 'upstream_failed'],
    ['by an early end', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc'), 'upstream_failed'],
    [
      'by a reset without a content length',
      (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\nabc', () => setTimeout(() => socket.resetAndDestroy(), 50)),
      'upstream_failed',
    ],
    ['in a chunk', (socket) => socket.end(`${CHUNKED}9\r\nabc`), 'upstream_failed'],
    ['before the last chunk', (socket) => socket.end(`${CHUNKED}3\r\nabc\r\n`), 'upstream_failed'],
    ['by an invalid chunk', (socket) => socket.write(`${CHUNKED}3\r\nabc\r\nxyz\r\n`), 'upstream_failed'],
    ['by a timeout', (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc'), 'upstream_timeout'],
  ];
  test.each(cases)('%s', async (_name, behavior, outcome) => {
    const upstream = await upstreamWith(behavior);
    const { marker, bytes } = await forwardTo(upstream.url, 700);
    using client = await RawClient.connect(stand.port);
    client.send(bytes);
    await client.closed();
    const text = client.pending.toString('latin1');
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    expect(text).toContain('abc');
    // Without a last chunk and without the full length, no client treats the response as complete.
    expect(text).not.toMatch(/0\r\n\r\n$/);
    const row = await stand.row(marker);
    expect(row).toMatchObject({ status: 200, outcome });
    expect(bodyAsBuffer(row.response).toString()).toBe('abc');
    expect(row.upstreamError).not.toBe('');
  });
});

describe('unusual but valid responses', () => {
  test('with 20 kB of headers are forwarded', async () => {
    const large = 'x'.repeat(20_000);
    const upstream = await upstreamWith(responseText('ok', `X-Large: ${large}\r\n`));
    const { marker, bytes } = await forwardTo(upstream.url);
    const answer = await ask(stand.port, bytes);
    expect(answer?.headers).toContainEqual(['X-Large', large]);
    expect((await stand.row(marker)).response.headers).toContainEqual(['X-Large', large]);
  });

  test.each([204, 304])(
    'with status %i and a body are forwarded without the body, and the connection stays open',
    async (status) => {
      const upstream = await upstreamWith(
        `HTTP/1.1 ${status} X\r\ncontent-length: 18\r\nx-a: b\r\n\r\nHTTP/1.1 200 OK\r\n\r\n`,
      );
      const { marker, bytes } = await forwardTo(upstream.url);
      const follower = stand.marker();
      using client = await RawClient.connect(stand.port);
      client.send(bytes + stand.head('GET', stand.target('/mock', follower)));
      expect(await client.answer()).toMatchObject({ status, body: Buffer.alloc(0) });
      expect(await client.answer()).toMatchObject({ status: 200, body: Buffer.from('alive') });
      stand.accept(follower);
      expect(await stand.row(marker)).toMatchObject({ status, outcome: 'forwarded' });
    },
  );

  test('after early hints are forwarded without the hints', async () => {
    const upstream = await upstreamWith(`HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${responseText('late')}`);
    const { bytes } = await forwardTo(upstream.url);
    expect(await ask(stand.port, bytes)).toMatchObject({ status: 200, body: Buffer.from('late') });
  });

  test('are forwarded unchanged: a redirect, an odd status text, extra bytes, invalid gzip', async () => {
    const head = 'Location: http://169.254.169.254/\r\nContent-Encoding: gzip\r\n';
    const upstream = await upstreamWith((socket) => {
      socket.write(
        `HTTP/1.1 302 Ganz woanders\r\n${head}content-length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nextra`,
      );
    });
    const { marker, bytes } = await forwardTo(upstream.url);
    const answer = await ask(stand.port, bytes);
    expect(answer).toMatchObject({ status: 302, body: Buffer.from('abc') });
    expect(answer?.all('location')).toEqual(['http://169.254.169.254/']);
    expect(await stand.row(marker)).toMatchObject({ status: 302, outcome: 'forwarded' });
  });

  test('with chunks, extensions and trailers are forwarded', async () => {
    const upstream = await upstreamWith(`${CHUNKED}3;a=b\r\nabc\r\n0\r\nX-Sum: 1\r\nx-sum: 2\r\n\r\n`);
    const { marker, bytes } = await forwardTo(upstream.url);
    expect(await ask(stand.port, bytes)).toMatchObject({ status: 200, body: Buffer.from('abc') });
    expect((await stand.row(marker)).response.trailers).toEqual([
      ['X-Sum', '1'],
      ['x-sum', '2'],
    ]);
  });

  test('with endless chunks stream until the client disconnects; 10 MiB are stored and marked as truncated', async () => {
    const block = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const upstream = await upstreamWith((socket) => {
      socket.write(CHUNKED);
      const pump = () => {
        while (!socket.destroyed && socket.write(block));
      };
      socket.on('drain', pump);
      pump();
    });
    const { marker, bytes } = await forwardTo(upstream.url);
    const client = await RawClient.connect(stand.port);
    client.socket.removeAllListeners('data');
    let read = 0;
    client.socket.on('data', (chunk: Buffer) => (read += chunk.length));
    client.send(bytes);
    await expect.poll(() => read, { timeout: 20_000 }).toBeGreaterThan(40 * 1024 * 1024);
    client[Symbol.dispose]();
    const row = await stand.row(marker);
    expect(row.response.truncated).toBe(true);
    expect(bodyAsBuffer(row.response)).toHaveLength(LIMITS.responseCaptureBytesMax);
    expect(row.response.bodyBytes).toBeGreaterThan(40 * 1024 * 1024);
    await expect.poll(() => upstream.open(), { timeout: 10_000 }).toBe(0);
  });

  test('of 50 MiB stream completely with constant memory', async () => {
    const total = 50 * 1024 * 1024;
    const block = Buffer.alloc(64 * 1024, 'y');
    const upstream = await upstreamWith((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${total}\r\n\r\n`);
      let left = total;
      const pump = () => {
        while (left > 0 && !socket.destroyed) {
          left -= block.length;
          if (!socket.write(block)) return void socket.once('drain', pump);
        }
      };
      pump();
    });
    const { marker, bytes } = await forwardTo(upstream.url);
    const answer = await ask(stand.port, bytes);
    expect(answer?.body).toHaveLength(total);
    expect((await stand.row(marker)).response).toMatchObject({ truncated: true, bodyBytes: total });
  });
});

test('the gateway survives, and the log contains each exchange once', async () => {
  await stand.verify();
  expect(stand.gateway.hasEnded).toBe(false);
  expect(stand.gateway.log().filter((line) => /unhandled|uncaught/i.test(line))).toEqual([]);
});
