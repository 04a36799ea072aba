import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RawClient } from './raw-client.ts';
import { forward, json, Stand } from './stand.ts';

/**
 * Torture test 50: a caller of one tenant wants all places, all connections to an upstream and as much CPU as its rate limit allows.
 */

/** What less than a third of a core serves. */
const HOSTILE_PER_SECOND = 500;
const HOSTILE_CONNECTIONS = 100;
/** For each connection. Only the first of them begins. */
const PIPELINED = 300;
const CALLERS = 8;
const PAUSE_MS = 10;
const MEASURE_MS = 2_500;

let stand: Stand;
const silent = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
const sockets = new Set<Socket>();
beforeAll(async () => {
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  stand = await Stand.start({ env: { STANDIN_EGRESS_ALLOW_PRIVATE: 'true' } });
  const upstream = forward(`http://127.0.0.1:${(silent.address() as AddressInfo).port}/`, { timeoutMs: 60_000 });
  const [, { namespace, projectUid }] = stand.tenants;
  await stand.publish(
    { slug: '/delayed', action: json('ok', { delay: { kind: 'Fixed', fixedMs: 60_000 } }) },
    { slug: '/silent', action: upstream },
    { slug: '/quick', action: json('ok') },
    { slug: '/theirs', action: json('ok'), namespace, projectUid },
  );
  await stand.limitRate(HOSTILE_PER_SECOND);
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  silent.close();
  await stand[Symbol.asyncDispose]();
});

/** Returns the 99th percentile of the latency of the other tenant's callers, in milliseconds. Fails if a request is refused. */
const p99 = async (): Promise<number> => {
  const [, { key, uri }] = stand.tenants;
  const request = `GET /${uri}/theirs HTTP/1.1\r\nHost: gateway\r\nx-api-key: ${key}\r\n\r\n`;
  const waits: number[] = [];
  const until = performance.now() + MEASURE_MS;
  const caller = async () => {
    using client = await RawClient.connect(stand.port);
    while (performance.now() < until) {
      const started = performance.now();
      client.send(request);
      const answer = await client.answer();
      waits.push(performance.now() - started);
      expect(answer?.status).toBe(200);
      await delay(PAUSE_MS);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  waits.sort((a, b) => a - b);
  return waits[Math.floor(waits.length * 0.99)] ?? Number.NaN;
};

const hostile = async (path: string): Promise<readonly RawClient[]> => {
  const request = stand.head('GET', stand.target(path));
  const clients: RawClient[] = [];
  for (let index = 0; index < HOSTILE_CONNECTIONS; index += 1) {
    const client = await RawClient.connect(stand.port);
    client.send(request.repeat(PIPELINED));
    clients.push(client);
  }
  return clients;
};

test('one tenant that wants everything slows no other one down', { timeout: 180_000 }, async () => {
  const before = [await p99(), await p99()];
  const clients = [...(await hostile('/delayed')), ...(await hostile('/silent'))];
  const quick = await RawClient.connect(stand.port);
  const flood = setInterval(() => quick.send(stand.head('GET', stand.target('/quick')).repeat(10)), 20);
  const during = [await p99(), await p99(), await p99()];
  expect(await stand.metric('standin_shares_used\\{pool="requests"\\}')).toBeGreaterThan(HOSTILE_CONNECTIONS);
  clearInterval(flood);
  for (const client of [...clients, quick]) client[Symbol.dispose]();
  const after = [await p99()];

  const shown = (values: readonly number[]): string => values.map((value) => value.toFixed(1)).join(', ');
  console.log(`other tenant's p99 in ms: ${shown(before)} before, ${shown(during)} during, ${shown(after)} after`);
  const alone = Math.max(...before, ...after);
  // A machine that runs other tests adds a few milliseconds to either side.
  expect(Math.min(...during)).toBeLessThan(Math.max(1.2 * alone, alone + 5));
  // Everything that the hostile caller sends arrives in the first part.
  expect(Math.max(...during)).toBeLessThan(alone + 250);
});
