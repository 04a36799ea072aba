import { once } from 'node:events';
import { createServer } from 'node:http';
import type { EndpointConfig, HeaderPair } from '@standin/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  BASIC_OBJECTS,
  endpoint,
  HOST,
  request,
  serverUrl,
  startTestGateway,
  URI,
  WITH_KEY,
  type TestGateway,
} from '../gateway.testing.ts';
import { exchange } from '../raw-client.testing.ts';

type Forward = Extract<EndpointConfig['action'], { kind: 'Forward' }>;

let seen: readonly string[] = [];
const upstream = createServer((incoming, response) => {
  seen = incoming.rawHeaders;
  response.sendDate = false;
  response.writeHead(201, [
    'Server',
    'up/1',
    'location',
    '/api/orders/7',
    'set-cookie',
    'a=1; Path=/api',
    'x-two',
    'a',
    'X-Two',
    'b',
  ]);
  response.end('{}');
});
let stand: TestGateway;

const forward = (name: string, slug: string, more: Partial<Forward>) =>
  endpoint(slug, { kind: 'Forward', url: `${serverUrl(upstream)}/api/\${path.rest}`, ...more }, { uid: name, name });

beforeAll(async () => {
  await once(upstream.listen(0, '127.0.0.1'), 'listening');
  stand = await startTestGateway({
    settings: { egress: { allowPrivate: true } },
    objects: [
      ...BASIC_OBJECTS,
      forward('plain', '/plain/{rest...}', {}),
      forward('changed', '/changed/{rest...}', {
        host: 'Preserve',
        requestHeaders: {
          set: [
            ['X-Api-Key', 'theirs'],
            ['Authorization', 'Bearer test'],
            ['x-forwarded-for', 'hidden'],
          ],
          remove: ['cookie', 'x-forwarded-host'],
        },
        responseHeaders: { set: [['x-two', 'c']], remove: ['server'] },
        rewrite: ['Location', 'CookiePath'],
      }),
    ],
  });
});
afterAll(async () => {
  await stand[Symbol.asyncDispose]();
  upstream.closeAllConnections();
  upstream.close();
});

const LINES = [HOST, WITH_KEY, 'authorization: Basic own', 'Cookie: a=1', 'X-Forwarded-Prefix: /edge/'];
const ask = (path: string, lines = LINES) => exchange(stand.gateway.url, request('POST', `/${URI}${path}`, lines, ''));
/** The headers that the upstream got, in lowercase, except those of the connection. */
const sent = (): Record<string, string> => {
  const pairs = Array.from({ length: seen.length / 2 }, (_, at) => [
    (seen[at * 2] ?? '').toLowerCase(),
    seen[at * 2 + 1] ?? '',
  ]);
  expect(new Set(pairs.map(([name]) => name)).size).toBe(pairs.length);
  const others = pairs.filter(([name = '']) => name !== 'connection' && name !== 'content-length');
  return Object.fromEntries(others) as Record<string, string>;
};
const own = (headers: readonly HeaderPair[]) =>
  headers.filter(
    ([name]) =>
      !['date', 'connection', 'keep-alive', 'transfer-encoding', 'content-length'].includes(name.toLowerCase()),
  );

test('without changes, the upstream gets the headers of the caller and what was removed from the path', async () => {
  const response = await ask('/plain/orders');
  expect(sent()).toEqual({
    host: new URL(serverUrl(upstream)).host,
    authorization: 'Basic own',
    cookie: 'a=1',
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-host': 'gateway',
    'x-forwarded-proto': 'http',
    'x-forwarded-prefix': `/edge/${URI}/plain`,
  });
  expect(own(response.headers)).toEqual([
    ['Server', 'up/1'],
    ['location', '/api/orders/7'],
    ['set-cookie', 'a=1; Path=/api'],
    ['x-two', 'a'],
    ['X-Two', 'b'],
  ]);
});

test('headers are removed and set in both directions, and the row has the caller’s', async () => {
  const response = await ask('/changed/orders?row');
  expect(sent()).toEqual({
    host: 'gateway',
    'x-api-key': 'theirs',
    authorization: 'Bearer test',
    'x-forwarded-for': 'hidden',
    'x-forwarded-proto': 'http',
    'x-forwarded-prefix': `/edge/${URI}/changed`,
  });
  const expected = [
    ['location', `/${URI}/changed/orders/7`],
    ['set-cookie', `a=1; Path=/${URI}/changed`],
    ['x-two', 'c'],
  ];
  expect(own(response.headers)).toEqual(expected);
  await stand.sink.until(({ rows }) => rows.some((row) => row.query === 'row' && row.version === 2));
  const row = stand.sink.rows.find((one) => one.query === 'row' && one.version === 2);
  expect(own(row?.responseHeaders ?? [])).toEqual(expected);
  const captured = new Map(row?.requestHeaders.map(([name, value]) => [name.toLowerCase(), value]));
  expect([captured.get('authorization'), captured.get('cookie')]).toEqual(['Basic own', 'a=1']);
});

test('a caller cannot remove what is set by naming it in Connection', async () => {
  await ask('/changed/orders', [...LINES, 'Connection: authorization, x-api-key']);
  expect(sent()).toMatchObject({ 'x-api-key': 'theirs', authorization: 'Bearer test' });
});
