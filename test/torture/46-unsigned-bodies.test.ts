import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { LIMITS, type HeaderPair } from '@standin/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask, RawClient } from './raw-client.ts';
import { json, Stand } from './stand.ts';

/**
 * Torture test 46: unauthenticated clients that send bodies slowly to an endpoint that accepts signatures, with signatures that could
 * be valid.
 */

const STRANGERS = 2_000;
const UNSIGNED = 200;
/** Unauthenticated clients that return every tenth of a second. */
const RETURNING = 20;
const DELIVERIES = 100;
const CONNECT_AT_ONCE = 200;
const CALLERS = 8;
const PAUSE_MS = 10;
const MEASURE_MS = 2_500;
const BODY = '{"a": 1}';
const SECRET = 'a signing secret';

let stand: Stand;
beforeAll(async () => {
  stand = await Stand.start();
  const credential = { kind: 'Signature', signature: { scheme: 'GitHub' }, secretIds: [SECRET] } as const;
  await stand.publish(
    { slug: '/key', action: json('ok') },
    { slug: '/hook', method: 'POST', action: json('ok'), credential },
  );
});
afterAll(() => stand[Symbol.asyncDispose]());

/** Returns the head of a request without a key to the endpoint. */
const hookHead = (target: string, headers: readonly HeaderPair[]): string =>
  `POST ${target} HTTP/1.1\r\nHost: gateway\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
const signature = (secret: string): HeaderPair => [
  'X-Hub-Signature-256',
  `sha256=${createHmac('sha256', secret).update(BODY).digest('hex')}`,
];
const LENGTH: HeaderPair = ['Content-Length', String(BODY.length)];

const deliver = async (): Promise<string | number | undefined> => {
  const marker = stand.marker();
  const answer = await ask(stand.port, hookHead(stand.target('/hook', marker), [signature(SECRET), LENGTH]) + BODY);
  if (answer?.status === 200) stand.accept(marker);
  return answer?.all('standin-rejected')[0] ?? answer?.status;
};

/** Opens connections that send a head and nothing of its body. */
const strangers = async (count: number, headers: readonly HeaderPair[]): Promise<RawClient[]> => {
  const clients: RawClient[] = [];
  while (clients.length < count) {
    const batch = Math.min(CONNECT_AT_ONCE, count - clients.length);
    const opened = await Promise.all(Array.from({ length: batch }, () => RawClient.connect(stand.port)));
    for (const client of opened) client.send(hookHead(stand.target('/hook', 'stranger'), headers));
    clients.push(...opened);
  }
  return clients;
};

/** Returns the 99th percentile of the latency of callers with a key, in milliseconds. */
const keyedP99 = async (): Promise<number> => {
  const waits: number[] = [];
  const until = performance.now() + MEASURE_MS;
  const caller = async () => {
    using client = await RawClient.connect(stand.port);
    while (performance.now() < until) {
      const marker = stand.marker();
      const started = performance.now();
      client.send(stand.head('GET', stand.target('/key', marker)));
      const answer = await client.answer();
      waits.push(performance.now() - started);
      expect(answer?.status).toBe(200);
      stand.accept(marker);
      await delay(PAUSE_MS);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  waits.sort((a, b) => a - b);
  return waits[Math.floor(waits.length * 0.99)] ?? Number.NaN;
};

test(
  `${STRANGERS} strangers crowd out neither callers with keys nor other signed requests`,
  { timeout: 120_000 },
  async () => {
    const before = [await keyedP99(), await keyedP99()];
    expect(await deliver()).toBe(200);

    const slow = await strangers(STRANGERS, [signature('guess'), ['Content-Length', '100000']]);
    const unsigned = await strangers(UNSIGNED, [['Content-Length', '100000']]);
    const drip = setInterval(() => {
      for (const client of slow) client.send('x');
    }, 2_000);
    // Without a signature, nothing is read.
    for (const client of unsigned) expect((await client.answer())?.status).toBe(401);
    // Beyond the share of the endpoint's namespace, the oldest make room.
    const displaced = slow.slice(0, STRANGERS - LIMITS.unauthenticatedRequestsMax / 2);
    const refused = await Promise.all(displaced.map((client) => client.answer()));
    expect(new Set(refused.map((answer) => answer?.status))).toEqual(new Set([503]));
    const flood = setInterval(() => {
      void strangers(RETURNING, [signature('guess'), ['Content-Length', '100000']]).then((more) => slow.push(...more));
    }, 100);
    for (let count = 0; count < DELIVERIES; count += 1) {
      expect(await deliver()).toBe(200);
      await delay(PAUSE_MS);
    }
    clearInterval(flood);

    const during = [await keyedP99(), await keyedP99()];
    clearInterval(drip);
    for (const client of [...slow, ...unsigned]) client[Symbol.dispose]();
    await expect.poll(deliver, { timeout: 10_000 }).toBe(200);
    const after = [await keyedP99()];

    const shown = (values: readonly number[]): string => values.map((value) => value.toFixed(1)).join(', ');
    console.log(`keyed p99 in ms: ${shown(before)} before, ${shown(during)} during, ${shown(after)} after`);
    const quiet = Math.max(...before, ...after);
    // A machine that runs other tests adds a few milliseconds to either side.
    expect(Math.min(...during)).toBeLessThan(Math.max(1.2 * quiet, quiet + 5));
    await stand.verify();
  },
);
