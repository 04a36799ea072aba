import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { connectError } from './egress-error.ts';
import { cleanUp, egressWith, get, resolving, upstreamWith } from './egress.testing.ts';
import type { Script } from './raw-upstream.testing.ts';

describe('a bad upstream', () => {
  test.each([
    ['status 600', 'HTTP/1.1 600 Odd\r\ncontent-length: 0\r\n\r\n', /status 600/],
    ['status 000', 'HTTP/1.1 000 None\r\ncontent-length: 0\r\n\r\n', /not valid HTTP|status 0/],
    ['status 099', 'HTTP/1.1 099 None\r\ncontent-length: 0\r\n\r\n', /not valid HTTP|status 99/],
    [
      'content-length and transfer-encoding',
      'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      /not valid HTTP/,
    ],
    ['two content-lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab', /not valid HTTP/],
    [
      'an unrequested upgrade',
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
      /switched protocols \(101\)/,
    ],
    ['a head over 64 KiB', `HTTP/1.1 200 OK\r\nx-a: ${'x'.repeat(70_000)}\r\n\r\n`, /too large/],
    [
      'a head of 2,001 short lines',
      `HTTP/1.1 200 OK\r\n${'a:\r\n'.repeat(2_001)}\r\n`,
      /more than 2000 header or trailer lines/,
    ],
    ['something other than HTTP', '220 mail.example.test ESMTP\r\n\r\n', /not valid HTTP/],
    [
      'a control character in a header',
      'HTTP/1.1 200 OK\r\nx-a: b\x01c\r\ncontent-length: 0\r\n\r\n',
      /forbids|not valid HTTP/,
    ],
  ])('that sends %s fails as upstream_invalid', async (_name, text, message) => {
    const upstream = await upstreamWith(text);
    const error = await egressWith()
      .request(get(upstream.port))
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      name: 'EgressError',
      code: 'upstream_invalid',
      message: expect.stringMatching(message) as string,
    });
  });

  test.each([
    [
      'a body that is too short',
      (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc'),
      'upstream_invalid',
    ],
    [
      'half a chunk',
      (socket) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nabc'),
      'upstream_invalid',
    ],
    [
      'a bad chunk size',
      (socket) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n'),
      'upstream_invalid',
    ],
    [
      'a body and a reset',
      (socket) =>
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc', () =>
          setTimeout(() => socket.resetAndDestroy(), 50),
        ),
      'upstream_invalid',
    ],
    [
      'a body without length and a reset',
      (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\nabc', () => setTimeout(() => socket.resetAndDestroy(), 50)),
      'upstream_invalid',
    ],
    [
      'half a body and then nothing',
      (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc'),
      'upstream_timeout',
    ],
  ] satisfies [string, Script, string][])(
    'that sends %s makes the body fail after the received part',
    async (_name, script, code) => {
      const upstream = await upstreamWith(script);
      const result = await egressWith().request(get(upstream.port, { timeoutMs: 400 }));
      const seen: Buffer[] = [];
      const error = await (async () => {
        for await (const part of result.body) seen.push(part as Buffer);
      })().catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ name: 'EgressError', code });
      expect(Buffer.concat(seen).toString()).toBe('abc');
    },
  );

  test('that sends 2,001 trailers in one piece makes the body fail', async () => {
    const trailers = 'a:\r\n'.repeat(2_001);
    const upstream = await upstreamWith(
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n${trailers}\r\n`,
    );
    const { body } = await egressWith().request(get(upstream.port));
    await expect(buffer(body)).rejects.toMatchObject({ code: 'upstream_invalid' });
  });

  // Without a limit on the number of lines, an endless head, or endless trailers, takes 14 MB of memory per connection.
  test.each([
    ['a head', 'HTTP/1.1 200 OK\r\n'],
    ['a head after early hints', 'HTTP/1.1 103 Early Hints\r\na: b\r\n\r\nHTTP/1.1 200 OK\r\n'],
    ['trailers', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n'],
  ])('that sends %s of endless short lines is disconnected', async (_name, start) => {
    const closed = Promise.withResolvers<unknown>();
    const upstream = await upstreamWith((socket) => {
      socket.once('close', closed.resolve);
      socket.write(start + 'a:\r\n'.repeat(20_000));
    });
    const asking = egressWith()
      .request(get(upstream.port))
      .then(({ body }) => buffer(body));
    await expect(asking).rejects.toMatchObject({
      code: 'upstream_invalid',
      message: expect.stringContaining('more than 2000 header or trailer lines') as string,
    });
    await closed.promise;
  });

  test('that does not respond fails as upstream_timeout on time, and is disconnected', async () => {
    const upstream = await upstreamWith(() => undefined);
    const started = performance.now();
    await expect(egressWith().request(get(upstream.port, { timeoutMs: 200 }))).rejects.toMatchObject({
      code: 'upstream_timeout',
      message: 'The upstream did not respond within 200 ms.',
    });
    expect(performance.now() - started).toBeLessThan(1_000);
  });

  test('that refuses the connection fails as upstream_unreachable', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    await expect(egressWith().request(get(port))).rejects.toMatchObject({
      code: 'upstream_unreachable',
      message: `http://127.0.0.1:${port} refused the connection.`,
    });
  });

  test.each([
    ['EHOSTUNREACH', 'Could not connect to http://a.test: EHOSTUNREACH.'],
    ['EADDRNOTAVAIL', 'Could not connect to http://a.test: EADDRNOTAVAIL.'],
    ['ECONNREFUSED', 'http://a.test refused the connection.'],
    ['ETIMEDOUT', 'http://a.test did not accept a connection in time.'],
  ])('that fails with %s has no resolved addresses in its message, only in the log', (code, message) => {
    const text = `connect ${code} 10.0.0.7:80 - Local (10.1.2.3:41234)`;
    const error = Object.assign(new Error(text), { code, address: '10.0.0.7', port: 80 });
    for (const cause of [error, new AggregateError([error])])
      expect(connectError(cause, 'http://a.test')).toMatchObject({ message, detail: text });
  });

  test('is logged with its resolved address at intervals, but the message omits the address', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const logged: unknown[] = [];
    const logger = { info: (fields: object, message: string) => logged.push({ message, ...fields }) };
    const egress = egressWith({ ...resolving('127.0.0.1'), logger });
    const origin = `http://internal.test:${port}`;
    for (let round = 0; round < 3; round += 1)
      await expect(egress.request(get(0, { url: `${origin}/` }))).rejects.toMatchObject({
        message: `${origin} refused the connection.`,
      });
    expect(logged).toEqual([
      {
        message: 'upstream not connected',
        namespace: '',
        origin,
        code: 'upstream_unreachable',
        reason: `connect ECONNREFUSED 127.0.0.1:${port}`,
      },
    ]);
  });

  test('is not logged again because of the failures of another namespace', async () => {
    const logged: unknown[] = [];
    const logger = { info: (fields: object) => logged.push(fields) };
    const egress = egressWith({ ...resolving('169.254.169.254'), logger });
    const fail = (namespace: string, host: string): Promise<unknown> =>
      egress.request({ ...get(0, { url: `http://${host}.test/` }), namespace }).catch(() => undefined);
    await fail('quiet', 'orders');
    for (let failure = 0; failure < 1_100; failure += 1) await fail('noisy', `a${failure}`);
    await fail('quiet', 'orders');
    const ofQuiet = logged.filter((fields) => (fields as { namespace: string }).namespace === 'quiet');
    expect(ofQuiet).toMatchObject([{ origin: 'http://orders.test' }]);
  });

  test('that never finishes TLS fails as upstream_timeout after the connect timeout', async () => {
    const server = createServer((socket) => socket.on('error', () => undefined).resume()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanUp(() => new Promise((resolve) => server.close(resolve)));
    const { port } = server.address() as AddressInfo;
    await expect(
      egressWith({ connectTimeoutMs: 200 }).request(get(port, { url: `https://127.0.0.1:${port}/` })),
    ).rejects.toMatchObject({ code: 'upstream_timeout', message: expect.stringContaining('did not accept') as string });
  });

  test('whose name does not exist fails as upstream_unreachable', async () => {
    const lookup = () => Promise.reject(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }));
    await expect(egressWith({ lookup }).request(get(80, { url: 'http://nowhere.test/' }))).rejects.toMatchObject({
      code: 'upstream_unreachable',
      message: 'The host name in http://nowhere.test does not exist.',
    });
  });
});
