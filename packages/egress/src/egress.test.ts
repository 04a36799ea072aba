import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { createEgress, type Egress, type EgressOptions, type UpstreamRequest } from './egress.ts';
import { makeCertificate, startRawUpstream, type RawUpstream, type Script } from './raw-upstream.testing.ts';

const cleanups: (() => PromiseLike<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const egressWith = (options: Partial<EgressOptions> = {}): Egress => {
  const egress = createEgress({ policy: { allowPrivate: true, allow: [] }, ...options });
  cleanups.push(() => egress.close());
  return egress;
};

const upstreamWith = async (script: Script | string): Promise<RawUpstream> => {
  const upstream = await startRawUpstream(script);
  cleanups.push(() => upstream[Symbol.asyncDispose]());
  return upstream;
};

const get = (port: number, more: Partial<UpstreamRequest> = {}): UpstreamRequest => ({
  url: `http://127.0.0.1:${port}/a`,
  method: 'GET',
  headers: [],
  body: undefined,
  timeoutMs: 5_000,
  viaService: false,
  ...more,
});

/** undici takes a connection back a turn of the event loop after its answer. */
const askAndIdle = async (egress: Egress, upstream: RawUpstream): Promise<void> => {
  await buffer((await egress.request(get(upstream.port))).body);
  await nextTurn();
  await nextTurn();
};

const answer = (body: string, head = '') => `HTTP/1.1 200 OK\r\n${head}content-length: ${body.length}\r\n\r\n${body}`;

/** An egress that resolves every name to these addresses. */
const resolving = (...ips: string[]) => ({
  lookup: () => Promise.resolve(ips.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))),
});

