import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { ReadableStream } from 'node:stream/web';
import { SourceError, type SourceErrorKind } from '@standin/contract';
import { LogStoreError } from '@standin/logstore';
import { describe, expect, it, test, vi } from 'vitest';
import type { Backend, ProjectLog } from '../backend.ts';
import type { Sender } from '../sender.ts';
import { backendWith, startApiServer, SUMMARY } from './api-server.testing.ts';
import { API_LIMITS } from './parameters.ts';

const unavailable = (code = 'ECONNREFUSED'): LogStoreError =>
  new LogStoreError(`Could not list the log: connect 10.0.0.7:8123 secret`, {
    kind: 'retryable',
    code,
  });

const fetchProblem = async (url: string, init: RequestInit = {}) => {
  const response = await fetch(url, init);
  return { headers: response.headers, body: (await response.json()) as Record<string, unknown> };
};

describe('a caller', () => {
  it('gets 401 without a token', async () => {
    await using api = await startApiServer(() => Promise.resolve(undefined));
    const { headers, body } = await fetchProblem(`${api.url}/projects`);
    expect(body).toMatchObject({ status: 401, code: 'unauthorized' });
    expect(headers.get('www-authenticate')).toBe('Bearer');
  });

  it('receives the name of the Service only through a port-forward', async () => {
    await using api = await startApiServer(() => Promise.resolve(undefined), 'standin/standin-dashboard');
    const serviceFor = async (host: string): Promise<unknown> => {
      const [response] = (await once(get(`${api.url}/projects`, { headers: { host } }), 'response')) as [
        IncomingMessage,
      ];
      response.resume();
      expect(response.statusCode).toBe(401);
      return response.headers['standin-service'];
    };
    expect(await serviceFor('localhost:3000')).toBe('standin/standin-dashboard');
    expect(await serviceFor('standin.example.com')).toBeUndefined();
  });

  it('is not identified by a cookie', async () => {
    const seen: unknown[] = [];
    await using api = await startApiServer(({ headers }) => {
      seen.push([headers.authorization, headers.cookie]);
      return Promise.resolve(backendWith({}));
    });
    const headers = { authorization: 'Bearer t', cookie: 'session=1', origin: 'https://tests.example' };
    expect((await fetch(`${api.url}/projects`, { headers })).status).toBe(200);
    expect(seen).toEqual([['Bearer t', undefined]]);
  });

  it('gets the OpenAPI document without a token', async () => {
    await using api = await startApiServer(() => Promise.resolve(undefined));
    expect(await (await fetch(`${api.url}/openapi.json`)).json()).toMatchObject({ openapi: '3.1.1' });
  });
});

describe('a failure', () => {
  test.each<[SourceErrorKind, number, string]>([
    ['Forbidden', 403, 'forbidden'],
    ['Unauthorized', 401, 'unauthorized'],
    ['Unavailable', 503, 'resources_unavailable'],
  ])('to read resources (%s) has status %d', async (kind, status, code) => {
    const list = () => Promise.reject(new SourceError(kind, 'the reason of the API server'));
    await using api = await startApiServer(() => Promise.resolve(backendWith({}, { list })));
    const { headers, body } = await fetchProblem(`${api.url}/projects`);
    expect(body).toMatchObject({ status, code, detail: 'the reason of the API server' });
    expect(headers.has('retry-after')).toBe(status === 503);
  });

  test.each([
    ['ECONNREFUSED', 503, 'log_unavailable'],
    ['159', 422, 'search_too_slow'],
  ])('to read the log (%s) has status %d, without the log’s message', async (errorCode, status, code) => {
    await using api = await startApiServer(() =>
      Promise.resolve(backendWith({ count: () => Promise.reject(unavailable(errorCode)) })),
    );
    const { body } = await fetchProblem(`${api.shop}/requests:count`);
    expect(body).toMatchObject({ status, code });
    expect(JSON.stringify(body)).not.toContain('secret');
  });

  it('is logged if it is unexpected, and the response contains no details', async () => {
    const list = () => Promise.reject(new TypeError('secret is undefined'));
    await using api = await startApiServer(() => Promise.resolve(backendWith({}, { list })));
    const { body } = await fetchProblem(`${api.url}/projects`);
    expect(body).toMatchObject({ status: 500, code: 'internal' });
    expect(JSON.stringify(body)).not.toContain('secret');
    expect(api.failures()).toBe(1);
  });

  it('has none of the headers of the list that failed', async () => {
    const log = {
      summaries: () => Promise.resolve([SUMMARY]),
      entries: async function* () {
        yield await Promise.reject(unavailable());
      },
    };
    await using api = await startApiServer(() => Promise.resolve(backendWith(log)));
    const response = await fetch(`${api.shop}/requests?limit=1`, { headers: { accept: 'application/x-ndjson' } });
    expect(response.status).toBe(503);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(response.headers.has('standin-next-cursor')).toBe(false);
  });

  it('cuts off a partial response so that it does not look complete', async () => {
    const log = {
      summaries: () => Promise.resolve([SUMMARY]),
      entries: async function* () {
        yield SUMMARY as never;
        await Promise.reject(unavailable());
      },
    };
    await using api = await startApiServer(() => Promise.resolve(backendWith(log)));
    await expect(fetch(`${api.shop}/requests`).then((response) => response.json())).rejects.toThrow(TypeError);
  });
});

