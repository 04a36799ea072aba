import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { ExpectationStatus } from '@standin/crds';
import { openLogStore, type LogStore } from '@standin/logstore';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { post, readMetric, Tenant, type SeenObject } from '../e2e/tenant.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { clickHouseQuery, type Query } from '../harness/clickhouse-query.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type DeployedGateway, type DeployedOperator, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin } from '../harness/install-standin.ts';
import { seededRandom } from '../harness/seeded-random.ts';
import { ShiftedClock } from '../harness/shifted-clock.ts';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';
import { isLongRun } from './oracle.ts';

/**
 * Torture test 55: Expectations under load, while ClickHouse is unavailable, a gateway is killed with undelivered requests, the leader is killed,
 * and the clock of another gateway is wrong. None ends wrongly, and each ends soon after that is possible.
 */

const EXPECTATIONS = isLongRun() ? 200 : 24;
const CLICKHOUSE_AWAY_MS = isLongRun() ? 60_000 : 5_000;
/** The deadlines are before, during and after the faults. */
const DEADLINES_S = isLongRun() ? [5, 20, 45, 90, 150] : [2, 8, 15, 40];
const SKEW_MS = 5_000;
/** After the deadline and the end of all faults. In the short form, other tests use the machine at the same time. */
const DECIDED_WITHIN_MS = isLongRun() ? 5_000 : 15_000;
const TIMEOUT_MS = isLongRun() ? 900_000 : 300_000;

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let proxy: TcpProxy;
let store: LogStore;
let query: Query;
let deployment: Deployment;
let tenant: Tenant;
let clock: ShiftedClock;
let target: { readonly path: string; readonly key: string };

beforeAll(async () => {
  [cluster, clickHouse, clock] = await Promise.all([startCluster(), startClickHouse(), ShiftedClock.create()]);
  store = openLogStore(clickHouse);
  await store.migrate();
  query = clickHouseQuery(clickHouse);
  proxy = await startTcpProxy(Number(new URL(clickHouse.url).port));
  await installStandin(cluster);
  const viaProxy = { ...clickHouse.env, STANDIN_CLICKHOUSE_URL: `http://127.0.0.1:${proxy.port}` };
  deployment = await deploy({
    cluster,
    clickHouse: { env: viaProxy },
    operators: 2,
    operatorEnv: viaProxy,
    gatewayEnv: (index) => Promise.resolve(index === 2 ? clock.env : {}),
  });
  tenant = await Tenant.create(cluster, 'expectations');
  await tenant.accountAndProject();
  await tenant.mock('orders', '"orders"');
  await tenant.untilReason('Endpoint', 'orders', 'Ready');
  target = { path: `${await tenant.projectPath()}/orders`, key: await tenant.readSecret('team-api-key') };
}, 120_000);
afterAll(async () => {
  await deployment.stop();
  await proxy.stop();
  await Promise.all([tenant.client.close(), store.close()]);
  await Promise.all([cluster.stop(), clickHouse.stop()]);
  await clock[Symbol.asyncDispose]();
});

const gatewayAt = (index: number): DeployedGateway => {
  const gateway = deployment.gateways[index];
  assert(gateway);
  return gateway;
};

const findLeader = async (): Promise<DeployedOperator | undefined> => {
  for (const operator of deployment.operators) {
    const leading = await readMetric(operator.adminUrl, 'leader_election_master_status').catch(() => new Map());
    if ([...leading.values()].includes(1)) return operator;
  }
  return undefined;
};

/** The number of matching requests that got a response. Others, whose gateway was killed, may be in the log or not. */
let accepted = 0;
const send = async (gateway: number, body: string): Promise<boolean> => {
  const response = await post(gatewayAt(gateway), target.path, target.key, { body }).catch(() => undefined);
  return response?.status === 200;
};

const seenStatus = ({ status }: SeenObject): ExpectationStatus => (status ?? {}) as ExpectationStatus;

interface Planned {
  readonly name: string;
  readonly count: { readonly min?: number; readonly max?: number };
  readonly deadlineS: number;
  /** The gateway and the time of each matching request, from the start. */
  readonly requests: readonly { readonly gateway: number; readonly atMs: number }[];
}

const COUNTS: readonly Planned['count'][] = [
  { min: 1 },
  { min: 2 },
  { max: 0 },
  { max: 1 },
  { min: 1, max: 1 },
  { min: 1, max: 3 },
];

