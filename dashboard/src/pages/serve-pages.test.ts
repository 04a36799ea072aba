import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { networkSender } from '../sender.ts';
import { unreceivedBytes } from '../unreceived-bytes.ts';
import { eventStream } from './event-stream.ts';
import { FORM_LIMITS } from './form-body.ts';
import { startPages } from './pages-server.testing.ts';

const form = async ({ request }: { request: Request }): Promise<Response> =>
  Response.json([...(await request.formData())].length);
const text = async ({ request }: { request: Request }): Promise<Response> =>
  Response.json((await request.text()).length);
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const post = (url: string, body: string, headers: Record<string, string> = FORM): Promise<Response> =>
  fetch(url, { method: 'POST', body, headers });

describe('a form', () => {
  it.each([
    ['/login', FORM_LIMITS.smallBytesMax, '32 KiB'],
    ['/projects', FORM_LIMITS.bytesMax, '1 MiB'],
    ['/p/a/b/preview', FORM_LIMITS.objectBytesMax, '4.5 MiB'],
  ])('for %s can have up to %d bytes, and the error page states the limit', async (path, bytesMax, limit) => {
    for (const read of [form, text]) {
      await using pages = await startPages({ [path.slice(1)]: { action: read } });
      expect((await post(`${pages.url}${path}`, 'a'.repeat(bytesMax))).status).toBe(200);
      const refused = await post(`${pages.url}${path}`, 'a'.repeat(bytesMax + 1));
      expect(refused.status).toBe(413);
      const message = `It is larger than ${limit}. Shorten it and submit it again.`;
      expect(await refused.json()).toEqual({ kind: 'Refused', title: 'The form is too large', message });
    }
  });

  it('may have up to 2,000 fields', async () => {
    await using pages = await startPages({ projects: { action: form } });
    const fields = (count: number): string => Array.from({ length: count }, () => 'a=1').join('&');
    expect(await (await post(`${pages.url}/projects`, fields(2_000))).json()).toBe(2_000);
    expect((await post(`${pages.url}/projects`, fields(2_001))).status).toBe(413);
  });

  it.each([
    ['multipart/form-data; boundary=b', '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n--b--\r\n'],
    ['text/plain', 'a=1'],
    ['application/json', '{}'],
  ])('is refused with the type %s, including in a data request', async (type, body) => {
    await using pages = await startPages({ projects: { action: form } });
    for (const path of ['/projects', '/projects.data']) {
      const response = await post(`${pages.url}${path}`, body, { 'content-type': type });
      expect(response.status).toBe(415);
      expect(await response.text()).toContain('Send it as application/x-www-form-urlencoded.');
    }
  });

  it.each(['PUT', 'PATCH', 'DELETE'])('has the same limit in a %s request', async (method) => {
    await using pages = await startPages({ projects: { action: form } });
    const body = 'a'.repeat(FORM_LIMITS.bytesMax + 1);
    expect((await fetch(`${pages.url}/projects`, { method, body, headers: FORM })).status).toBe(413);
  });
});

it('refuses ?_data=, because Remix would log a warning each time', async () => {
  await using pages = await startPages({ projects: { loader: () => Response.json(1) } });
  for (const path of ['/projects?_data=root', '/projects?q=a&_data', '/projects.data?_data=x']) {
    const response = await fetch(`${pages.url}${path}`);
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('?_data=')]);
  }
});

it('serves the page and the data of an object whose name ends in .data', async () => {
  const loader = ({ params }: { params: object }): Response => Response.json(params);
  await using pages = await startPages({ 'endpoints/:endpoint': { loader: loader as never } });
  for (const end of ['', '.data']) {
    const response = await fetch(`${pages.url}/endpoints/orders%2Edata${end}`);
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('"orders.data"')]);
  }
});

