import { encodeRow, openLogStore, type LogStore } from '@standin/logstore';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newLogRow } from '../../packages/exchange/src/log-row.testing.ts';
import type { TestClickHouse } from '../harness/clickhouse.ts';
import { DEGRADED_CLUSTER, startClickHouseCluster } from '../harness/clickhouse-cluster.ts';
import { clickHouseQuery } from '../harness/clickhouse-query.ts';

/**
 * Tests features of a ClickHouse cluster with more than one replica. The Vitest project `clickhouse-cluster` also runs the other
 * tests of the log on such a cluster.
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

test('counts the permits of every replica, each once', async () => {
  const rows = [0, 1, 2].map((quotaPermit) =>
    encodeRow(newLogRow({ accountUid: 'account', quotaPeriod: '2026-11', quotaBlock: 'block', quotaPermit })),
  );
  await store.insert({ rows: Buffer.concat(rows), rowCount: rows.length, token: 'once' });
  const sql = `SELECT count() FROM clusterAllReplicas('${clickHouse.cluster}', standin, log_local)`;
  expect(await clickHouseQuery(clickHouse)(sql)).toBe('6');
  expect(await store.permits(BLOCKS)).toEqual(new Map([['block', 3]]));
});

test('gives a table to a node that lacks it, although all migrations are recorded as applied', async () => {
  const query = clickHouseQuery(clickHouse);
  const exists = (): Promise<string> => query('EXISTS TABLE standin.purged_permits');
  await query('DROP TABLE standin.purged_permits');
  expect(await exists()).toBe('0');
  await store.migrate();
  expect(await exists()).toBe('1');
});

test('does not count permits while a replica is unavailable, because it may have rows that the others lack', async () => {
  const degraded = openLogStore({ ...clickHouse, cluster: DEGRADED_CLUSTER });
  await expect(degraded.permits(BLOCKS)).rejects.toThrow('code 279');
  await degraded.close();
});

test('deletes nothing while a replica is unavailable', async () => {
  const degraded = openLogStore({ ...clickHouse, cluster: DEGRADED_CLUSTER });
  const filter = { projectUid: 'project', namespace: 'default', project: 'shop', untilUs: Date.now() * 1_000 };
  await expect(degraded.purges.count(filter)).rejects.toThrow('code 279');
  await expect(degraded.purges.requests(filter)).rejects.toThrow('code 279');
  await degraded.close();
});