describe('a good upstream', () => {
  test('gets the request as it was, without hop-by-hop headers', async () => {
    const upstream = await upstreamWith((socket) => socket.end(answer('ok')));
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

  test('is handed through: raw headers, bytes as sent, trailers', async () => {
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

  test('is asked over one connection again and again', async () => {
    const upstream = await upstreamWith((socket) => socket.write(answer('ok')));
    const egress = egressWith();
    for (let round = 0; round < 5; round += 1) await askAndIdle(egress, upstream);
    expect(upstream.connections()).toBe(1);
  });

  test('that redirects is not followed', async () => {
    const upstream = await upstreamWith(
      'HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n',
    );
    const result = await egressWith().request(get(upstream.port));
    expect(result.status).toBe(302);
    expect(result.headers[0]).toEqual(['location', 'http://169.254.169.254/']);
  });

  test.each(['204 No Content', '304 Not Modified'])(
    'that sends a body with %s loses the body, and the connection',
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

  test('may send early hints, large heads and answers that end with the connection', async () => {
    const large = 'x'.repeat(20_000);
    const upstream = await upstreamWith(
      `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nx-large: ${large}\r\n\r\nuntil the end`,
    );
    const result = await egressWith().request(get(upstream.port));
    expect(result.headers).toEqual([['x-large', large]]);
    expect((await buffer(result.body)).toString()).toBe('until the end');
  });

  test('is slowed down by a reader that does not read', async () => {
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

  test('over TLS must have a certificate of a trusted CA for the name that was asked', async () => {
    const { ca, cert, key } = await makeCertificate('api.example.test');
    const upstream = await startRawUpstream(answer('secret'), { cert, key });
    cleanups.push(() => upstream[Symbol.asyncDispose]());
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
    ['an unasked 100', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', /not valid HTTP/],
    [
      'an unasked upgrade',
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
      /not valid HTTP/,
    ],
    ['a head over 64 KiB', `HTTP/1.1 200 OK\r\nx-a: ${'x'.repeat(70_000)}\r\n\r\n`, /too large/],
    ['no HTTP at all', '220 mail.example.test ESMTP\r\n\r\n', /not valid HTTP/],
    [
      'a control character in a header',
      'HTTP/1.1 200 OK\r\nx-a: b\x01c\r\ncontent-length: 0\r\n\r\n',
      /forbids|not valid HTTP/,
    ],
  ])('that answers with %s: upstream_invalid', async (_name, text, message) => {
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
    ['too short a body', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc'), 'upstream_invalid'],
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
      'half a body and silence',
      (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc'),
      'upstream_timeout',
    ],
  ] satisfies [string, Script, string][])(
    'that answers with %s: the body fails after what came',
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

  test('that is silent: upstream_timeout on time, and the connection is cut', async () => {
    const upstream = await upstreamWith(() => undefined);
    const started = performance.now();
    await expect(egressWith().request(get(upstream.port, { timeoutMs: 200 }))).rejects.toMatchObject({
      code: 'upstream_timeout',
      message: 'The upstream did not answer within 200 ms.',
    });
    expect(performance.now() - started).toBeLessThan(1_000);
  });

  test('that refuses: upstream_unreachable', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    await expect(egressWith().request(get(port))).rejects.toMatchObject({
      code: 'upstream_unreachable',
      message: `http://127.0.0.1:${port} refused the connection.`,
    });
  });

  test('that never finishes TLS: upstream_timeout after the connect timeout', async () => {
    const server = createServer((socket) => socket.on('error', () => undefined).resume()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanups.push(() => new Promise((resolve) => server.close(resolve)));
    const { port } = server.address() as AddressInfo;
    await expect(
      egressWith({ connectTimeoutMs: 200 }).request(get(port, { url: `https://127.0.0.1:${port}/` })),
    ).rejects.toMatchObject({ code: 'upstream_timeout', message: expect.stringContaining('did not accept') as string });
  });

  test('whose name does not exist: upstream_unreachable', async () => {
    const lookup = () => Promise.reject(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }));
    await expect(egressWith({ lookup }).request(get(80, { url: 'http://nowhere.test/' }))).rejects.toMatchObject({
      code: 'upstream_unreachable',
      message: 'The name of http://nowhere.test does not exist.',
    });
  });
});

describe('an idle connection that the upstream closes as the next request is written', () => {
  /** Answers the first request; resets the connection when a second one comes on it. */
  const closesWhenReused = (): Script => {
    const used = new WeakSet();
    return (socket) => {
      if (used.has(socket)) socket.resetAndDestroy();
      else socket.write(answer('ok'));
      used.add(socket);
    };
  };

  test.each(['GET', 'PUT', 'DELETE'] as const)('%s is sent once more', async (method) => {
    const upstream = await upstreamWith(closesWhenReused());
    const egress = egressWith();
    await askAndIdle(egress, upstream);
    await buffer((await egress.request(get(upstream.port, { method }))).body);
    expect(upstream.connections()).toBe(2);
  });

  test.each(['POST', 'PATCH'] as const)('%s is not: it may have been acted on', async (method) => {
    const upstream = await upstreamWith(closesWhenReused());
    const egress = egressWith();
    await askAndIdle(egress, upstream);
    await expect(egress.request(get(upstream.port, { method }))).rejects.toMatchObject({
      code: 'upstream_unreachable',
    });
    expect(upstream.received().match(/ \/a HTTP/g)).toHaveLength(2);
  });

  test('a new connection that is reset is not tried again', async () => {
    const upstream = await upstreamWith((socket) => socket.resetAndDestroy());
    await expect(egressWith().request(get(upstream.port))).rejects.toMatchObject({ code: 'upstream_unreachable' });
    expect(upstream.connections()).toBe(1);
  });
});

describe('the address policy', () => {
  const cluster = { policy: { allowPrivate: false, allow: [] } };

  test.each([
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.1',
    '0177.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '0',
    'localhost',
  ])('the host %s is blocked before anything is dialled', async (host) => {
    const upstream = await upstreamWith(answer('secret'));
    await expect(
      egressWith(cluster).request(get(0, { url: `http://${host}:${upstream.port}/` })),
    ).rejects.toMatchObject({ code: 'upstream_blocked' });
    expect(upstream.connections()).toBe(0);
  });

  test.each([
    ['a loopback address', ['127.0.0.1']],
    ['public and private addresses mixed', ['93.184.216.34', '127.0.0.1']],
    ['a mapped address', ['::ffff:127.0.0.1']],
    ['metadata', ['169.254.169.254']],
  ])('a name that resolves to %s is blocked', async (_name, ips) => {
    const upstream = await upstreamWith(answer('secret'));
    await expect(
      egressWith({ ...cluster, ...resolving(...ips) }).request(get(0, { url: `http://a.test:${upstream.port}/` })),
    ).rejects.toMatchObject({
      code: 'upstream_blocked',
      message: expect.stringMatching(/^Not connected: a\.test resolves to /) as string,
    });
    expect(upstream.connections()).toBe(0);
  });

  test('rebinding: a name is looked up once for a connection, and again for the next', async () => {
    const upstream = await upstreamWith((socket) => socket.end(answer('ok')));
    const answers = ['127.0.0.1', '127.0.0.2'];
    const egress = egressWith({
      policy: { allowPrivate: false, allow: ['127.0.0.1/32'] },
      lookup: () => Promise.resolve([{ address: answers.shift() ?? '', family: 4 }]),
    });
    const request = get(0, { url: `http://rebind.test:${upstream.port}/` });
    await buffer((await egress.request(request)).body);
    expect(answers).toHaveLength(1);
    await expect(egress.request(request)).rejects.toMatchObject({ code: 'upstream_blocked' });
    expect(upstream.connections()).toBe(1);
  });

  test('a second address is tried when the first does not answer', async () => {
    const upstream = await upstreamWith(answer('ok'));
    const egress = egressWith(resolving('127.0.0.9', '127.0.0.1'));
    const result = await egress.request(get(0, { url: `http://two.test:${upstream.port}/` }));
    expect((await buffer(result.body)).toString()).toBe('ok');
  });

  test('a connection that a serviceRef made does not serve a URL', async () => {
    const upstream = await upstreamWith((socket) => socket.write(answer('ok')));
    const egress = egressWith({ policy: { allowPrivate: false, allow: ['127.0.0.1/32'] }, ...resolving('127.0.0.1') });
    const url = `http://orders.shop.svc:${upstream.port}/`;
    await buffer((await egress.request(get(0, { url, viaService: true }))).body);
    await buffer((await egress.request(get(0, { url, viaService: false }))).body);
    expect(upstream.connections()).toBe(2);
  });
});

describe('the caller', () => {
  test('can give up while it waits for the answer', async () => {
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

  test('can give up within the answer, which cuts the connection', async () => {
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

  test('ends all connections with close()', async () => {
    const upstream = await upstreamWith(() => undefined);
    const egress = createEgress({ policy: { allowPrivate: true, allow: [] } });
    const waiting = egress.request(get(upstream.port)).catch((error: unknown) => error);
    await expect.poll(() => upstream.received()).not.toBe('');
    await egress.close();
    expect(await waiting).toMatchObject({ name: 'EgressError' });
  });
});
