import { randomBytes } from 'node:crypto';
import { readdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { DelayConfig } from '@standin/contract';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  account,
  BASIC_OBJECTS,
  endpoint,
  fetchMetrics,
  HOST,
  PATH,
  request,
  startTestGateway,
  URI,
  WITH_KEY,
  type TestGateway,
} from '../gateway.testing.ts';
import { responseHeader, RawClient } from '../raw-client.testing.ts';
import type { CallerConnection, Exchange } from '../request/exchange.ts';
import { DelayedResponses } from './delayed-responses.ts';

const SHORT_MS = 300;
/** So long that a test that waits for it fails. */
const LONG_MS = 300_000;
/** Less than the interval of Node's checks plus the timeouts that the gateway has here. */
const BEYOND_TIMEOUTS_MS = 2_500;

const slow = (slug: string, fixedMs: number, more: object = {}) =>
  endpoint(slug, { delay: { kind: 'Fixed', fixedMs } satisfies DelayConfig, ...more });
const OBJECTS = [
  ...BASIC_OBJECTS,
  slow('/short', SHORT_MS),
  slow('/beyond', BEYOND_TIMEOUTS_MS),
  slow('/long', LONG_MS, { body: JSON.stringify('x'.repeat(1_000)) }),
];

let stand: TestGateway;
let client: RawClient;
beforeEach(async () => {
  stand = await startTestGateway({
    objects: OBJECTS,
    settings: {
      drainMs: 200,
      limits: {
        requestHeadTimeoutMs: 100,
        requestTimeoutMs: 100,
        keepAliveTimeoutMs: 100,
        responseStallTimeoutMs: 100,
      },
    },
  });
  client = await RawClient.connect(stand.gateway.url);
});
afterEach(async () => {
  client.destroy();
  await stand[Symbol.asyncDispose]();
});

const post = (path: string, body = ''): string =>
  request('POST', `/${URI}${path}`, [HOST, WITH_KEY, `Content-Length: ${body.length}`], body);
const metric = async (name: string): Promise<number> => {
  const text = await fetchMetrics(stand.gateway);
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
};
const running = () => metric('standin_receive_running_requests');
const rows = (count: number) => stand.sink.until((sink) => sink.rows.length === count);

const NO_RESPONSE = { status: 0, responseHeaders: [], responseBody: Buffer.alloc(0), responseBodyBytes: 0 };

test('a delayed request is in the log within about two seconds, and then as it ended', async () => {
  const sentMs = performance.now();
  client.send(post('/long?marker', 'body'));
  await rows(1);
  expect(performance.now() - sentMs).toBeGreaterThan(1_500);
  expect(performance.now() - sentMs).toBeLessThan(4_000);
  const request = { query: 'marker', requestBody: Buffer.from('body'), delayUs: LONG_MS * 1_000 };
  const [shown] = stand.sink.rows;
  expect(shown).toMatchObject({ ...request, ...NO_RESPONSE, version: 0, outcome: 'in_progress' });
  expect([client.received.length, await running()]).toEqual([0, 1]);
  client.destroy();
  await rows(2);
  const waitedUs = (performance.now() - sentMs) * 1_000;
  const [, ended] = stand.sink.rows;
  expect(ended).toMatchObject({ ...request, ...NO_RESPONSE, id: shown?.id, version: 2, outcome: 'caller_gone' });
  expect(ended?.durationUs).toBeGreaterThan(1_500_000);
  expect(ended?.durationUs).toBeLessThan(waitedUs);
});

test('a caller that disconnects during a short part of the delay is recorded as it happened', async () => {
  client.send(post('/long?marker'));
  await expect.poll(running).toBe(1);
  client.destroy();
  await rows(1);
  const [row] = stand.sink.rows;
  expect(row).toMatchObject({ ...NO_RESPONSE, version: 2, outcome: 'caller_gone', delayUs: LONG_MS * 1_000 });
  expect(row?.durationUs).toBeLessThan(LONG_MS * 1_000);
});

