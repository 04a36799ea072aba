import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  account,
  BASIC_OBJECTS,
  endpoint,
  HOST,
  KEY,
  PATH,
  project,
  request,
  serverUrl,
  startTestGateway,
  WITH_KEY,
  type TestGateway,
} from './gateway.testing.ts';
import { exchange, RawClient, responseHeader, type RawResponse } from './raw-client.testing.ts';

const ORIGIN = 'https://app.example.com';
const LISTED = 'listed0123456789';
const ANY = 'any0123456789abc';
const ASKS = ['access-control-request-method: POST', 'access-control-request-headers: x-api-key,content-type'];

const upstream = createServer((_incoming, response) => {
  response.writeHead(201, { 'access-control-allow-origin': 'https://upstream.example.com', vary: 'accept' }).end('{}');
});
let stand: TestGateway;
beforeAll(async () => {
  await once(upstream.listen(0, '127.0.0.1'), 'listening');
  const headers = [
    ['Access-Control-Allow-Origin', 'https://mock.example.com'],
    ['access-control-expose-headers', 'x-mock'],
  ] as const;
  const listed = { projectUid: 'project-listed' };
  stand = await startTestGateway({
    settings: { egress: { allowPrivate: true } },
    objects: [
      ...BASIC_OBJECTS,
      account('quota', 'sk_00000000000000000000000000000000'),
      {
        ...project('listed', LISTED),
        cors: {
          allowOrigins: ['http://localhost:5173', ORIGIN],
          allowHeaders: ['content-type'],
          exposeHeaders: ['location', 'etag'],
          maxAgeS: 600,
        },
      },
      { ...project('any', ANY), cors: { allowOrigins: ['*'], allowHeaders: ['*'], exposeHeaders: [] } },
      endpoint('/mock', { kind: 'JSON', headers: [...headers] }, { ...listed, uid: 'mock' }),
      endpoint('/forward', { kind: 'Forward', url: serverUrl(upstream) }, { ...listed, uid: 'forward' }),
      endpoint('/unreachable', { kind: 'Forward', url: 'http://127.0.0.1:1' }, { ...listed, uid: 'unreachable' }),
    ],
  });
});
afterAll(async () => {
  await stand[Symbol.asyncDispose]();
  upstream.closeAllConnections();
  upstream.close();
});

const ask = (method: string, target: string, lines: readonly string[], body = ''): Promise<RawResponse> =>
  exchange(stand.gateway.url, request(method, target, [HOST, ...lines], body));
/** The headers about origins, in wire order. */
const corsHeaders = ({ headers }: Pick<RawResponse, 'headers'>) =>
  headers
    .map(([name, value]) => [name.toLowerCase(), value])
    .filter(([name = '']) => name.startsWith('access-control-') || name === 'vary');
const readable = [
  ['access-control-expose-headers', 'location, etag'],
  ['access-control-allow-origin', ORIGIN],
  ['vary', 'Origin'],
];

test.each(['', '/', '/mock', '/no/such/path', '?x=1'])(
  'a preflight gets the same response for every path: %j',
  async (path) => {
    const response = await ask('OPTIONS', `/${LISTED}${path}`, [`origin: ${ORIGIN}`, ...ASKS]);
    expect(response.status).toBe(204);
    expect(response.body).toHaveLength(0);
    expect(responseHeader(response, 'date')).toBeDefined();
    expect(corsHeaders(response)).toEqual([
      ['access-control-allow-origin', ORIGIN],
      ['access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE, HEAD'],
      ['access-control-allow-headers', 'x-api-key, content-type'],
      ['access-control-max-age', '600'],
      ['vary', 'Origin'],
    ]);
  },
);

test('a project can allow all origins and headers', async () => {
  const response = await ask('OPTIONS', `/${ANY}/mock`, ['Origin: null', ...ASKS]);
  expect(corsHeaders(response)).toEqual([
    ['access-control-allow-origin', '*'],
    ['access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE, HEAD'],
    ['access-control-allow-headers', 'x-api-key, *'],
    ['vary', 'Origin'],
  ]);
});

