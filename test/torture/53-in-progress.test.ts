import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { LogEntry } from '@standin/exchange';
import { EVERY_PROJECT } from '@standin/logstore';
import { eventually } from '../harness/eventually.ts';
import { startFaultyClickHouse, type FaultyClickHouse } from './faulty-clickhouse.ts';
import { isLongRun, loadMs, Oracle, runSeed } from './oracle.ts';
import { ask, RawClient } from './raw-client.ts';
import { forward, json, Stand } from './stand.ts';

/**
 * Torture test 53: requests that take long are in the log while they run, and afterwards as they ended, through a crash, a stop, an
 * outage of ClickHouse and a full spool. Beside ordinary load, they do not fill the spool.
 */

const LONG_MS = 300_000;
/** Two seconds, a flush and the insert, on a slow machine. */
const SHOWN_WITHIN_MS = 10_000;
/** In the short form, ordinary load alone would fill most of it. In the long form, there are 300 delays at a time. */
const SPOOL_BYTES = isLongRun() ? 200 * 1_024 * 1_024 : 40_000_000;
/** Small segments, each with ordinary requests beside those that take long. */
const SEGMENT_BYTES = 262_144;
const BODY = randomBytes(50_000).toString('latin1');

let stand: Stand;
let clickhouse: FaultyClickHouse;
const upstream = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write('data: first\n\n');
});

beforeAll(async () => {
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  stand = await Stand.start({
    env: {
      STANDIN_EGRESS_ALLOW_PRIVATE: 'true',
      STANDIN_SPOOL_BYTES: String(SPOOL_BYTES),
      STANDIN_SPOOL_SEGMENT_BYTES: String(SEGMENT_BYTES),
    },
    clickhouse: async (engineUrl) => (clickhouse = await startFaultyClickHouse(engineUrl)).url,
  });
  const { port } = upstream.address() as AddressInfo;
  await stand.publish(
    { slug: '/delayed', method: 'POST', action: json('"late"', { delay: { kind: 'Fixed', fixedMs: LONG_MS } }) },
    { slug: '/large', method: 'POST', action: json('{}') },
    { slug: '/stream', method: 'POST', action: forward(`http://127.0.0.1:${port}`) },
  );
});
beforeEach(() => {
  clickhouse.fault = () => ({ kind: 'none' });
});
afterAll(async () => {
  upstream.closeAllConnections();
  upstream.close();
  await stand[Symbol.asyncDispose]();
  await clickhouse[Symbol.asyncDispose]();
});

/** A request in progress. */
interface Open {
  readonly client: RawClient;
  readonly marker: string;
}

const open = async (slug: string, body = BODY): Promise<Open> => {
  const client = await RawClient.connect(stand.port);
  const marker = stand.marker();
  client.send(stand.head('POST', stand.target(slug, marker), [['Content-Length', String(body.length)]]) + body);
  return { client, marker };
};
const find = async ({ marker }: Open): Promise<LogEntry | undefined> =>
  (await stand.store.list({ projectUid: EVERY_PROJECT, limit: 1_000 })).find(({ query }) => query === marker);
/** Resolves with the only row of the request, when it has this outcome. */
const until = (request: Open, outcome: LogEntry['outcome']): Promise<LogEntry | undefined> =>
  eventually(`${request.marker} to be ${outcome}`, () => find(request), {
    accept: (entry) => entry?.outcome === outcome,
    timeoutMs: 30_000,
  });
const shown = async (request: Open): Promise<void> => {
  const sentMs = performance.now();
  expect(await until(request, 'in_progress')).toMatchObject({
    status: 0,
    request: { body: expect.any(String) as string },
  });
  expect(performance.now() - sentMs).toBeLessThan(SHOWN_WITHIN_MS);
};
const sentBody = (entry: LogEntry | undefined): string | undefined =>
  entry && Buffer.from(entry.request.body, entry.request.bodyEncoding).toString('latin1');
/** Checks that the log has each request once, and returns its row. */
const ended = async (request: Open, outcome: LogEntry['outcome']): Promise<LogEntry | undefined> => {
  const entry = await until(request, outcome);
  expect(sentBody(entry)).toBe(BODY);
  expect(await stand.query(`SELECT uniqExact(id) FROM log WHERE query = '${request.marker}' FORMAT TSV`)).toBe('1');
  stand.accept(request.marker);
  return entry;
};
const openAll = (): Promise<[Open, Open]> => Promise.all([open('/delayed'), open('/stream')]);