const MIB = 1024 * 1024;
const ENDLESS_BYTES = 256 * MIB;
/** Returns a loader with an endless response, which ends only if a test fails, and the number of bytes read from it. */
const endless = () => {
  const state = { pulled: 0, isCancelled: false };
  const CHUNK = new Uint8Array(64 * 1024);
  const loader = (): Response =>
    new Response(
      new ReadableStream({
        pull: (controller) => {
          state.pulled += CHUNK.length;
          controller.enqueue(CHUNK);
          if (state.pulled >= ENDLESS_BYTES) controller.close();
        },
        cancel: () => void (state.isCancelled = true),
      }),
    );
  return { state, loader };
};

describe('a response', () => {
  it('is produced only as fast as it is read, and ends when the client disconnects', async () => {
    const { state, loader } = endless();
    await using pages = await startPages({ export: { loader } });
    const socket = connect(pages.port, '127.0.0.1').pause();
    socket.write('GET /export HTTP/1.1\r\nhost: x\r\n\r\n');
    await expect.poll(() => state.pulled, { timeout: 5_000 }).toBeGreaterThan(0);
    // The kernel's and Node's buffers fill up first. Without backpressure, the number of bytes read never stops growing.
    let before = -1;
    await expect
      .poll(() => state.pulled === before || ((before = state.pulled), false), { interval: 200, timeout: 10_000 })
      .toBe(true);
    expect(state.pulled).toBeLessThan(32 * 1024 * 1024);
    socket.destroy();
    await expect.poll(() => state.isCancelled).toBe(true);
    expect(pages.errors).toEqual([]);
  });

  // Larger than what the kernel keeps for a connection.
  const large = 'a'.repeat(16 * MIB);

  it.each([
    ['a page', '/list', { loader: () => ({ large }), default: () => null }],
    ['the data of a page', '/list.data', { loader: () => ({ large }), default: () => null }],
    ['JSON', '/list', { loader: () => Response.json({ large }) }],
  ])(
    'needs nothing that was read for it once it is encoded, even if its client is slow (%s)',
    async (_, path, list) => {
      const encoded = Promise.withResolvers<undefined>();
      await using pages = await startPages(
        { list },
        {
          holderFor: (_request, response) => {
            const { signal } = networkSender('192.0.2.1', response);
            signal.addEventListener('abort', () => encoded.resolve(undefined));
            return 'ada';
          },
        },
      );
      const socket = connect(pages.port, '127.0.0.1').pause();
      socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
      await encoded.promise;
      socket.destroy();
    },
  );

  it('that is large is refused if its user has used up their share of what clients have not received', async () => {
    await using pages = await startPages(
      { list: { loader: () => ({ large }), default: () => null }, small: { loader: () => 1, default: () => null } },
      {
        holderFor: ({ headers }) => String(headers['x-user']),
        unreceived: unreceivedBytes({ bytesMax: 4 * large.length }),
      },
    );
    const statusFor = async (user: string, page = 'list'): Promise<number> => {
      const response = await fetch(`${pages.url}/${page}`, { headers: { 'x-user': user } });
      await response.body?.cancel();
      return response.status;
    };
    const slow = Array.from({ length: 3 }, () =>
      connect(pages.port, '127.0.0.1')
        .on('error', () => undefined)
        .pause(),
    );
    for (const socket of slow) socket.write('GET /list HTTP/1.1\r\nhost: x\r\nx-user: ada\r\n\r\n');
    await expect.poll(() => statusFor('ada')).toBe(503);
    // Needs no share, so that slow clients of an address cannot prevent a sign-in.
    expect(await statusFor('ada', 'small')).toBe(200);
    expect(await statusFor('bob')).toBe(200);
    for (const socket of slow) socket.destroy();
    await expect.poll(() => statusFor('ada')).toBe(200);
    expect(pages.errors).toEqual([]);
  });

  it('with events ends if its client does not read, and nothing of it stays in memory', async () => {
    const ended = Promise.withResolvers<undefined>();
    const release = vi.fn();
    const loader = ({ request }: { request: Request }) =>
      eventStream(
        {
          request,
          context: { stopping: new AbortController().signal, openStream: () => Promise.resolve({ release }) },
        },
        (sink, signal) => {
          const timer = setInterval(() => sink.send('rows', large.slice(0, MIB)), 1);
          signal.addEventListener('abort', () => {
            clearInterval(timer);
            ended.resolve(undefined);
          });
        },
      );
    const closed = Promise.withResolvers<undefined>();
    await using pages = await startPages(
      { events: { loader } },
      {
        holderFor: (_, response) => {
          response.once('close', () => closed.resolve(undefined));
          return 'ada';
        },
      },
    );
    const socket = connect(pages.port, '127.0.0.1').pause();
    socket.write('GET /events HTTP/1.1\r\nhost: x\r\n\r\n');
    await ended.promise;
    await closed.promise;
    expect(release).toHaveBeenCalledTimes(1);
    expect(pages.errors).toEqual([]);
    socket.destroy();
  });

  it('to a user is begun in turn, however many requests another user has sent', async () => {
    const begun: string[] = [];
    const loader = ({ request }: { request: Request }): null => {
      begun.push(request.headers.get('x-user') ?? '');
      return null;
    };
    await using pages = await startPages(
      { list: { loader, default: () => null } },
      { holderFor: ({ headers }) => String(headers['x-user']) },
    );
    const users = [...Array.from({ length: 50 }, () => 'flood'), 'ada'];
    const connections = users.map((user) => ({ user, socket: connect(pages.port, '127.0.0.1') }));
    const request = (): void => {
      for (const { user, socket } of connections)
        socket.write(`GET /list HTTP/1.1\r\nhost: x\r\nx-user: ${user}\r\n\r\n`);
    };
    // The server accepts one connection in a turn of the event loop. It then receives the second requests together.
    request();
    await Promise.all(connections.map(({ socket }) => once(socket, 'data')));
    begun.length = 0;
    request();
    await expect.poll(() => begun).toHaveLength(users.length);
    expect(begun.indexOf('ada')).toBeLessThan(10);
    for (const { socket } of connections) socket.destroy();
  });

  it('is not buffered for a data request if it is not JSON', async () => {
    const { state, loader } = endless();
    await using pages = await startPages({ export: { loader } });
    const response = await fetch(`${pages.url}/export.data`);
    expect(response.status).toBe(406);
    await response.text();
    expect(state.isCancelled).toBe(true);
  });

  it('to a HEAD request aborts the route’s work', async () => {
    const aborted = Promise.withResolvers<unknown>();
    const loader = ({ request }: { request: Request }): Response => {
      request.signal.addEventListener('abort', aborted.resolve);
      return new Response(new ReadableStream());
    };
    await using pages = await startPages({ events: { loader } });
    const socket = connect(pages.port, '127.0.0.1');
    socket.write('HEAD /events HTTP/1.1\r\nhost: x\r\n\r\n');
    const [head] = (await once(socket, 'data')) as [Buffer];
    expect(head.toString()).toMatch(/^HTTP\/1\.1 200/);
    await aborted.promise;
    socket.destroy();
  });

  it.each(['http://y/', '*'])('has status 400 for the target "%s"', async (target) => {
    await using pages = await startPages({ projects: {} });
    const socket = connect(pages.port, '127.0.0.1');
    socket.write(`OPTIONS ${target} HTTP/1.1\r\nhost: x\r\n\r\n`);
    const [head] = (await once(socket, 'data')) as [Buffer];
    expect(head.toString()).toMatch(/^HTTP\/1\.1 400/);
    socket.destroy();
  });

  it.each(['TRACE /projects', 'GET /projects/%', 'GET /projects/%ff'])(
    'to "%s" writes nothing to the log',
    async (line) => {
      const warn = vi.spyOn(console, 'warn');
      await using pages = await startPages({ projects: {}, 'projects/:name': {} });
      const socket = connect(pages.port, '127.0.0.1');
      socket.write(`${line} HTTP/1.1\r\nhost: x\r\n\r\n`);
      const [head] = (await once(socket, 'data')) as [Buffer];
      expect(head.toString()).toMatch(/^HTTP\/1\.1 400/);
      socket.destroy();
      expect(warn).not.toHaveBeenCalled();
      warn.mockRestore();
    },
  );
});