describe('a client that does not read', () => {
  /** Sends a request whose response is not received. Returns whether what was read for it is still needed after a while. */
  const isNeeded = async (path: string, backend: Backend): Promise<boolean> => {
    const senders: Sender[] = [];
    await using api = await startApiServer((_, sender) => {
      senders.push(sender);
      return Promise.resolve(backend);
    });
    const reading = get(`${api.url}${path}`);
    const [response] = (await once(reading, 'response')) as [IncomingMessage];
    await once(response, 'readable');
    await new Promise((resolve) => setTimeout(resolve, 50));
    const isAborted = senders[0]?.signal.aborted === true;
    reading.on('error', () => undefined).destroy();
    return !isAborted;
  };

  it('occupies nothing that others wait for once its list is encoded', async () => {
    const name = 'a'.repeat(1_000);
    const list = () =>
      Promise.resolve(
        Array.from({ length: 20_000 }, () => ({ metadata: { name, namespace: 'a', uid: 'u' }, spec: {} })),
      );
    const backend = backendWith({}, { list: list as unknown as Backend['resources']['list'] });
    expect(await isNeeded('/endpoints', backend)).toBe(false);
  });

  it('uses the memory of its captured request until it has received it', async () => {
    const entry = { ...SUMMARY, request: { body: 'a'.repeat(20 * 1024 * 1024) } };
    const backend = backendWith({ get: () => Promise.resolve(entry as never) });
    expect(await isNeeded('/namespaces/default/projects/shop/requests/a', backend)).toBe(true);
  });
});

it('a request is begun in turn, however many requests another address has sent', async () => {
  const begun: string[] = [];
  await using api = await startApiServer(({ headers }) => {
    begun.push(String(headers['x-forwarded-for']));
    return Promise.resolve(undefined);
  });
  const [flood, other] = ['192.0.2.1', '192.0.2.2'];
  const agent = new Agent({ keepAlive: true, maxSockets: 51 });
  const responses = () =>
    [...Array.from({ length: 50 }, () => flood), other].map(async (address) => {
      const [response] = (await once(
        get(`${api.url}/projects`, { agent, headers: { 'x-forwarded-for': address } }),
        'response',
      )) as [IncomingMessage];
      await response.resume().toArray();
    });
  // The server accepts one connection in a turn of the event loop. It then receives the second requests together.
  await Promise.all(responses());
  begun.length = 0;
  await Promise.all(responses());
  expect(begun).toHaveLength(51);
  expect(begun.indexOf(other)).toBeLessThan(10);
  agent.destroy();
});

it('a removed project’s log remains available in local mode only', async () => {
  const backend = backendWith({});
  const summaries = () => Promise.resolve([SUMMARY]);
  const local = {
    ...backend,
    logs: {
      ...backend.logs,
      openByName: async ({ name }: { readonly name: string }) =>
        name === 'removed' ? { ...(await backend.logs.open({ namespace: '', name, uid: 'u' })), summaries } : undefined,
    },
  };
  for (const [served, name, status] of [
    [local, 'removed', 200],
    [local, 'never', 404],
    [backend, 'removed', 404],
  ] as const) {
    await using api = await startApiServer(() => Promise.resolve(served));
    const response = await fetch(`${api.url}/namespaces/default/projects/${name}/requests?view=summary`);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject(
      status === 200 ? { items: [{ id: SUMMARY.id }] } : { code: 'project_not_found' },
    );
  }
});

it('an empty log is an empty list, not an error', async () => {
  await using api = await startApiServer(() => Promise.resolve(backendWith({})));
  expect(await (await fetch(`${api.shop}/requests`)).json()).toEqual({ items: [] });
});