test('53: a stream and a delayed request are in the log while they run, and then as they ended', async () => {
  const [delayed, stream] = await openAll();
  await Promise.all([shown(delayed), shown(stream)]);
  for (const { client } of [delayed, stream]) client[Symbol.dispose]();
  const [gone, received] = [await ended(delayed, 'caller_gone'), await ended(stream, 'caller_gone')];
  expect(gone).toMatchObject({ status: 0, delayMs: LONG_MS, response: { headers: [], body: '' } });
  expect(gone?.durationMs).toBeLessThan(LONG_MS / 2);
  expect(received).toMatchObject({ status: 200, response: { body: 'data: first\n\n', truncated: true } });
}, 120_000);

test('53: a gateway that is killed leaves none of them in progress, shown or not', async () => {
  const early = await openAll();
  await Promise.all(early.map(shown));
  const late = await openAll();
  await delay(200);
  await stand.crash();
  for (const request of [...early, ...late]) {
    const entry = await ended(request, 'response_unknown');
    expect(entry).toMatchObject({ status: 0, response: { headers: [], body: '' } });
  }
}, 120_000);

test('53: a gateway that stops ends the delays, and the log has the real duration', async () => {
  const early = await open('/delayed');
  await shown(early);
  const late = await open('/delayed');
  await delay(200);
  const { signal } = await stand.gateway.kill('SIGTERM');
  expect(signal).toBeNull();
  for (const { client } of [early, late]) expect((await client.answer())?.body.toString()).toBe('"late"');
  await stand.gateway.restart();
  await stand.ready();
  for (const request of [early, late]) {
    const entry = await ended(request, 'mocked');
    expect(entry).toMatchObject({ status: 200, delayMs: LONG_MS, response: { body: '"late"' } });
    expect(entry?.durationMs).toBeLessThan(LONG_MS / 2);
  }
}, 120_000);

test('53: while ClickHouse is unavailable and the disk is full, they can still end', async () => {
  const early = await openAll();
  await Promise.all(early.map(shown));
  clickhouse.fault = () => ({ kind: 'down' });
  const late = await openAll();
  await delay(200);
  const body = 'x'.repeat(1_000_000);
  let refused: string | undefined;
  while (refused === undefined) {
    const marker = stand.marker();
    const head = stand.head('POST', stand.target('/large', marker), [['Content-Length', String(body.length)]]);
    const answer = await ask(stand.port, head + body);
    if (answer?.status === 200) stand.accept(marker);
    else refused = answer?.body.toString();
  }
  expect(refused).toMatch(/share of the gateway's disk|"log_unavailable"/);
  for (const { client } of [...early, ...late]) client[Symbol.dispose]();
  await delay(500);
  clickhouse.fault = () => ({ kind: 'none' });
  for (const request of [...early, ...late]) await ended(request, 'caller_gone');
  await stand.verify();
}, 240_000);

test('53: one delay of five minutes per second beside ordinary load does not fill the spool, and nothing is refused', async () => {
  await using oracle = await Oracle.start({ stand, seed: runSeed() });
  const delayed: Open[] = [];
  let largestBytes = 0;
  const run = async (): Promise<void> => {
    const untilMs = performance.now() + loadMs(45_000);
    while (performance.now() < untilMs) {
      delayed.push(await open('/delayed'));
      largestBytes = Math.max(largestBytes, await stand.metric('standin_deliver_backlog_bytes'));
      await delay(1_000);
    }
  };
  await oracle.load(200, run());
  const counts = { ...oracle.counts, delayed: delayed.length, largestBytes };
  console.log('in progress', JSON.stringify(counts));
  expect(oracle.rejections()).toEqual(new Map());
  expect(largestBytes).toBeLessThan(0.6 * SPOOL_BYTES);
  const answers = await Promise.all(delayed.map(({ client }) => client.answer(1).catch(() => 'none' as const)));
  const isRefused = (answer: (typeof answers)[number]) => answer !== 'none' && answer?.status !== 200;
  expect(answers.filter(isRefused)).toEqual([]);
  if (!isLongRun()) expect(answers.filter((answer) => answer !== 'none')).toEqual([]);
  for (const { client } of delayed) client[Symbol.dispose]();
  await oracle.verify();
  const outcomes =
    "SELECT outcome, count() FROM log FINAL WHERE path = '/delayed' AND outcome = 'in_progress' GROUP BY outcome FORMAT TSV";
  await eventually('the end of all delays', () => stand.query(outcomes), {
    accept: (text) => text === '',
    timeoutMs: 60_000,
  });
}, 1_800_000);
