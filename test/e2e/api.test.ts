import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { ask, listedRequests, readDocument, startApi, violations, type ApiRun } from './api-stand.ts';
import { startProcess } from '../harness/processes.ts';
import { call, printLog, standin } from './dev-stand.ts';

let dev: ApiRun;

beforeAll(async () => {
  dev = await startApi();
});
afterAll(() => dev.process.kill());

const requestLines = (items: ReturnType<typeof listedRequests>): string[] =>
  items.map(({ method, status, endpoint }) => `${method} ${status} ${endpoint}`);

describe('reads', () => {
  test('lists projects by namespace', async () => {
    const { json } = await ask(`${dev.api}/projects`);
    expect(json).toMatchObject({
      items: [
        { namespace: 'default', name: 'other', displayName: 'Other' },
        { namespace: 'default', name: 'shop', url: dev.url },
      ],
    });
    expect((await ask(`${dev.api}/projects?namespace=elsewhere`)).json).toEqual({ items: [] });
    expect((await ask(dev.shop)).json).toMatchObject({ name: 'shop', url: dev.url });
  });

  test('lists the requests of one project as standin logs prints them', async () => {
    const answer = await ask(`${dev.shop}/requests`);
    expect(answer.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' });
    expect(listedRequests(answer)).toEqual((await printLog(dev.data, '-p', 'shop')).toReversed());
    expect(answer.json).not.toHaveProperty('nextCursor');
    const [last] = listedRequests(answer);
    expect((await ask(`${dev.shop}/requests/${last?.id ?? ''}`)).json).toEqual(last);
  });

  test('lists requests in pages, in both orders, as JSON or as lines', async () => {
    const page = async (query: string) => (await ask(`${dev.shop}/requests?view=summary&${query}`)).json;
    const first = (await page('order=oldest-first&limit=3')) as { items: never[]; nextCursor: string };
    expect(requestLines(first.items)).toEqual([
      'POST 201 create-order',
      'GET 200 list-orders',
      'DELETE 204 cancel-order',
    ]);
    expect(first.items[0]).not.toHaveProperty('request');
    const second = (await page(`order=oldest-first&limit=3&cursor=${first.nextCursor}`)) as { items: never[] };
    expect(requestLines(second.items)).toEqual(['POST 502 down']);
    expect(second).not.toHaveProperty('nextCursor');

    const lines = await ask(`${dev.shop}/requests?limit=2`, { headers: { accept: 'application/x-ndjson' } });
    const entries = lines.bytes.toString('utf8').trimEnd().split('\n');
    expect(entries.map((line) => (JSON.parse(line) as { endpoint: string }).endpoint)).toEqual([
      'down',
      'cancel-order',
    ]);
    const next = String(lines.headers['standin-next-cursor']);
    expect(requestLines(((await page(`limit=1&cursor=${next}`)) as { items: never[] }).items)).toEqual([
      'GET 200 list-orders',
    ]);
  });

  test.each([
    ['q=status:5xx', ['POST 502 down']],
    ['q=method:GET%20OR%20method:DELETE', ['DELETE 204 cancel-order', 'GET 200 list-orders']],
    ['q=body:total', ['POST 201 create-order']],
    ['from=1h&limit=1', ['POST 502 down']],
    ['to=2026-01-01T00:00:00Z', []],
  ])('%s filters the requests', async (query, expected) => {
    const answer = await ask(`${dev.shop}/requests?${query}`);
    expect(requestLines(listedRequests(answer))).toEqual(expected);
    const counted = query.replace('&limit=1', '');
    if (counted === query) {
      expect((await ask(`${dev.shop}/requests:count?${query}`)).json).toEqual({ count: expected.length });
    }
  });

  test('returns bodies as the captured bytes', async () => {
    const bytes = Buffer.from([0, 255, 237, 160, 128, 13, 10, 60]);
    await request(`${dev.url}/v1/orders`, { method: 'POST', headers: { 'x-api-key': dev.apiKey }, body: bytes });
    const [found] = listedRequests(
      await ask(`${dev.shop}/requests:wait?q=body:${encodeURIComponent(String.raw`\x00\xff`)}`),
    );
    const body = await ask(`${dev.shop}/requests/${found?.id ?? ''}/body`);
    expect(body.bytes).toEqual(bytes);
    expect(body.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment',
      'x-content-type-options': 'nosniff',
    });
    const answered = await ask(`${dev.shop}/requests/${found?.id ?? ''}/body?part=response`);
    expect(answered.bytes.toString('utf8')).toBe(found?.response.body);
  });
});