test('a delayed response arrives after its delay, and the metric for durations excludes the delay', async () => {
  const sentMs = performance.now();
  client.send(post('/short'));
  const [response] = await client.responses();
  expect(performance.now() - sentMs).toBeGreaterThanOrEqual(SHORT_MS);
  expect([response?.status, response?.body.toString()]).toEqual([200, '{"id": 1}']);
  await expect.poll(running).toBe(0);
  expect(await metric('standin_respond_requests_total{action="JSON",status="2xx"}')).toBe(1);
  expect(await metric('standin_respond_duration_seconds_sum{action="JSON"}')).toBeLessThan(SHORT_MS / 1_000);
});

test('pipelined responses arrive in the order of the requests', async () => {
  client.send(post('/short') + request('POST', '/unknown', [HOST, WITH_KEY]));
  expect((await client.responses(2)).map(({ status }) => status)).toEqual([200, 404]);
});

test('the timeouts of the gateway do not affect a delayed response', async () => {
  client.send(post('/beyond', 'body'));
  expect((await client.responses())[0]?.status).toBe(200);
}, 10_000);

describe('during a delay', () => {
  test('the gateway holds the head of the request and the response, and not the body of the request', async () => {
    const body = 'x'.repeat(1_000_000);
    client.send(post('/long', body));
    await expect.poll(running).toBe(1);
    const heldBytes = () => metric('standin_receive_held_bytes');
    await expect.poll(heldBytes).toBeLessThan(3_000);
    expect(await heldBytes()).toBeGreaterThan(1_000);
    client.destroy();
    await expect.poll(heldBytes).toBe(0);
  });

  test.each([
    ['before', 0],
    ['after', 1],
  ])(
    'the body is on the disk, and in the row of a request that ends %s it is shown in the log',
    async (_when, shown) => {
      const other = await RawClient.connect(stand.gateway.url);
      other.send(request('POST', PATH, [HOST, WITH_KEY]));
      const body = randomBytes(300_000).toString('latin1');
      client.send(post('/long', body));
      await expect.poll(running).toBe(1);
      const mine = () => stand.sink.rows.filter(({ path }) => path === '/long');
      await expect.poll(() => mine().length, { timeout: 10_000 }).toBe(shown);
      client.destroy();
      other.destroy();
      await expect.poll(() => mine().length).toBe(shown + 1);
      expect(mine().map(({ version }) => version)).toEqual([0, 2].slice(1 - shown));
      for (const { requestBody } of mine())
        expect(Buffer.from(requestBody).equals(Buffer.from(body, 'latin1'))).toBe(true);
    },
    20_000,
  );

  test('a body that cannot be read for a while is waited for, and then recorded', async () => {
    const body = randomBytes(10_000).toString('latin1');
    client.send(post('/long', body));
    await rows(1);
    const spool = path.join(stand.dataDir, 'spool');
    const [folder = ''] = await readdir(spool);
    await rename(path.join(spool, folder), path.join(spool, 'away'));
    client.destroy();
    await setTimeout(100);
    expect(await running()).toBe(1);
    await rename(path.join(spool, 'away'), path.join(spool, folder));
    await rows(2);
    expect(stand.sink.rows[1]).toMatchObject({ version: 2, outcome: 'caller_gone' });
    expect(Buffer.from(stand.sink.rows[1]?.requestBody ?? []).toString('latin1') === body).toBe(true);
  });

  test('a caller that disconnects ends its request, and the requests after it on the connection do not begin', async () => {
    client.send(post('/long').repeat(20));
    await expect.poll(running).toBe(1);
    client.destroy();
    await expect.poll(running).toBe(0);
    await rows(1);
    expect(await metric('standin_receive_held_bytes')).toBe(0);
  });

  test('a key is revoked at once, and the endpoint can be changed and deleted; accepted requests get their response', async () => {
    const other = await RawClient.connect(stand.gateway.url);
    client.send(post('/beyond'));
    other.send(post('/beyond'));
    await expect.poll(running).toBe(2);
    const published = Date.now();
    // `publish` resolves when the gateway has acknowledged the change.
    await stand.operator.publish([account('own', 'sk_another-key-of-the-same-account')]);
    await stand.operator.publish([slow('/beyond', 1, { body: '"changed"' })]);
    await stand.operator.publish([], ['Endpoint/endpoint-post-beyond']);
    expect(Date.now() - published).toBeLessThan(BEYOND_TIMEOUTS_MS / 2);
    const late = await RawClient.connect(stand.gateway.url);
    late.send(post('/beyond'));
    expect((await late.responses())[0]?.status).toBe(401);
    const responses = [...(await client.responses()), ...(await other.responses())];
    for (const one of [late, other]) one.destroy();
    expect(responses.map(({ status, body }) => [status, body.toString()])).toEqual([
      [200, '{"id": 1}'],
      [200, '{"id": 1}'],
    ]);
    const ended = () => stand.sink.rows.filter(({ version }) => version === 2).map(({ outcome }) => outcome);
    await expect.poll(ended).toEqual(['mocked', 'mocked']);
  }, 10_000);

  test('other requests are answered', async () => {
    client.send(post('/long'));
    await expect.poll(running).toBe(1);
    const other = await RawClient.connect(stand.gateway.url);
    other.send(request('POST', PATH, [HOST, WITH_KEY]));
    expect((await other.responses())[0]?.status).toBe(200);
    other.destroy();
  });

  test('a gateway that stops responds at once, also to requests that arrive meanwhile', async () => {
    const count = 200;
    const clients = await Promise.all(Array.from({ length: count }, () => RawClient.connect(stand.gateway.url)));
    for (const one of clients) one.send(post('/long'));
    // Begins when the response before it is sent.
    clients.at(-1)?.send(post('/long'));
    await expect.poll(running).toBe(count);
    const stopped = stand.gateway.stop();
    const all = await Promise.all(clients.map((one, index) => one.responses(index === count - 1 ? 2 : 1)));
    expect(new Set(all.flat().map(({ status }) => status))).toEqual(new Set([200]));
    expect(all.at(-1)?.map((response) => responseHeader(response, 'connection'))).toEqual([undefined, 'close']);
    await stopped;
    const ended = stand.sink.rows.filter(({ version }) => version === 2);
    expect(ended.map(({ delayUs }) => delayUs)).toEqual(Array(count + 1).fill(LONG_MS * 1_000));
    for (const { outcome, status, durationUs } of ended) {
      expect([outcome, status]).toEqual(['mocked', 200]);
      expect(durationUs).toBeLessThan(LONG_MS * 1_000);
    }
  });
});

