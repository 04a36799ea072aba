import { rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type Deployment } from '../harness/deployment.ts';
import { checkOutEarlierCommit } from '../harness/earlier-commit.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin } from '../harness/install-standin.ts';
import { ROOT } from '../harness/processes.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { metricOf, post, Tenant } from './tenant.ts';

/**
 * Tests a gateway of an earlier commit, which can serve neither `spec.responses` nor `spec.metrics` nor rate limits, next to two
 * gateways of this version.
 */

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let deployment: Deployment;
let tenant: Tenant;
let key: string;
let folder: string;
let earlier: string;
/** The checkout that gateway-0 runs from its next start. */
let checkout: string;

beforeAll(async () => {
  [cluster, clickHouse, folder] = await Promise.all([startCluster(), startClickHouse(), createTempFolder('skew')]);
  earlier = await checkOutEarlierCommit(folder);
  checkout = earlier;
  await installStandin(cluster);
  deployment = await deploy({
    cluster,
    clickHouse,
    operators: 1,
    gateways: 3,
    // A gateway gets no permits of a quota while the operator is stopped.
    operatorEnv: { STANDIN_QUOTA_FREE: '0' },
    checkout: (name) => (name === 'gateway-0' ? checkout : ROOT),
  });
  tenant = await Tenant.create(cluster, 'skew');
  await tenant.accountAndProject();
  await tenant.mock('plain', '{"name": "plain"}');
  await tenant.mock('plans', '{"name": "action"}');
  for (const name of ['plain', 'plans']) await tenant.untilReason('Endpoint', name, 'Ready');
  key = await tenant.readSecret('team-api-key');
});
afterAll(async () => {
  await deployment.stop();
  await tenant.client.close();
  await clickHouse.stop();
  await cluster.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Returns the responses of the three gateways to a request with the plan `gold`: the name in the body, or the code of the rejection. */
const answers = async (slug: string): Promise<unknown[]> => {
  const target = `${await tenant.projectPath()}${slug}`;
  const all = await Promise.all(
    deployment.gateways.map((gateway) => post(gateway, target, key, { headers: { 'x-plan': 'gold' } })),
  );
  return all.map(({ status, body }) => {
    const { name, code } = JSON.parse(body) as { name?: string; code?: string };
    return status === 200 ? name : `${status} ${code ?? ''}`;
  });
};
const untilAnswers = (slug: string, expected: readonly unknown[]): Promise<unknown> =>
  eventually(`the answers to ${slug}`, () => answers(slug), {
    accept: (seen) => JSON.stringify(seen) === JSON.stringify(expected),
    timeoutMs: 30_000,
  });

/** Restarts gateway-0 from this checkout. */
const restartGateway = async (from: string): Promise<void> => {
  checkout = from;
  const [gateway] = deployment.gateways;
  await gateway?.process.restart();
  await gateway?.process.waitForUrl(`${gateway.adminUrl}/readyz`, 40_000);
};

/** Restarts gateway-0 from this checkout while the operator is stopped. Expects that it serves its copy on disk, without `plans`. */
const expectWithheldFromDisk = async (from: string): Promise<void> => {
  const [operator] = deployment.operators;
  operator?.process.signal('SIGSTOP');
  try {
    await restartGateway(from);
    expect(await answers('/plain')).toEqual(['plain', 'plain', 'plain']);
    expect(await answers('/plans')).toEqual(['503 not_ready', 'gold', 'gold']);
  } finally {
    operator?.process.signal('SIGCONT');
  }
};

test('the earlier gateway gets no object that it would serve wrongly, and the status names the gateway', async () => {
  const gold = { name: 'gold', when: { headers: [{ name: 'x-plan', value: 'gold' }] }, body: '{"name": "gold"}' };
  await tenant.apply('Endpoint', 'plans', { responses: [gold] });
  await untilAnswers('/plans', ['503 not_ready', 'gold', 'gold']);
  const { status, message } = await eventually('Rejected', () => tenant.condition('Endpoint', 'plans', 'Programmed'), {
    accept: ({ reason }) => reason === 'Rejected',
  });
  expect([status, message]).toEqual(['False', expect.stringContaining('gateway-0')]);
  expect(await answers('/plain')).toEqual(['plain', 'plain', 'plain']);
});

/**
 * Sends 20 requests at once to each gateway, and waits one second, in which the buckets of all rate limits fill up again. Returns
 * the different statuses of each gateway.
 */
const burst = async (apiKey = key): Promise<number[][]> => {
  const target = `${await tenant.projectPath()}/plain`;
  const send = (gateway: Deployment['gateways'][number]) => () => post(gateway, target, apiKey);
  const all = deployment.gateways.map((gateway) => Promise.all(Array.from({ length: 20 }, send(gateway))));
  const answered = await Promise.all(all);
  await delay(1_000);
  return answered.map((some) => [...new Set(some.map(({ status }) => status))].sort());
};

test('the earlier gateway serves an account with a rate limit without the limit, and the status names the gateway', async () => {
  await tenant.apply('Account', 'team', { plan: 'Free', requestsPerSecond: 5 });
  await eventually('the limit', () => burst(), {
    accept: (seen) => JSON.stringify(seen) === JSON.stringify([[200], [200, 429], [200, 429]]),
    timeoutMs: 30_000,
  });
  const { status, message } = await eventually('Rejected', () => tenant.condition('Account', 'team', 'Programmed'), {
    accept: ({ reason }) => reason === 'Rejected',
  });
  expect([status, message]).toEqual(['False', expect.stringMatching(/gateway-0 .* rate-limits/)]);
});

test('the key of such an account can be replaced', async () => {
  await tenant.apply('KeyRegeneration', 'again', { accountRef: { name: 'team' } });
  await eventually('Complete', () => tenant.condition('KeyRegeneration', 'again', 'Complete'), {
    accept: ({ status }) => status === 'True',
    timeoutMs: 30_000,
  });
  const old = key;
  key = await tenant.readSecret('team-api-key');
  expect(await burst(old)).toEqual([[401], [401], [401]]);
  await untilAnswers('/plain', ['plain', 'plain', 'plain']);
});

/** Returns the number of accepted requests that each gateway counts for the project. */
const countedRequests = async (): Promise<number[]> => {
  const counts = await Promise.all(
    deployment.gateways.map(({ adminUrl }) => metricOf(adminUrl, 'standin_respond_project_requests_total')),
  );
  return counts.map((series) => series.get('exported_namespace="skew",project="shop",status="2xx"') ?? 0);
};

test('the earlier gateway serves a project with metrics, and the others count its requests', async () => {
  await tenant.apply('Project', 'shop', { metrics: 'Enabled' });
  await tenant.untilReason('Project', 'shop', 'Ready');
  expect(await answers('/plain')).toEqual(['plain', 'plain', 'plain']);
  expect(await countedRequests()).toEqual([0, 1, 1]);
});

test('an updated gateway serves the copy of the earlier one on disk, until it gets the object and makes it Ready', async () => {
  await expectWithheldFromDisk(ROOT);
  await tenant.untilReason('Endpoint', 'plans', 'Ready');
  await tenant.untilReason('Account', 'team', 'Ready');
  expect(await answers('/plans')).toEqual(['gold', 'gold', 'gold']);
  expect(await countedRequests()).toEqual([1, 4, 4]);
  expect(await burst()).toEqual([
    [200, 429],
    [200, 429],
    [200, 429],
  ]);
  expect((await tenant.get('Account', 'team')).status?.['requestsPerSecond']).toBe(5);
});

test('after a rollback, the gateway withholds the object that it finds in its copy on disk', async () => {
  await expectWithheldFromDisk(earlier);
  await tenant.apply('Endpoint', 'plans', { responses: null });
  await tenant.untilReason('Endpoint', 'plans', 'Ready');
  expect(await answers('/plans')).toEqual(['action', 'action', 'action']);
});

test('the series of a project end when its metrics are disabled', async () => {
  expect((await countedRequests())[1]).toBeGreaterThan(2);
  await tenant.apply('Project', 'shop', { metrics: 'Disabled' });
  await tenant.untilReason('Project', 'shop', 'Ready');
  expect(await answers('/plain')).toEqual(['plain', 'plain', 'plain']);
  expect(await countedRequests()).toEqual([0, 0, 0]);
});