describe('waiting', () => {
  test('ends when enough requests arrive and returns them, oldest first', async () => {
    const waiting = ask(`${dev.shop}/requests:wait?q=query:wait-a&count=2&timeout=30s`);
    await call(dev, '/v1/orders?wait-a=1');
    await call(dev, '/v1/orders?other=1');
    await call(dev, '/v1/orders?wait-a=2');
    const { status, json } = await waiting;
    expect(status).toBe(200);
    expect(listedRequests({ json }).map(({ query }) => query)).toEqual(['wait-a=1', 'wait-a=2']);
    // Requests that are already in the log count.
    expect((await ask(`${dev.shop}/requests:wait?q=query:wait-a&count=2&timeout=0s`)).status).toBe(200);
  });

  test('ends at the timeout and returns the requests that arrived', async () => {
    await call(dev, '/v1/orders?wait-b=1');
    await eventually(
      'the request',
      async () => listedRequests(await ask(`${dev.shop}/requests?q=query:wait-b`)).length === 1,
    );
    const { status, json } = await ask(`${dev.shop}/requests:wait?q=query:wait-b&count=2&timeout=400ms&view=summary`);
    expect(status).toBe(408);
    expect(json).toMatchObject({
      code: 'wait_timeout',
      detail: '1 of 2 requests were captured within 400 ms.',
      items: [{ query: 'wait-b=1' }],
    });
  });

  test('omits requests that were captured before', async () => {
    const [newest] = listedRequests(await ask(`${dev.shop}/requests?limit=1`));
    const after = newest?.id ?? '';
    const waiting = ask(`${dev.shop}/requests:wait?after=${after}&view=summary`);
    await call(dev, '/v1/orders?wait-c=1');
    expect(listedRequests(await waiting).map(({ query }) => query)).toEqual(['wait-c=1']);
    const unknown = await ask(`${dev.shop}/requests:wait?after=01931f3e-0000-7000-8000-000000000000`);
    expect(unknown.json).toMatchObject({ status: 404, code: 'request_not_found' });
  });
});

describe('following', () => {
  /** Collects the events of a stream until it is closed. */
  const follow = async (query: string, lastEventId?: string) => {
    const stop = new AbortController();
    const answer = await request(`${dev.shop}/requests:stream?${query}`, {
      signal: stop.signal,
      headers: lastEventId === undefined ? {} : { 'last-event-id': lastEventId },
    });
    let text = '';
    const ended = (async () => {
      for await (const chunk of answer.body) text += String(chunk);
    })().catch(() => undefined);
    return {
      headers: answer.headers,
      queries: () => [...text.matchAll(/"query":"([^"]*)"/g)].map(([, value]) => value),
      ids: () => [...text.matchAll(/^id: (.*)$/gm)].map(([, id]) => id ?? ''),
      close: async () => {
        stop.abort();
        await ended;
      },
    };
  };

  test('streams new requests and resumes after an interruption without a gap', async () => {
    const first = await follow('q=query:tail&view=summary');
    expect(first.headers['content-type']).toBe('text/event-stream');
    await eventually('its position', () => first.ids().length > 0);
    await call(dev, '/v1/orders?tail=1');
    await eventually('the first', () => first.queries(), { accept: ({ length }) => length === 1 });
    await eventually('a later position', () => first.ids().length > 1);
    await first.close();

    await call(dev, '/v1/orders?tail=2');
    const second = await follow('q=query:tail', first.ids().at(-1));
    await eventually('the second', () => second.queries().includes('tail=2'));
    // When a stream resumes, entries from the last minute may appear again.
    expect(new Set(second.queries())).toEqual(new Set(['tail=1', 'tail=2']));
    await second.close();
  });
});

describe('invalid requests', () => {
  const OTHER_ID = '01931f3e-0000-7000-8000-000000000000';

  test.each([
    ['/requests?q=a%20status:ok', 400, { code: 'search_invalid', position: { from: 9, to: 11 } }],
    ['/requests?limit=0', 400, { code: 'parameter_invalid', errors: [{ name: 'limit' }] }],
    ['/requests?limit=1&limit=2', 400, { code: 'parameter_invalid', detail: 'limit must be given only once' }],
    ['/requests?since=1h', 400, { code: 'parameter_invalid' }],
    ['/requests?from=yesterday', 400, { code: 'parameter_invalid', errors: [{ name: 'from' }] }],
    ['/requests?from=1h&to=2h', 400, { code: 'parameter_invalid', errors: [{ name: 'to' }] }],
    ['/requests?cursor=x', 400, { code: 'parameter_invalid', errors: [{ name: 'cursor' }] }],
    ['/requests:wait?timeout=2m', 400, { code: 'parameter_invalid', errors: [{ name: 'timeout' }] }],
    [`/requests/${OTHER_ID}`, 404, { code: 'request_not_found' }],
    ['/requests/x/body', 404, { code: 'request_not_found' }],
    ['/nothing', 404, { code: 'route_not_found' }],
    ['/requests/%ff', 404, { code: 'route_not_found' }],
    ['x/requests', 404, { code: 'project_not_found' }],
  ])('%s fails with %d and a code', async (rest, status, problem) => {
    const answer = await ask(`${dev.shop}${rest}`);
    expect(answer.json).toMatchObject({ status, ...problem });
    expect(answer.status).toBe(status);
    expect(answer.headers['content-type']).toBe('application/problem+json');
  });

  test('a request in another project is not found', async () => {
    const [other] = await printLog(dev.data, '-p', 'other');
    expect((await ask(`${dev.shop}/requests/${other?.id ?? ''}`)).status).toBe(404);
    expect((await ask(`${dev.shop.replace('shop', 'other')}/requests/${other?.id ?? ''}`)).status).toBe(200);
  });

  test('an unsupported method fails with 405 and lists the allowed methods', async () => {
    const { status, headers } = await ask(`${dev.shop}/requests`, { method: 'PUT' });
    expect({ status, allow: headers['allow'] }).toEqual({ status: 405, allow: 'GET' });
  });

  test.each([
    [{ host: 'rebound.example' }, 421, 'host_invalid'],
    [{ origin: 'https://evil.example' }, 403, 'origin_forbidden'],
    [{ origin: 'http://localhost:1' }, 403, 'origin_forbidden'],
    [{ 'sec-fetch-site': 'cross-site' }, 403, 'origin_forbidden'],
  ] as const)('the headers %j fail with %d', async (headers, status, code) => {
    expect((await ask(`${dev.api}/projects`, { headers })).json).toMatchObject({ status, code });
  });
});

