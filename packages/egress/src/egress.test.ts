import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createEgress, type EgressOptions } from './egress.ts';
import { rawResponse, askAndIdle, cleanUp, egressWith, get, resolving, upstreamWith } from './egress.testing.ts';
import { makeCertificate, startRawUpstream } from './raw-upstream.testing.ts';

describe('a valid upstream', () => {
  test('receives the request unchanged, except for hop-by-hop headers', async () => {
    const upstream = await upstreamWith((socket) => socket.end(rawResponse('ok')));
    const body = Uint8Array.from([0, 255, 237, 160, 128]);
    const result = await egressWith().request(
      get(upstream.port, {
        url: `http://127.0.0.1:${upstream.port}/a?q='<\u00e9>'`,
        method: 'POST',
        headers: [
          ['Host', 'gateway'],
          ['X-One', 'caf\u00e9'],
          ['x-one', 'two'],
          ['Connection', 'x-hop'],
          ['X-Hop', '1'],
          ['Expect', '100-continue'],
          ['Content-Length', '5'],
          ['Accept-Encoding', 'gzip'],
        ],
        body,
      }),
    );
    await buffer(result.body);
    expect(upstream.received()).toBe(
      [
        `POST /a?q='<\u00e9>' HTTP/1.1`,
        `host: 127.0.0.1:${upstream.port}`,
        'connection: keep-alive',
        'X-One: caf\u00e9',
        'x-one: two',
        'Accept-Encoding: gzip',
        'content-length: 5',
        '',
        '\u0000\u00ff\u00ed\u00a0\u0080',
      ].join('\r\n'),
    );
  });

  test('has its raw headers, body bytes and trailers passed through', async () => {
    const upstream = await upstreamWith(
      'HTTP/1.1 418 I am a teapot\r\nSet-Cookie: a=1\r\nX-L: \xe9\r\nset-cookie: b=2\r\nContent-Encoding: gzip\r\n' +
        'Transfer-Encoding: chunked\r\n\r\n3\r\n\x1f\x8b\xff\r\n0\r\nX-Sum: 9\r\n\r\n',
    );
    const result = await egressWith().request(get(upstream.port));
    expect(result).toMatchObject({ status: 418, statusText: 'I am a teapot' });
    expect(result.headers).toEqual([
      ['Set-Cookie', 'a=1'],
      ['X-L', '\u00e9'],
      ['set-cookie', 'b=2'],
      ['Content-Encoding', 'gzip'],
      ['Transfer-Encoding', 'chunked'],
    ]);
    expect(await buffer(result.body)).toEqual(Buffer.from([0x1f, 0x8b, 0xff]));
    expect(result.trailers()).toEqual([['X-Sum', '9']]);
  });

  test('receives consecutive requests over one connection', async () => {
    const upstream = await upstreamWith((socket) => socket.write(rawResponse('ok')));
    const egress = egressWith();
    for (let round = 0; round < 5; round += 1) await askAndIdle(egress, upstream);
    expect(upstream.connections()).toBe(1);
  });

  test('has connections for each namespace, so that one that waits for slow responses does not stop others', async () => {
    let isSilent = true;
    const upstream = await upstreamWith((socket) => {
      if (!isSilent) socket.end(rawResponse('ok'));
    });
    const egress = egressWith();
    const held = Array.from({ length: 300 }, () => egress.request(get(upstream.port, { namespace: 'team-a' })));
    void Promise.allSettled(held);
    await expect.poll(() => upstream.connections(), { timeout: 15_000 }).toBe(256);
    isSilent = false;
    const result = await egress.request(get(upstream.port, { namespace: 'team-b' }));
    await buffer(result.body);
    expect(upstream.received()).toContain(`\r\nhost: 127.0.0.1:${upstream.port}\r\n`);
    expect(upstream.received()).not.toContain('team-b');
  });

  test('has its redirects returned, not followed', async () => {
    const upstream = await upstreamWith(
      'HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n',
    );
    const result = await egressWith().request(get(upstream.port));
    expect(result.status).toBe(302);
    expect(result.headers[0]).toEqual(['location', 'http://169.254.169.254/']);
  });

  test.each(['204 No Content', '304 Not Modified'])(
    'loses the body and the connection if it sends a body with %s',
    async (status) => {
      const upstream = await upstreamWith((socket) =>
        socket.write(`HTTP/1.1 ${status}\r\ncontent-length: 4\r\n\r\nevil`),
      );
      const egress = egressWith();
      for (let round = 1; round <= 2; round += 1) {
        const result = await egress.request(get(upstream.port));
        expect(await buffer(result.body)).toHaveLength(0);
        expect(result.status).toBe(Number.parseInt(status, 10));
        expect(upstream.connections()).toBe(round);
      }
    },
  );

  test('may send early hints, large heads, and a response that ends with the connection', async () => {
    const large = 'x'.repeat(20_000);
    const upstream = await upstreamWith(
      `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nx-large: ${large}\r\n\r\nuntil the end`,
    );
    const result = await egressWith().request(get(upstream.port));
    expect(result.headers).toEqual([['x-large', large]]);
    expect((await buffer(result.body)).toString()).toBe('until the end');
  });

  // RFC 9110 section 15.2
  test.each([
    ['100', [100], ''],
    ['100 twice', [100, 100], ''],
    ['102, 100, 103 and 100', [102, 100, 103, 100], ''],
    ['100 after an empty line', [100], '\r\n'],
    ['100 and 100, each after two empty lines', [100, 100], '\n\r\n'],
  ])('may send an unasked %s before each response, in any pieces', async (_name, statuses, before) => {
    const interim = statuses.map((status) => `${before}HTTP/1.1 ${status} Wait\r\nx-a: 100\r\n\r\n`).join('');
    const text = interim + before + rawResponse('HTTP/1.1 100 ', 'x-status: HTTP/1.1 100 Continue\r\n');
    const upstream = await upstreamWith((socket, request) => {
      socket.setNoDelay();
      const pieceBytes = Number(/pieces=(\d+)/.exec(request)?.[1]);
      void (async () => {
        for (let at = 0; at < text.length; at += pieceBytes) {
          socket.write(text.slice(at, at + pieceBytes));
          await nextTurn();
        }
      })();
    });
    const egress = egressWith();
    for (const pieceBytes of [1, 7, 1_000]) {
      const url = `http://127.0.0.1:${upstream.port}/a?pieces=${pieceBytes}`;
      const { status, headers, body } = await egress.request(get(upstream.port, { url }));
      expect([status, headers[0], (await buffer(body)).toString()]).toEqual([
        200,
        ['x-status', 'HTTP/1.1 100 Continue'],
        'HTTP/1.1 100 ',
      ]);
      await nextTurn();
      await nextTurn();
    }
    expect(upstream.connections()).toBe(1);
  });

  test('may repeatedly send 2,000 header lines and 2,000 trailers', async () => {
    const lines = 'a:\r\n'.repeat(1_999);
    const upstream = await upstreamWith((socket) =>
      socket.write(
        `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n${lines}\r\n${'1\r\n\n\r\n'.repeat(5_000)}0\r\nb:\r\n${lines}\r\n`,
      ),
    );
    const egress = egressWith();
    for (let round = 0; round < 3; round += 1) {
      const result = await egress.request(get(upstream.port));
      expect(await buffer(result.body)).toHaveLength(5_000);
      expect([result.headers.length, result.trailers().length]).toEqual([2_000, 2_000]);
      await nextTurn();
      await nextTurn();
    }
    expect(upstream.connections()).toBe(1);
  });

  test('that allows idle connections for ten minutes has its connection closed after 15 seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    let closed = 0;
    const upstream = await upstreamWith((socket, _request, count) => {
      if (count === 1) socket.once('close', () => (closed += 1));
      socket.write(rawResponse('ok', 'keep-alive: timeout=600\r\n'));
    });
    const egress = egressWith();
    await askAndIdle(egress, upstream);
    vi.advanceTimersByTime(14_000);
    await askAndIdle(egress, upstream);
    expect([upstream.connections(), closed]).toEqual([1, 0]);
    vi.advanceTimersByTime(15_000);
    await expect.poll(() => closed).toBe(1);
  });

  // If chunks are not joined, each byte of a response to a slow caller takes 200 bytes of memory.
  test('has its one-byte chunks joined', async () => {
    const upstream = await upstreamWith(
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(50_000)}0\r\n\r\n`,
    );
    const { body } = await egressWith().request(get(upstream.port));
    let pieces = 0;
    let bytes = 0;
    body.on('data', (piece: Buffer) => {
      pieces += 1;
      bytes += piece.length;
    });
    await once(body, 'end');
    expect(bytes).toBe(50_000);
    expect(pieces).toBeLessThan(500);
  });

  test('is slowed down by a slow reader', async () => {
    let written = 0;
    const chunk = Buffer.alloc(64 * 1024);
    const upstream = await upstreamWith((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const pump = () => {
        while (written < 64 * 1024 * 1024 && !socket.destroyed) {
          written += chunk.length;
          if (!socket.write(chunk)) return void socket.once('drain', pump);
        }
        socket.end();
      };
      pump();
    });
    const result = await egressWith().request(get(upstream.port));
    let before = -1;
    while (before !== written) {
      before = written;
      await delay(100);
    }
    expect(written).toBeLessThan(16 * 1024 * 1024);
    let read = 0;
    for await (const part of result.body) read += (part as Buffer).length;
    expect(read).toBe(64 * 1024 * 1024);
  });

  test('that uses TLS must have a certificate from a trusted CA for the requested name', async () => {
    const { ca, cert, key } = await makeCertificate('api.example.test');
    const upstream = await startRawUpstream(rawResponse('secret'), { cert, key });
    cleanUp(() => upstream[Symbol.asyncDispose]());
    const request = (name: string, options: Partial<EgressOptions>) =>
      egressWith({ ...resolving('127.0.0.1'), ...options }).request(
        get(upstream.port, { url: `https://${name}:${upstream.port}/a` }),
      );
    expect((await buffer((await request('api.example.test', { ca })).body)).toString()).toBe('secret');
    await expect(request('api.example.test', {})).rejects.toMatchObject({ code: 'upstream_unreachable' });
    await expect(request('other.example.test', { ca })).rejects.toMatchObject({
      code: 'upstream_unreachable',
      message: expect.stringContaining('other.example.test') as string,
    });
  });
});