describe('a body', () => {
  it('is refused if it exceeds 1 MiB, with a Content-Length or in chunks, and the client receives the reason', async () => {
    await using api = await startApiServer(() => Promise.resolve(backendWith({})));
    const json = Buffer.from(JSON.stringify({ note: 'a'.repeat(API_LIMITS.bodyBytesMax) }));
    for (const body of [json, ReadableStream.from([json])]) {
      const init = { method: 'POST', body, duplex: 'half', headers: { 'content-type': 'application/json' } };
      const problem = await fetchProblem(`${api.shop}/replays`, init as RequestInit);
      expect(problem.body).toMatchObject({ status: 413, code: 'body_too_large' });
    }
  });
});

describe('waits and streams', () => {
  it('are limited in number, and a new one is accepted when another ends', async () => {
    await using api = await startApiServer(() => Promise.resolve(backendWith({})));
    const leave = new AbortController();
    // The share of one user.
    const open = Array.from({ length: API_LIMITS.readersMax / 2 }, () =>
      fetch(`${api.shop}/requests:stream`, { signal: leave.signal }),
    );
    await Promise.all(open);
    const { headers, body } = await fetchProblem(`${api.shop}/requests:wait`);
    expect(body).toMatchObject({ status: 429, code: 'too_many_readers' });
    expect(headers.get('retry-after')).toBe('5');
    const wait = `${api.shop}/requests:wait?timeout=0s`;
    // The name of another namespace is no way to use up the share of its users.
    expect((await fetch(wait.replace(/namespaces\/[^/]+/, 'namespaces/other'))).status).toBe(429);
    expect((await fetch(wait, { headers: { authorization: 'Bearer bob' } })).status).toBe(408);
    leave.abort();
    await expect.poll(async () => (await fetch(wait)).status).toBe(408);
  });

  // A response with a thousand requests of 10 MiB each would not fit in memory.
  it.each([
    [200, 2],
    [408, 3],
  ])('write one exchange at a time: %d', async (status, count) => {
    const { promise: isBegun, resolve: begin } = Promise.withResolvers<undefined>();
    const log = {
      summaries: () => Promise.resolve([SUMMARY, { ...SUMMARY, id: 'second' }]),
      entries: async function* () {
        yield SUMMARY as never;
        await isBegun;
        yield SUMMARY as never;
      },
    };
    await using api = await startApiServer(() => Promise.resolve(backendWith(log)));
    const response = await fetch(`${api.shop}/requests:wait?count=${count}&timeout=0s`);
    begin(undefined);
    expect(response.status).toBe(status);
    const body = (await response.json()) as { items: unknown[]; code?: string };
    expect(body.items).toHaveLength(2);
    expect(body.code).toBe(status === 408 ? 'wait_timeout' : undefined);
  });

  it('end when the dashboard stops', async () => {
    await using api = await startApiServer(() => Promise.resolve(backendWith({})));
    const waits = ['timeout=50s', 'timeout=50s&max=0', 'timeout=50s&max=0&settled=false'];
    const calls = [
      ...waits.map((query) => fetch(`${api.shop}/requests:wait?${query}`)),
      ...[{ nothingElse: true }, { expectations: [{ q: '' }] }].map((assertion) =>
        fetch(`${api.shop}/requests:assert`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ ...assertion, timeout: '50s' }),
        }),
      ),
    ];
    const stream = await fetch(`${api.shop}/requests:stream`);
    api.stop();
    expect(await stream.text()).toMatch(/^retry: \d+\nid: \d+\.0\n\n$/);
    for (const response of await Promise.all(calls)) {
      const problem: unknown = await response.json();
      expect(problem).toMatchObject({ status: 503, code: 'resources_unavailable' });
    }
    expect(api.failures()).toBe(0);
  });

  it('report an unavailable log, and continue when it is available again', async () => {
    let polls = 0;
    const summaries = () => {
      polls += 1;
      return polls === 1 ? Promise.reject(unavailable()) : Promise.resolve([SUMMARY]);
    };
    await using api = await startApiServer(() => Promise.resolve(backendWith({ summaries })));
    const stream = await fetch(`${api.shop}/requests:stream?view=summary&from=2026-11-21T00:00:00Z`);
    const reader = stream.body?.getReader();
    let text = '';
    while (!/^id: \d+\.1000$/m.test(text)) text += Buffer.from((await reader?.read())?.value ?? []).toString('utf8');
    expect([...text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type)).toEqual(['problem', 'request']);
    expect(text).not.toContain('secret');
  });

  it('refuse an invalid position', async () => {
    await using api = await startApiServer(() => Promise.resolve(backendWith({})));
    const { body } = await fetchProblem(`${api.shop}/requests:stream`, { headers: { 'last-event-id': 'x' } });
    expect(body).toMatchObject({ code: 'parameter_invalid', errors: [{ name: 'last-event-id' }] });
  });
});

