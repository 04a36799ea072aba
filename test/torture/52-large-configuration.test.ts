import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { LIMITS } from '@standin/contract';
import { expect, test } from 'vitest';
import { post, Tenant } from '../e2e/tenant.ts';
import { startClickHouse } from '../harness/clickhouse.ts';
import { startCluster } from '../harness/cluster.ts';
import { deploy } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin } from '../harness/install-standin.ts';
import { isLongRun } from './oracle.ts';

/**
 * Torture test 52: a tenant creates Endpoints as large as the API server accepts, more than the memory of the operator and of the
 * gateway can hold. Both keep working for another tenant, also after the operator was killed.
 */

const ENDPOINTS = isLongRun() ? 400 : 60;
const CREATED_AT_A_TIME = 4;
const TIMEOUT_MS = 300_000;
/** Less than all Endpoints need. A pod with the chart's limits has more, and namespaces have a higher limit. */
const HEAP = { NODE_OPTIONS: '--max-old-space-size=200' };
const LIMIT = { STANDIN_NAMESPACE_BYTES_MAX: String(20 * 1024 * 1024) };
const UNTIL_MS = 60_000;

/** An Endpoint of 1.1 MB. */
const large = (slug: string) => ({
  projectRef: { name: 'shop' },
  displayName: 'Large',
  slug,
  method: 'POST',
  action: 'JSON',
  json: { body: '{}' },
  responses: Array.from({ length: LIMITS.responsesMax }, (_, response) => ({
    name: `r${response}`,
    when: { queryParams: [{ name: 'r', value: String(response) }] },
    body: '{}',
    headers: Array.from({ length: 8 }, (_header, header) => ({
      name: `x-${header}`,
      value: 'x'.repeat(LIMITS.headerValueLengthMax),
    })),
  })),
});

const readyNames = async (tenant: Tenant): Promise<readonly string[]> => {
  const endpoints = await tenant.list('Endpoint');
  return endpoints
    .filter(({ status }) => status?.conditions?.some(({ reason }) => reason === 'Ready'))
    .map(({ metadata }) => metadata.name);
};

/** Expects that the other Endpoints of the tenant are not older than these. */
const expectOldest = async (tenant: Tenant, names: readonly string[]): Promise<void> => {
  const endpoints = await tenant.list('Endpoint');
  const times = (areNamed: boolean): readonly string[] =>
    endpoints
      .filter(({ metadata: { name } }) => names.includes(name) === areNamed)
      .map(({ metadata }) => metadata.creationTimestamp)
      .sort();
  expect([times(true).at(-1), times(false)[0]]).toEqual([times(true).at(-1), times(false)[0]].toSorted());
};

test(
  `52: ${ENDPOINTS} large Endpoints of one tenant do not end the operator or a gateway`,
  async () => {
    const [cluster, clickHouse] = await Promise.all([startCluster(), startClickHouse()]);
    await installStandin(cluster);
    const operatorEnv = { ...clickHouse.env, ...HEAP, ...LIMIT };
    const deployment = await deploy({ cluster, clickHouse, gateways: 1, operatorEnv, gatewayEnv: HEAP });
    const [operator] = deployment.operators;
    const [gateway] = deployment.gateways;
    assert(operator && gateway);
    const owner = await Tenant.create(cluster, 'owner');
    const rival = await Tenant.create(cluster, 'rival');
    await Promise.all([owner.accountAndProject(), rival.accountAndProject()]);
    await owner.mock('orders', '"orders"');
    await owner.untilReason('Endpoint', 'orders', 'Ready');
    const key = await owner.readSecret('team-api-key');
    const target = `${await owner.projectPath()}/orders`;

    const statuses = new Map<number, number>();
    const state = { isOver: false };
    const calling = (async () => {
      while (!state.isOver) {
        const { status } = await post(gateway, target, key);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        await delay(20);
      }
    })();
    try {
      const numbers = Array.from({ length: ENDPOINTS }, (_, n) => n).values();
      const create = async (): Promise<void> => {
        for (const n of numbers) await rival.apply('Endpoint', `large-${n}`, large(`/large-${n}`));
      };
      await Promise.all(Array.from({ length: CREATED_AT_A_TIME }, create));
      const newest = `large-${ENDPOINTS - 1}`;
      const refused = await rival.untilReason('Endpoint', newest, 'LimitReached', UNTIL_MS);
      expect(refused.message).toContain('use another namespace');
      await rival.untilReason('Endpoint', 'large-0', 'Ready', UNTIL_MS);
      await owner.mock('orders', '"changed"');
      await owner.untilReason('Endpoint', 'orders', 'Ready', UNTIL_MS);
      expect(operator.process.hasEnded).toBe(false);

      await operator.process.kill('SIGKILL');
      await operator.process.restart();
      await owner.mock('orders', '"changed again"');
      await owner.untilReason('Endpoint', 'orders', 'Ready', UNTIL_MS);
      // The same Endpoints are within the limit as before, because they are the oldest.
      expect((await rival.condition('Endpoint', newest)).reason).toBe('LimitReached');

      const within = await readyNames(rival);
      await expectOldest(rival, within);
      expect(within.length).toBeGreaterThan(10);
      await Promise.all(within.slice(0, 5).map((name) => rival.remove('Endpoint', name)));
      await eventually('as many Endpoints within the limit as before', () => readyNames(rival), {
        accept: ({ length }) => length >= within.length,
        timeoutMs: UNTIL_MS,
        intervalMs: 1_000,
      });
    } finally {
      state.isOver = true;
      await calling;
      await deployment.stop();
      await Promise.all([owner.client.close(), rival.client.close(), cluster.stop(), clickHouse.stop()]);
    }
    expect([...statuses.keys()]).toEqual([200]);
  },
  TIMEOUT_MS,
);