describe('the caller', () => {
  test('can abort while it waits for the response', async () => {
    const upstream = await upstreamWith(() => undefined);
    const abort = new AbortController();
    const waiting = egressWith().request(get(upstream.port, { signal: abort.signal }));
    await Promise.all([
      expect(waiting).rejects.toThrow('gone'),
      expect
        .poll(() => upstream.received())
        .not.toBe('')
        .then(() => abort.abort(new Error('gone'))),
    ]);
  });

  test('can abort during the response, which cuts the connection', async () => {
    const closed = Promise.withResolvers<unknown>();
    const upstream = await upstreamWith((socket) => {
      socket.once('close', closed.resolve);
      socket.write('HTTP/1.1 200 OK\r\n\r\nabc');
    });
    const abort = new AbortController();
    const result = await egressWith().request(get(upstream.port, { signal: abort.signal }));
    const reading = buffer(result.body);
    abort.abort(new Error('left'));
    await expect(reading).rejects.toThrow('left');
    await closed.promise;
  });

  test('can end all connections with close()', async () => {
    const upstream = await upstreamWith(() => undefined);
    const egress = createEgress({ policy: { allowPrivate: true, allow: [] } });
    const waiting = egress.request(get(upstream.port)).catch((error: unknown) => error);
    await expect.poll(() => upstream.received()).not.toBe('');
    await egress.close();
    expect(await waiting).toMatchObject({ name: 'EgressError' });
  });
});
