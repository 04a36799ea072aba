import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { apiClient, apiPath, RESPONSE_LIMITS, type ApiClient } from './api-client.ts';
import { openServer } from './connect.ts';

const RESPONSE_BYTES_MAX = 1024 * 1024;
const HEAD_MS_MAX = 500;

const serve = async (handle: RequestListener, token?: string) => {
  const server = createServer(handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `localhost:${(server.address() as AddressInfo).port}`;
  const address = { server: `http://${host}/behind/a/path/`, token };
  const client = openServer(address, { responseBytesMax: RESPONSE_BYTES_MAX, headMsMax: HEAD_MS_MAX }) as ApiClient;
  return {
    host,
    client,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, 'close');
    },
  };
};

const anything = z.looseObject({});

it('sends the token, and uses the path in the URL', async () => {
  const seen: unknown[] = [];
  await using server = await serve(({ url, headers: { authorization } }, response) => {
    seen.push([url, authorization]);
    response.end('{"a": 1}');
  }, 't');
  expect(await server.client.ask({ path: '/projects', query: { q: 'a&b', limit: undefined } }, anything)).toEqual({
    a: 1,
  });
  expect(seen).toEqual([['/behind/a/path/api/v1/projects?q=a%26b', 'Bearer t']]);
});

/** Serves only requests with the newest of these tokens. `found` are the ones that the client finds, one per call. */
const withTokens = async (given: string | undefined, found: readonly string[]) => {
  const left = [...found];
  const newest = found.at(-1);
  const seen: (string | undefined)[] = [];
  const server = createServer(({ headers: { authorization } }, response) => {
    seen.push(authorization);
    if (authorization === `Bearer ${newest}`) response.end('{}');
    else response.writeHead(401).end('{"code": "unauthorized", "detail": "The token has expired."}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = apiClient(new URL(`http://localhost:${(server.address() as AddressInfo).port}`), {
    given,
    findToken: found.length === 0 ? undefined : () => Promise.resolve(left.shift() ?? 'none'),
    limits: RESPONSE_LIMITS,
  });
  return { client, seen, close: () => server.close() };
};

it.each([
  ['that it found', undefined, ['new']],
  ['that it started with', 'old', ['new']],
] as const)('replaces a token %s when the server no longer accepts it', async (_, given, found) => {
  const { client, seen, close } = await withTokens(given, found);
  expect(await client.ask({ path: '/' }, anything)).toEqual({});
  const { lines } = await client.lines({ path: '/' });
  for await (const line of lines) expect(line).toBe('{}');
  expect(seen).toEqual([given && `Bearer ${given}`, 'Bearer new', 'Bearer new']);
  close();
});

it('replaces each token once, so that a server that accepts none is not asked for ever', async () => {
  const { client, seen, close } = await withTokens(undefined, ['old', 'older', 'new']);
  await expect(client.ask({ path: '/' }, anything)).rejects.toThrow('The token has expired.');
  await expect(client.ask({ path: '/' }, anything)).rejects.toThrow('The token has expired.');
  expect(await client.ask({ path: '/' }, anything)).toEqual({});
  expect(seen).toEqual([undefined, ...['old', 'old', 'older', 'older', 'new'].map((token) => `Bearer ${token}`)]);
  close();
});

it('does not replace a token that the user gave', async () => {
  const { client, seen, close } = await withTokens('given', []);
  await expect(client.ask({ path: '/' }, anything)).rejects.toThrow('The token has expired.');
  expect(seen).toEqual(['Bearer given']);
  close();
});

it('reports the server’s message, and whether a retry may help', async () => {
  await using server = await serve((_, response) => {
    response.writeHead(503).end('{"code": "log_unavailable", "detail": "ClickHouse is unavailable."}');
  });
  await expect(server.client.ask({ path: '/' }, anything)).rejects.toMatchObject({
    message: `${server.host}: ClickHouse is unavailable.`,
    code: 'log_unavailable',
    isPassing: true,
  });
});

it.each([200, 404])('reports a server that is not a dashboard and responds with %d', async (status) => {
  await using server = await serve((_, response) => response.writeHead(status).end('<html>'));
  await expect(server.client.ask({ path: '/' }, anything)).rejects.toThrow(/does not seem to be a Standin dashboard/);
});

it('times out if a server accepts the connection and sends nothing', async () => {
  await using server = await serve(({ socket }, response) => {
    response.on('close', () => socket.destroy());
  });
  await expect(server.client.ask({ path: '/' }, anything)).rejects.toMatchObject({
    message: `cannot reach ${server.host}: no response within 0.5 s. Check that this is the address of a Standin dashboard`,
    isPassing: true,
  });
});

it.each([
  ['a response', () => Promise.resolve(new Response('{}'))],
  ['a failure', () => Promise.reject(new Error('refused'))],
])('keeps no timer after %s, which would keep the command running', async (_, fetch) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const options = { given: undefined, findToken: undefined, limits: RESPONSE_LIMITS, fetch };
  await apiClient(new URL('http://localhost'), options)
    .ask({ path: '/' }, anything)
    .catch(() => undefined);
  expect(vi.getTimerCount()).toBe(0);
});

