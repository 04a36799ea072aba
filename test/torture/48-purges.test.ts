import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { GROUP_VERSION } from '@standin/contract';
import type { PurgeStatus } from '@standin/crds';
import { startEmbeddedEngine, type EmbeddedEngine } from '@standin/engine';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { operationFiles } from '../e2e/operation-files.ts';
import { ALL_DAY, DevReplay } from '../e2e/dev-replays.ts';
import { call, startDev, type DevRun } from '../e2e/dev-stand.ts';
import { clickHouseQuery, type Query } from '../harness/clickhouse-query.ts';
import { eventually } from '../harness/eventually.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { isLongRun } from './oracle.ts';

/**
 * Torture test 48: after a Purge is completed, nothing that it deleted appears again, while Replays send the same requests and
 * other requests arrive.
 */

const ROUNDS = isLongRun() ? 20 : 2;
const REQUESTS = 10;
const PURGED_WITHIN_MS = 90_000;

let engine: EmbeddedEngine;
let query: Query;
let dev: DevRun;
/** Called for each request that a Replay sends. The response waits for the returned promise. */
let onSent: () => Promise<undefined> = () => Promise.resolve(undefined);
const target = createServer((request, response) => {
  request.resume();
  void onSent().then(() => response.end('late'));
});

beforeAll(async () => {
  target.listen(0, '127.0.0.1');
  await once(target, 'listening');
  engine = await startEmbeddedEngine({ dataDir: await createTempFolder('purges') });
  query = clickHouseQuery(engine);
  dev = await startDev({
    args: ['--clickhouse-url', engine.url, '--clickhouse-user', engine.username],
    env: { STANDIN_CLICKHOUSE_PASSWORD: engine.password },
  });
});
afterAll(async () => {
  await dev.process.kill();
  target.closeAllConnections();
  target.close();
  await engine.stop();
});

const startReplay = (marker: string): Promise<DevReplay> => {
  const { port } = target.address() as AddressInfo;
  return DevReplay.create(dev.data, {
    target: { kind: 'URL', url: `http://127.0.0.1:${port}/` },
    filter: { ...ALL_DAY, search: `body:${marker}`, limit: REQUESTS },
    // Slow enough that it is paused before its last request.
    ratePerSecond: 1,
  });
};

/** Creates a Purge of the requests whose body contains the marker. Returns its current status. */
const purge = async (marker: string): Promise<() => Promise<PurgeStatus>> => {
  const operations = operationFiles(dev.data);
  const metadata = { name: `purge-${randomBytes(4).toString('hex')}`, namespace: 'default' };
  await operations.create({
    apiVersion: GROUP_VERSION,
    kind: 'Purge',
    metadata,
    spec: {
      projectRef: { name: 'shop' },
      filter: { search: `body:${marker}`, to: new Date().toISOString() },
      reason: 'torture test 48',
    },
  });
  return async () => (await operations.seen({ kind: 'Purge', ...metadata }))?.status ?? {};
};

/** Captures requests. Returns their ids when all of them are in the log. */
const capture = async (marker: string): Promise<string> => {
  await Promise.all(Array.from({ length: REQUESTS }, (_, n) => call(dev, '/v1/orders', { body: `${marker} ${n}` })));
  const sql = `SELECT DISTINCT id FROM log WHERE request_body LIKE '${marker} %' FORMAT TSV`;
  const ids = await eventually('the captured requests', async () => (await query(sql)).split('\n'), {
    accept: ({ length }) => length === REQUESTS,
  });
  return ids.map((id) => `'${id}'`).join();
};

/** Sends other requests until `until` is settled. */
const withLoad = async <T>(until: Promise<T>): Promise<T> => {
  const state = { isOver: false };
  const over = until.finally(() => (state.isOver = true));
  over.catch(() => undefined);
  while (!state.isOver) {
    await call(dev, '/v1/orders', { body: 'other' });
    await delay(10);
  }
  return over;
};

test('48: a Purge waits for a paused Replay whose last requests are in flight', async () => {
  const round = async (marker: string): Promise<void> => {
    const ids = await capture(marker);
    const held = Promise.withResolvers<undefined>();
    const sent = Promise.withResolvers<undefined>();
    onSent = () => {
      sent.resolve(undefined);
      return held.promise;
    };
    const replay = await startReplay(marker);
    await sent.promise;
    await replay.setState('Suspended');
    const status = await purge(marker);
    const isAtReplays = ({ phase, waitingFor = [] }: PurgeStatus): boolean =>
      phase === 'Completed' || waitingFor.some((name) => name.startsWith('Replay '));
    const timeoutMs = PURGED_WITHIN_MS;
    await eventually('the Purge to look at Replays', status, { accept: isAtReplays, timeoutMs });
    held.resolve(undefined);
    await eventually('the Purge to be completed', status, {
      accept: ({ phase }) => phase === 'Completed',
      timeoutMs,
    });
    // A run that has ended stores nothing.
    await replay.setState('Cancelled');
    await replay.ended();
    expect(await query(`SELECT count() FROM log WHERE id IN (${ids}) FORMAT TSV`)).toBe('0');
    expect(await query(`SELECT count() FROM replay_results WHERE request_id IN (${ids}) FORMAT TSV`)).toBe('0');
  };
  for (let number = 1; number <= ROUNDS; number++) await withLoad(round(`paused${number}`));
}, 1_800_000);
