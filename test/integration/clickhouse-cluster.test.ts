import { encodeRow, openLogStore, type LogStore } from '@standin/logstore';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newLogRow } from '../../packages/exchange/src/log-row.testing.ts';
import type { TestClickHouse } from '../harness/clickhouse.ts';
import { LAME_CLUSTER, startClickHouseCluster } from '../harness/clickhouse-cluster.ts';

/**
 * Features that only a ClickHouse cluster has: more than one replica. The project `clickhouse-cluster` runs the other tests of the log on
 * one.
 */
let clickHouse: TestClickHouse;
let store: LogStore;

beforeAll(async () => {
  clickHouse = await startClickHouseCluster();
  store = openLogStore(clickHouse);
  await store.migrate();
});

afterAll(async () => {
  await store.close();
  await clickHouse.stop();
});

const BLOCKS = { accountUid: 'account', blocks: ['block'], since: new Date(0) };

test('permits are counted on every replica, each of them once', async () => {
  const rows = [0, 1, 2].map((quotaPermit) =>
    encodeRow(newLogRow({ accountUid: 'account', quotaPeriod: '2026-11', quotaBlock: 'block', quotaPermit })),
  );
  await store.insert({ rows: Buffer.concat(rows), rowCount: rows.length, token: 'once' });
  const sql = `SELECT count() FROM clusterAllReplicas('${clickHouse.cluster}', standin, log_local)`;
  const { url, username, password } = clickHouse;
  const headers = { 'X-ClickHouse-User': username, 'X-ClickHouse-Key': password };
  const everywhere = await fetch(url, { method: 'POST', headers, body: sql });
  expect(await everywhere.text()).toBe('6\n');
  expect(await store.permits(BLOCKS)).toEqual(new Map([['block', 3]]));
});

test('while a replica is away they are not counted: it may have what the others lack', async () => {
  const lame = openLogStore({ ...clickHouse, cluster: LAME_CLUSTER });
  await expect(lame.permits(BLOCKS)).rejects.toThrow('code 279');
  await lame.close();
});