it('waits longer for the rest of a response that has begun', async () => {
  await using server = await serve((_, response) => {
    response.write('{"a":');
    setTimeout(() => response.end('1}'), 2 * HEAD_MS_MAX);
  });
  expect(await server.client.ask({ path: '/' }, anything)).toEqual({ a: 1 });
});

it('does not follow redirects', async () => {
  let asked = 0;
  await using server = await serve((_, response) => {
    asked += 1;
    response.writeHead(302, { location: '/elsewhere' }).end();
  }, 't');
  await expect(server.client.ask({ path: '/' }, anything)).rejects.toThrow(
    `cannot reach ${server.host}: unexpected redirect`,
  );
  expect(asked).toBe(1);
});

it('reads lines that arrive in parts, even split within a character', async () => {
  const bytes = Buffer.from('one\nzwölf\n\nlast');
  await using server = await serve((_, response) => {
    response.write(bytes.subarray(0, 7));
    setImmediate(() => response.end(bytes.subarray(7)));
  });
  const { lines } = await server.client.lines({ path: '/' });
  const found: string[] = [];
  for await (const line of lines) found.push(line);
  expect(found).toEqual(['one', 'zwölf', '', 'last']);
});

it('reports an interrupted response', async () => {
  await using server = await serve((_, response) => {
    response.write('one\ntw');
    setImmediate(() => response.destroy());
  });
  const read = async (): Promise<void> => {
    const { lines } = await server.client.lines({ path: '/' });
    for await (const line of lines) expect(line).toBe('one');
  };
  await expect(read()).rejects.toMatchObject({ status: 0, isPassing: true });
});

// Without a limit, a server could fill the CLI's memory with its response.
it.each([200, 403])('aborts an endless response with status %d', async (status) => {
  await using server = await serve((_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    let isLeft = false;
    response.on('close', () => (isLeft = true));
    const send = (): void => {
      while (!isLeft && response.write(Buffer.alloc(64 * 1024, 'a')));
    };
    response.on('drain', send);
    send();
  }, 't');
  const tooLong = `the response from ${server.host} is too large for a Standin dashboard`;
  await expect(server.client.ask({ path: '/' }, anything)).rejects.toThrow(tooLong);
  const readLine = async () => {
    const { lines } = await server.client.lines({ path: '/' });
    await lines[Symbol.asyncIterator]().next();
  };
  await expect(readLine()).rejects.toThrow(tooLong);
});

it.each(['', '.', '..'])('refuses the name %j in a path', (name) => {
  expect(() => apiPath('namespaces', name)).toThrow('is not a valid name');
});

it('encodes names', () => {
  expect(apiPath('namespaces', '../a b?')).toBe('/namespaces/..%2Fa%20b%3F');
});

it('accepts only URLs as the server', () => {
  expect(() => openServer({ server: 'localhost:3000' })).toThrow('--server must be a URL such as');
  expect(openServer({})).toBeUndefined();
});