test('responses conform to the OpenAPI document', async () => {
  const document = await readDocument(dev.api);
  const [newest] = listedRequests(await ask(`${dev.shop}/requests?limit=1`));
  const id = newest?.id ?? '';
  const checks: readonly (readonly [string, string])[] = [
    ['listProjects', `${dev.api}/projects`],
    ['getProject', dev.shop],
    ['getProject', `${dev.shop}x`],
    ['listRequests', `${dev.shop}/requests`],
    ['listRequests', `${dev.shop}/requests?view=summary&limit=1`],
    ['listRequests', `${dev.shop}/requests?q=%22`],
    ['countRequests', `${dev.shop}/requests:count`],
    ['waitForRequests', `${dev.shop}/requests:wait`],
    ['waitForRequests', `${dev.shop}/requests:wait?count=1000&timeout=0s`],
    ['getRequest', `${dev.shop}/requests/${id}`],
    ['getRequest', `${dev.shop}/requests/nothing`],
  ];
  for (const [operation, url] of checks) expect(violations(document, operation, await ask(url)), url).toEqual([]);
  // Proves that the check detects an invalid response.
  const { headers } = await ask(`${dev.shop}/requests:count`);
  const wrong = { status: 200, headers, bytes: Buffer.alloc(0), json: { count: 'many' } };
  expect(violations(document, 'countRequests', wrong)).toHaveLength(1);
});

describe('the command line with --server', () => {
  const server = (): string[] => ['--server', dev.dashboard, '-p', 'shop'];

  test.each([
    [[]],
    [['-o', 'json']],
    [['-s', '5xx']],
    [['-e', 'create-order', '-m', 'POST', '--limit', '2', '-o', 'json']],
  ])('standin logs %j prints the same as with --data', async (args) => {
    const remote = await standin(['logs', ...server(), ...args]);
    const local = await standin(['logs', '--data', dev.data, '-p', 'shop', ...args]);
    expect(remote).toEqual(local);
    expect(remote.stdout).not.toBe('');
  });

  test('standin tail prints new requests', async () => {
    const tail = startProcess({
      name: 'tail',
      main: 'cli/src/main.ts',
      args: ['tail', ...server(), '-o', 'json', '--since', '1h', '--filter', 'query:server-tail'],
    });
    await call(dev, '/v1/orders?server-tail=1', { body: 'a' });
    await tail.waitForEvent('the first', ({ query }) => query === 'server-tail=1');
    await call(dev, '/v1/orders?server-tail=2', { body: 'b' });
    await tail.waitForEvent('the second', ({ query }) => query === 'server-tail=2');
    expect(await tail.kill('SIGINT')).toEqual({ code: 0, signal: null });
    expect(tail.log()).toHaveLength(2);
  });

  test.each([
    [['-p', 'shops'], /you cannot see project shops on \S+; available projects: other, shop\n/],
    [[], /specify a project: -n default -p other, -n default -p shop/],
    [['-p', 'shop', '--clickhouse-url', 'http://localhost:1'], /cannot be used with/],
  ])('%j fails with a one-line error', async (args, line) => {
    const { code, stderr } = await standin(['logs', '--server', dev.dashboard, ...args]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(line) as string });
  });

  test.each([['logs'], ['tail'], ['replay', '--since', '1h']])('%s lists the existing projects', async (...args) => {
    const { code, stdout, stderr } = await standin([...args, '--server', dev.dashboard, '-n', 'default', '-p', 'nope']);
    const message = `${new URL(dev.dashboard).host}: Project nope does not exist in namespace default; available projects: other, shop`;
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: `standin: ${message}\n` });
  });
});