describe('a wait', () => {
  const connect = () => {
    const connection = { onClosed: new Set<() => void>() } as Partial<CallerConnection> as CallerConnection;
    return { connection, isGone: false } as Partial<Exchange> as Exchange;
  };
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test.each([
    ['its end', () => vi.advanceTimersByTimeAsync(1_000)],
    [
      'the end of the connection',
      (_: DelayedResponses, { connection }: Exchange) => {
        for (const closed of connection.onClosed) closed();
        return Promise.resolve();
      },
    ],
    ['the stop of the gateway', (delayed: DelayedResponses) => delayed.stop()],
  ])('leaves nothing at its connection after %s', async (_, end) => {
    const delayed = new DelayedResponses();
    const exchange = connect();
    let responses = 0;
    const respond = () => Promise.resolve(void (responses += 1));
    const responded = [1, 2, 3].map(() => delayed.respond(exchange, 1_000, respond));
    expect([exchange.connection.onClosed.size, delayed.count]).toEqual([3, 3]);
    await end(delayed, exchange);
    await Promise.all(responded);
    expect([exchange.connection.onClosed.size, delayed.count]).toEqual([0, 0]);
    expect([responses, vi.getTimerCount()]).toEqual([3, 0]);
  });
});

test('requests to the same endpoint have different delays if its delay varies', async () => {
  await stand.operator.publish([endpoint('/varied', { delay: { kind: 'Uniform', minMs: 1, maxMs: 50 } })]);
  for (let sent = 1; sent <= 5; sent++) {
    client.send(post('/varied'));
    await client.responses(sent);
  }
  await rows(5);
  expect(new Set(stand.sink.rows.map(({ delayUs }) => delayUs)).size).toBe(5);
});