test.each(['https://evil.example.com', 'https://app.example.com.evil.com', 'HTTPS://APP.EXAMPLE.COM', 'null', ''])(
  'the origin %j, which is not listed, may not do anything',
  async (origin) => {
    const preflight = await ask('OPTIONS', `/${LISTED}/mock`, [`origin: ${origin}`, ...ASKS]);
    expect([preflight.status, corsHeaders(preflight)]).toEqual([204, [['vary', 'Origin']]]);
    const response = await ask('POST', `/${LISTED}/mock`, [`origin: ${origin}`, WITH_KEY]);
    expect([response.status, corsHeaders(response)]).toEqual([200, [['vary', 'Origin']]]);
  },
);

test.each([
  ['of another method', 'POST', [`origin: ${ORIGIN}`, ...ASKS]],
  ['without an origin', 'OPTIONS', ASKS],
  ['without a method to ask for', 'OPTIONS', [`origin: ${ORIGIN}`]],
])('a request %s is no preflight', async (_what, method, lines) => {
  const response = await ask(method, `/${LISTED}/mock`, lines);
  expect([response.status, responseHeader(response, 'standin-rejected')]).toEqual([401, 'api_key_missing']);
});

test('without a configuration, a preflight is handled like any other request, and responses are as they were', async () => {
  const preflight = await ask('OPTIONS', PATH, [`origin: ${ORIGIN}`, ...ASKS]);
  expect([preflight.status, corsHeaders(preflight)]).toEqual([401, []]);
  const response = await ask('POST', PATH, [`origin: ${ORIGIN}`, WITH_KEY]);
  expect([response.status, corsHeaders(response)]).toEqual([200, []]);
});

test.each([
  ['a mock', '/mock', [WITH_KEY], 200],
  ['an upstream', '/forward', [WITH_KEY], 201],
  ['an upstream that is not reachable', '/unreachable', [WITH_KEY], 502],
  ['a missing key', '/mock', [], 401],
  ['a wrong key', '/mock', ['x-api-key: sk_wrong'], 401],
  ['an unknown path', '/nothing', [WITH_KEY], 404],
])('pages may read the response of %s', async (_what, path, lines, status) => {
  const response = await ask('POST', `/${LISTED}${path}`, [`origin: ${ORIGIN}`, ...lines]);
  expect(response.status).toBe(status);
  const own = path === '/forward' ? [['vary', 'accept'], ...readable] : readable;
  expect(corsHeaders(response)).toEqual(own);
});

test('rows have the headers that were sent', async () => {
  for (const [path, status] of [
    ['/mock', 200],
    ['/forward', 201],
    ['/unreachable', 502],
  ] as const) {
    const query = `row${path}`;
    const response = await ask('POST', `/${LISTED}${path}?${query}`, [`origin: ${ORIGIN}`, WITH_KEY]);
    await stand.sink.until(({ rows }) => rows.some((row) => row.query === query && row.version === 2));
    const row = stand.sink.rows.find((one) => one.query === query && one.version === 2);
    expect([response.status, row?.status]).toEqual([status, status]);
    expect(corsHeaders({ headers: row?.responseHeaders ?? [] })).toEqual(corsHeaders(response));
  }
});

test('1,000 preflights on one connection leave no row, and a key in one is ignored', async () => {
  const client = await RawClient.connect(stand.gateway.url);
  const lines = [HOST, `origin: ${ORIGIN}`, `x-api-key: ${KEY}`, ...ASKS];
  client.send(request('OPTIONS', `/${LISTED}/mock?preflight`, lines).repeat(1_000));
  const responses = await client.responses(1_000);
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([204]));
  await ask('POST', `/${LISTED}/mock?after`, [WITH_KEY]);
  await stand.sink.until(({ rows }) => rows.some(({ query }) => query === 'after'));
  expect(stand.sink.rows.filter(({ query }) => query === 'preflight')).toEqual([]);
  client.socket.destroy();
});
