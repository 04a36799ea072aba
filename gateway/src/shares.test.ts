import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { ConfigObject, LogRow } from '@standin/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  account,
  endpoint,
  fetchMetrics,
  HOST,
  KEY,
  OTHER_KEY,
  project,
  request,
  serverUrl,
  startTestGateway,
  URI,
  WITH_KEY,
  type TestGateway,
} from './gateway.testing.ts';
import { RawClient, rejectionCode, responseHeader, type RawResponse } from './raw-client.testing.ts';

/** Two tenants, of which the first one's caller wants everything. */

const THEIRS = 'theirs0123456789';
const CONNECTIONS = 200;
const MEMORY = 1_000_000;

/** Accepts connections and never responds. */
const silent = createServer((socket) => void sockets.add(socket));
const sockets = new Set<Socket>();
/** Sends most of a response, and never its end. */
const slow = createServer((socket) => {
  sockets.add(socket);
  socket.on('data', () =>
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${MEMORY}\r\n\r\n${'x'.repeat(MEMORY / 2)}`),
  );
});
const theirs = <T extends ConfigObject>(object: T): T => ({ ...object, namespace: 'team-b' });

const PATIENCE = { timeout: 15_000 };

let stand: TestGateway;
beforeAll(async () => {
  const urls = [silent, slow].map(async (server) => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `${serverUrl(server)}/`;
  });
  const [url = '', slowUrl = ''] = await Promise.all(urls);
  stand = await startTestGateway({
    settings: { limits: { connections: CONNECTIONS, inFlightBytes: MEMORY }, egress: { allowPrivate: true } },
    objects: [
      account('own', KEY),
      theirs(account('other', OTHER_KEY)),
      project('shop', URI),
      theirs(project('theirs', THEIRS, 'other')),
      endpoint('/fast'),
      endpoint('/delayed', { delay: { kind: 'Fixed', fixedMs: 25_000 } }),
      endpoint('/large', { body: 'x'.repeat(100_000), delay: { kind: 'Fixed', fixedMs: 25_000 } }),
      endpoint('/silent', { kind: 'Forward', url, timeoutMs: 5_000 }),
      endpoint('/slow', { kind: 'Forward', url: slowUrl, timeoutMs: 5_000 }),
      theirs(endpoint('/theirs', {}, { projectUid: 'project-theirs' })),
      theirs(endpoint('/theirs/silent', { kind: 'Forward', url }, { projectUid: 'project-theirs' })),
    ],
  });
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  silent.close();
  slow.close();
  await stand[Symbol.asyncDispose]();
});

const connect = (): Promise<RawClient> => RawClient.connect(stand.gateway.url);
const post = (path: string, body = ''): string =>
  request('POST', `/${URI}${path}`, [HOST, WITH_KEY, `Content-Length: ${body.length}`], body);
const POST_THEIRS = request('POST', `/${THEIRS}/theirs`, [HOST, `x-api-key: ${OTHER_KEY}`, 'Content-Length: 0']);

const other = async (): Promise<RawResponse | undefined> => {
  const client = await connect();
  client.send(POST_THEIRS);
  const [response] = await client.responses();
  client.destroy();
  return response;
};

/** Returns a metric of a pool, such as `used`. */
const pool = async (name: string, what = 'used'): Promise<number> => {
  const text = await fetchMetrics(stand.gateway);
  return Number(new RegExp(`^standin_shares_${what}\\{pool="${name}"\\} (.*)$`, 'm').exec(text)?.[1]);
};
const problemDetail = (response: RawResponse | undefined): string =>
  (JSON.parse(response?.body.toString() ?? '{}') as { detail: string }).detail;

/** Sends requests on connections of the first tenant while `during` runs. */
const flood = async (
  { clients, each }: { readonly clients: number; readonly each: string },
  during: (clients: readonly RawClient[]) => Promise<void>,
): Promise<void> => {
  const all: RawClient[] = [];
  for (let index = 0; index < clients; index++) all.push(await connect());
  for (const client of all) client.send(each);
  try {
    await during(all);
  } finally {
    for (const client of all) client.destroy();
  }
  for (const name of ['requests', 'memory', 'connections']) await expect.poll(() => pool(name), PATIENCE).toBe(0);
};

test.each(['/delayed', '/silent'])('pipelined requests to %s take half of the places, and no others', async (path) => {
  await flood({ clients: CONNECTIONS / 2 + 10, each: post(path).repeat(10) }, async () => {
    await expect.poll(() => pool('requests'), PATIENCE).toBe(CONNECTIONS / 2);
    for (let sent = 0; sent < 5; sent++) expect((await other())?.status).toBe(200);
    const held = await pool('requests', 'largest');
    expect([held, await pool('requests', 'capacity')]).toEqual([CONNECTIONS / 2, CONNECTIONS]);
    const own = await connect();
    own.send(post('/fast'));
    const [refused] = await own.responses();
    expect([refused?.status, rejectionCode(refused)]).toEqual([503, 'overloaded']);
    expect(problemDetail(refused)).toMatch(/share of the gateway's requests in progress\. Wait for their responses/);
    // The connection of a refused request counts as well.
    expect(await pool('connections')).toBe(CONNECTIONS / 2);
    own.destroy();
  });
});

test('a request begins when the response to the one before it on its connection is sent', async () => {
  const client = await connect();
  client.send(post('/fast'));
  await client.responses();
  client.send(post('/delayed?bounded') + post('/fast?bounded').repeat(400));
  const sent = (): number => stand.sink.rows.filter(({ query }) => query === 'bounded').length;
  await expect.poll(sent, PATIENCE).toBe(1);
  await expect.poll(() => pool('memory'), PATIENCE).toBeGreaterThan(400 * post('/fast').length);
  expect((await other())?.status).toBe(200);
  expect(sent()).toBe(1);
  client.destroy();
  const quick = await connect();
  const count = 2_000;
  quick.send(post('/fast').repeat(count));
  expect((await quick.responses(count)).map(({ status }) => status)).toEqual(Array(count).fill(200));
  quick.destroy();
});

test('a caller that resets its connection is noticed, even if the gateway does not read what it sent ahead', async () => {
  const client = await connect();
  client.send(post('/fast'));
  await client.responses();
  client.send(post('/delayed') + 'x'.repeat(300_000));
  await expect.poll(() => pool('memory'), PATIENCE).toBeGreaterThan(64 * 1_024);
  expect(await pool('requests')).toBe(1);
  client.socket.resetAndDestroy();
  // Not at the end of its delay.
  for (const name of ['requests', 'memory']) await expect.poll(() => pool(name), { timeout: 5_000 }).toBe(0);
});

test('what callers send ahead of their turn takes half of the memory', async () => {
  await flood({ clients: 20, each: post('/fast') }, async (clients) => {
    await Promise.all(clients.map((client) => client.responses()));
    for (const client of clients) client.send(post('/delayed') + 'x'.repeat(60_000));
    await expect.poll(() => pool('memory'), PATIENCE).toBeGreaterThan(MEMORY / 3);
    expect(await pool('memory', 'largest')).toBeLessThanOrEqual(MEMORY / 2);
    expect((await other())?.status).toBe(200);
  });
});

test('callers without a key take none of the memory of those with one', async () => {
  const strangers = request('GET', `/${URI}/fast`, [HOST]).repeat(800);
  await flood({ clients: 30, each: strangers }, async () => {
    await expect.poll(() => pool('unverified_memory'), PATIENCE).toBeGreaterThan(0);
    expect(await pool('memory')).toBeLessThan(MEMORY / 4);
    expect((await other())?.status).toBe(200);
  });
});

test('delayed bodies take half of the memory, and a caller learns which share is used up', async () => {
  await flood({ clients: 20, each: post('/large') }, async (clients) => {
    await expect.poll(() => pool('memory', 'refused_total'), PATIENCE).toBeGreaterThan(0);
    expect(await pool('memory', 'largest')).toBeLessThanOrEqual(MEMORY / 2 + 101_000);
    expect((await other())?.status).toBe(200);
    const refused = await Promise.any(clients.map(async (client) => (await client.responses())[0]));
    expect(problemDetail(refused)).toMatch(/share of the gateway's memory for requests and responses\. Wait/);
  });
});

test('responses that are read slowly take half of the memory, and the log has their beginning', async () => {
  await flood({ clients: 4, each: post('/slow') }, async () => {
    await expect.poll(() => pool('memory', 'refused_total'), PATIENCE).toBeGreaterThan(0);
    await expect.poll(() => pool('memory'), PATIENCE).toBeGreaterThan(MEMORY / 4);
    expect(await pool('memory', 'largest')).toBeLessThanOrEqual(MEMORY / 2);
    expect((await other())?.status).toBe(200);
  });
  const rows = (): readonly LogRow[] =>
    stand.sink.rows.filter(({ path, responseBodyBytes }) => path === '/slow' && responseBodyBytes > 0);
  await expect.poll(() => rows().length, PATIENCE).toBe(4);
  for (const row of rows()) {
    expect(row).toMatchObject({ responseBodyBytes: MEMORY / 2, responseTruncated: true });
    expect(row.responseBody.length).toBeLessThan(MEMORY / 2);
  }
});

test('connections that end in any state leave nothing', async () => {
  const pieces = [
    post('/fast'),
    post('/fast', 'x'.repeat(30_000)),
    post('/unknown', 'x'.repeat(20_000)),
    request('GET', `/${URI}/fast`, [HOST]),
    request('POST', `/${URI}/fast`, [HOST, WITH_KEY, 'Content-Length: 99999'], 'a'),
    '\r\n',
  ];
  let seed = 1;
  const random = (below: number): number => {
    seed = (seed * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return Math.floor((seed / 2 ** 32) * below);
  };
  const connectOnce = async (): Promise<void> => {
    const client = await connect();
    client.send(Array.from({ length: 1 + random(20) }, () => pieces[random(pieces.length)]).join(''));
    await delay(random(20));
    client.destroy();
  };
  for (let round = 0; round < 60; round++) await Promise.all(Array.from({ length: 20 }, connectOnce));
  for (const name of ['requests', 'memory', 'connections', 'unverified_memory'])
    await expect.poll(() => pool(name), PATIENCE).toBe(0);
});

test('idle connections beyond the share of a namespace are closed after a response', async () => {
  await flood({ clients: CONNECTIONS / 2 + 20, each: '' }, async (clients) => {
    const closing: boolean[] = [];
    for (const client of clients) {
      client.send(post('/fast'));
      const [response] = await client.responses();
      expect(response?.status).toBe(200);
      closing.push(response !== undefined && responseHeader(response, 'connection') === 'close');
    }
    expect(closing.filter(Boolean).length).toBeGreaterThanOrEqual(20);
    expect(await pool('connections', 'largest')).toBeLessThanOrEqual(CONNECTIONS / 2);
    expect((await other())?.status).toBe(200);
  });
});