test('the reads of a client that leaves are aborted, and are no failure', async () => {
  const aborted = vi.fn();
  const reading = Promise.withResolvers<undefined>();
  await using api = await startApiServer((_, { signal }) => {
    const list = () =>
      new Promise<never>((__, reject) => {
        signal.addEventListener('abort', () => {
          aborted();
          reject(signal.reason as Error);
        });
        reading.resolve(undefined);
      });
    return Promise.resolve(backendWith({}, { list }));
  });
  const leaving = new AbortController();
  const left = fetch(`${api.url}/projects`, { signal: leaving.signal }).catch(() => undefined);
  await reading.promise;
  leaving.abort();
  await left;
  await expect.poll(() => aborted.mock.calls).toHaveLength(1);
  await fetch(`${api.url}/openapi.json`);
  expect(api.failures()).toBe(0);
});

it('a wait for requests after another one does not hold its bodies', async () => {
  const previews: unknown[] = [];
  const preview: ProjectLog['preview'] = (id, bodyBytesMax) => {
    previews.push([id, bodyBytesMax]);
    return Promise.resolve(undefined);
  };
  await using api = await startApiServer(() => Promise.resolve(backendWith({ preview })));
  const { body } = await fetchProblem(`${api.shop}/requests:wait?after=${SUMMARY.id}`);
  expect(body).toMatchObject({ code: 'request_not_found' });
  expect(previews).toEqual([[SUMMARY.id, 0]]);
});

describe('a settled read', () => {
  /** Returns a log that has one more request after each `settle`, and `lost` of them may be missing. */
  const settlingLog = (reason?: string) => {
    const state = { settled: 0 };
    const rows = () => Array.from({ length: state.settled }, (_, n) => ({ ...SUMMARY, id: `request-${n}` }));
    const log: Partial<ProjectLog> = {
      settle: () => {
        if (reason !== undefined) return Promise.reject(new SourceError('Unavailable', reason));
        state.settled += 1;
        return Promise.resolve();
      },
      count: () => Promise.resolve(state.settled),
      summaries: ({ limit }) => Promise.resolve(rows().slice(0, limit)),
    };
    return log;
  };
  const read = async (path: string, reason?: string) => {
    await using api = await startApiServer(() => Promise.resolve(backendWith(settlingLog(reason))));
    const response = await fetch(`${api.shop}/${path}`);
    const body = (await response.json()) as { count?: number; code?: string; detail?: string };
    return { status: response.status, retryAfter: response.headers.get('retry-after'), ...body };
  };

  it('is the default of a count', async () => {
    expect(await read('requests:count')).toMatchObject({ status: 200, count: 1 });
    expect(await read('requests:count?settled=true')).toMatchObject({ status: 200, count: 1 });
    expect(await read('requests:count?settled=false', 'not expected')).toMatchObject({ status: 200, count: 0 });
  });

  it.each(['requests:count', 'requests:wait?count=0&max=0&timeout=0s'])(
    'fails if the log may not be complete: %s',
    async (path) => {
      expect(await read(path, 'the log may not be complete, because of gateway a')).toMatchObject({
        status: 503,
        code: 'log_unsettled',
        detail: 'The log may not be complete, because of gateway a.',
        retryAfter: '2',
      });
    },
  );

  it.each([
    ['max=0', 409, 'wait_exceeded'],
    ['max=1', 200, undefined],
    ['count=0&max=2', 200, undefined],
    ['count=2&max=2', 408, 'wait_timeout'],
    ['count=0&max=0&settled=false', 200, undefined],
    ['max=1&settled=false', 408, 'wait_timeout'],
    ['count=2&max=1', 400, 'parameter_invalid'],
    ['count=0', 400, 'parameter_invalid'],
    ['max=-1', 400, 'parameter_invalid'],
    ['max=1&settled=no', 400, 'parameter_invalid'],
  ])('ends a wait with a maximum: %s', async (query, status, code) => {
    expect(await read(`requests:wait?${query}&timeout=0s`)).toMatchObject({ status, ...(code && { code }) });
  });

  it('of a wait without a maximum does not happen, because the wait ends when there are enough requests', async () => {
    expect(await read('requests:wait?timeout=0s', 'not expected')).toMatchObject({ status: 408, code: 'wait_timeout' });
  });
});
