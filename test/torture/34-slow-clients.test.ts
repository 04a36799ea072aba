import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LIMITS } from '@standin/contract';
import { RawClient } from './raw-client.ts';
import { forward, json, Stand } from './stand.ts';
import { startUpstream, type Upstream } from './upstream.ts';

/**
 * Torture test 34: clients that stall. The long form (STANDIN_TEST_TORTURE=long) has ten times as many clients that stall while
 * sending, and needs `ulimit -n` >= 12,000.
 */

const LONG = process.env['STANDIN_TEST_TORTURE'] === 'long';
const STALLED = LONG ? 5_000 : 500;
/**
 * The number of clients that do not read. Each client makes the gateway hold up to 10 MiB of captured response. If the total
 * exceeded the gateway's budget, new requests would get a 503.
 */
const NOT_READING = 20;
/** More bytes than the socket buffers on both sides can hold. */
const LARGE_BYTES = 32 * 1024 * 1024;
/** Shorter than by default, so that the test is short, and longer than what is measured while clients stall. */
const REQUEST_TIMEOUT_MS = 12_000;
const STALL_TIMEOUT_MS = 10_000;
/** The time by which a connection may outlive its limit. The gateway checks its connections once per second. */
const SLACK_MS = 2_000;
const CONNECT_AT_ONCE = 200;

let stand: Stand;
let upstream: Upstream;
beforeAll(async () => {
  const block = Buffer.alloc(64 * 1024, 'x');
  upstream = await startUpstream((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${LARGE_BYTES}\r\n\r\n`);
    let left = LARGE_BYTES;
    const pump = () => {
      while (left > 0 && !socket.destroyed) {
        left -= block.length;
        if (!socket.write(block)) {
          socket.once('drain', pump);
          return;
        }
      }
    };
    pump();
  });
  stand = await Stand.start({
    env: {
      STANDIN_EGRESS_ALLOW_PRIVATE: 'true',
      STANDIN_LIMITS_REQUEST_TIMEOUT_MS: String(REQUEST_TIMEOUT_MS),
      STANDIN_LIMITS_RESPONSE_STALL_TIMEOUT_MS: String(STALL_TIMEOUT_MS),
    },
  });
  await stand.publish(
    { slug: '/a', method: 'POST', action: json('ok') },
    { slug: '/a', action: json('ok') },
    { slug: '/large', action: forward(`${upstream.url}/`) },
  );
});
afterAll(async () => {
  await stand[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

/** Opens many connections and passes each to `first`. Opens only `CONNECT_AT_ONCE` at a time, so that no SYN is dropped. */
const connectMany = async (count: number, first: (client: RawClient) => void): Promise<RawClient[]> => {
  const clients: RawClient[] = [];
  while (clients.length < count) {
    const batch = Math.min(CONNECT_AT_ONCE, count - clients.length);
    const opened = await Promise.all(Array.from({ length: batch }, () => RawClient.connect(stand.port)));
    for (const client of opened) first(client);
    clients.push(...opened);
  }
  return clients;
};

/** Returns the 99th percentile of the latency of eight well-behaved clients over `forMs`, in milliseconds. */
const normalClientsP99 = async (forMs: number): Promise<number> => {
  const waits: number[] = [];
  const until = performance.now() + forMs;
  const caller = async () => {
    using client = await RawClient.connect(stand.port);
    while (performance.now() < until) {
      const marker = stand.marker();
      const started = performance.now();
      client.send(stand.head('GET', stand.target('/a', marker)));
      const answer = await client.answer();
      waits.push(performance.now() - started);
      expect(answer?.status).toBe(200);
      stand.accept(marker);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  await Promise.all(Array.from({ length: 8 }, caller));
  waits.sort((a, b) => a - b);
  return waits[Math.floor(waits.length * 0.99)] ?? Number.NaN;
};

describe(`${STALLED} clients that stall in their heads, as many in their bodies, and ${NOT_READING} that do not read`, () => {
  test('are disconnected on time with little effect on other clients', { timeout: 120_000 }, async () => {
    const quietBefore = await normalClientsP99(3_000);

    const markers: string[] = [];
    const opened = performance.now();
    const heads = await connectMany(STALLED, (client) =>
      client.send(stand.head('GET', stand.target('/a')).slice(0, -2)),
    );
    const bodies = await connectMany(STALLED, (client) =>
      client.send(`${stand.head('POST', stand.target('/a'), [['Content-Length', '100']])}half`),
    );
    const readers = await connectMany(NOT_READING, (client) => {
      client.socket.pause();
      const marker = stand.marker();
      client.send(stand.head('GET', stand.target('/large', marker)));
      markers.push(marker);
    });
    const openedMs = performance.now() - opened;
    // Some clients keep sending single bytes. The timeouts cover the whole head and the whole request, not the time between two
    // bytes.
    const drip = setInterval(() => {
      for (const client of heads.slice(0, 50)) client.send('x');
      for (const client of bodies.slice(0, 50)) client.send('x');
    }, 2_000);

    const cut = async (clients: readonly RawClient[], limitMs: number): Promise<number> => {
      const waited = await Promise.all(clients.map((client) => client.closed(limitMs + openedMs + SLACK_MS)));
      return Math.max(...waited);
    };
    const [busyP99, headsMs, bodiesMs] = await Promise.all([
      normalClientsP99(8_000),
      cut(heads, LIMITS.requestHeadTimeoutMs),
      cut(bodies, REQUEST_TIMEOUT_MS),
    ]);
    clearInterval(drip);
    for (const client of [...heads, ...bodies]) {
      expect((await client.answer())?.status).toBe(408);
      client[Symbol.dispose]();
    }

    // A client that does not read cannot see that its connection has been closed, so the test checks the upstream side of the
    // connection.
    await expect.poll(() => upstream.open(), { timeout: STALL_TIMEOUT_MS + SLACK_MS + 5_000 }).toBe(0);
    for (const client of readers) client[Symbol.dispose]();
    for (const marker of markers) stand.accept(marker);
    const quietAfter = await normalClientsP99(3_000);

    console.log(
      `slow clients: heads cut ≤ ${Math.round(headsMs)} ms, bodies ≤ ${Math.round(bodiesMs)} ms (opened within ${Math.round(openedMs)} ms); ` +
        `other clients' p99 ${quietBefore.toFixed(1)} ms before, ${busyP99.toFixed(1)} ms during, ${quietAfter.toFixed(1)} ms after`,
    );
    // A limit of at least 50 ms allows for noise on a machine that runs other tests at the same time.
    expect(busyP99).toBeLessThan(Math.max(2 * Math.max(quietBefore, quietAfter), 50));
    await stand.verify();
  });
});