const plan = (): readonly Planned[] => {
  const random = seededRandom(55);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  return Array.from({ length: EXPECTATIONS }, (_, index) => {
    const deadlineS = DEADLINES_S[index % DEADLINES_S.length] ?? 0;
    const requests = Array.from({ length: pick([0, 0, 1, 1, 2, 4]) }, () => ({
      gateway: pick([0, 1, 2]),
      atMs: random() * (Math.min(deadlineS, 30) * 1_000),
    }));
    return { name: `number-${index}`, count: COUNTS[index % COUNTS.length] ?? {}, deadlineS, requests };
  });
};

test(
  `55: none of ${EXPECTATIONS} Expectations ends wrongly, and each ends in time`,
  async () => {
    const load = { isOver: false };
    const loading = Promise.all(
      [0, 1, 2].map(async (gateway) => {
        while (!load.isOver) {
          await send(gateway, 'other');
          await delay(20);
        }
      }),
    );
    const planned = plan();
    await Promise.all(
      planned.map(({ name, count, deadlineS }) =>
        tenant.apply('Expectation', name, {
          projectRef: { name: 'shop' },
          filter: { search: `method:POST body:"${name}."` },
          count,
          deadline: `${deadlineS}s`,
        }),
      ),
    );
    const decidedAt = new Map<string, number>();
    const watching = (async () => {
      while (decidedAt.size < planned.length && !load.isOver) {
        const seen = await tenant.list('Expectation').catch(() => []);
        for (const object of seen)
          if (seenStatus(object).decidedAt !== undefined && !decidedAt.has(object.metadata.name))
            decidedAt.set(object.metadata.name, Date.now());
        await delay(100);
      }
    })();
    const sending = Promise.all(
      planned.flatMap(({ name, requests }) =>
        requests.map(async ({ gateway, atMs }) => {
          await delay(atMs);
          if (await send(gateway, `${name}.`)) accepted += 1;
        }),
      ),
    );

    await clock.set(-SKEW_MS);
    await delay(1_000);
    await proxy.cut();
    await delay(1_000);
    // Its spool has what it has accepted since ClickHouse is unavailable.
    await gatewayAt(1).process.kill('SIGKILL');
    const leader = await eventually('a leader', findLeader);
    assert(leader);
    await leader.process.kill('SIGKILL');
    await delay(CLICKHOUSE_AWAY_MS);
    await proxy.restore();
    await leader.process.restart();
    const killed = gatewayAt(1);
    await killed.process.restart();
    await killed.process.waitForUrl(`${killed.adminUrl}/readyz`, 60_000);
    await clock.set(0);
    await eventually('a leader', findLeader, { timeoutMs: 30_000 });
    await sending;
    const countAll = async () =>
      Number(await query(`SELECT uniqExact(id) FROM log WHERE request_body LIKE 'number-%' FORMAT TSV`));
    await eventually('all accepted requests in the log', countAll, {
      accept: (rows) => rows >= accepted,
      timeoutMs: 60_000,
    });
    const knownAt = Date.now();

    await eventually('all decisions', () => decidedAt.size, {
      accept: (size) => size === planned.length,
      timeoutMs: Math.max(...DEADLINES_S) * 1_000 + 60_000,
    });
    load.isOver = true;
    await Promise.all([loading, watching]);
    await delay(2_000);

    const found = new Map(
      (await tenant.list('Expectation')).map((object) => [object.metadata.name, seenStatus(object)]),
    );
    const late: [string, number][] = [];
    for (const { name, count } of planned) {
      const { phase, from = '', until = '', matched } = found.get(name) ?? {};
      // What the log has in the end is the truth.
      const sql = `SELECT uniqExact(id) FROM log WHERE request_body = '${name}.'
        AND received_at >= parseDateTime64BestEffort('${from}', 6) AND received_at < parseDateTime64BestEffort('${until}', 6) FORMAT TSV`;
      const truth = Number(await query(sql));
      const { min = 0, max = Infinity } = count;
      const expected = truth >= min && truth <= max ? 'Met' : 'Unmet';
      expect({ name, count, truth, phase, matched }).toMatchObject({ phase: expected });
      const isBounded = max < Infinity;
      const lateMs = (decidedAt.get(name) ?? 0) - Math.max(knownAt, Date.parse(until));
      if (isBounded || expected === 'Unmet') late.push([name, lateMs]);
    }
    const latest = Math.max(...late.map(([, ms]) => ms));
    console.log(`the last decision was ${latest} ms after it was possible`);
    expect(latest).toBeLessThan(DECIDED_WITHIN_MS);
  },
  TIMEOUT_MS,
);
