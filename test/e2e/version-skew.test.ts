import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin } from '../harness/install-standin.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { readMetric, post, Tenant } from './tenant.ts';

/** Tests a gateway of a version before `spec.responses` next to two gateways and an operator of a version that has added it. */

const PRELOAD = pathToFileURL(path.join(import.meta.dirname, '../harness/earlier-version.ts')).href;

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let deployment: Deployment;
let tenant: Tenant;
let key: string;
let folder: string;
/** While this file exists, gateway-0 starts in the earlier version. */
let earlierFile: string;

beforeAll(async () => {
  [cluster, clickHouse, folder] = await Promise.all([startCluster(), startClickHouse(), createTempFolder('skew')]);
  earlierFile = path.join(folder, 'earlier');
  await writeFile(earlierFile, '');
  await installStandin(cluster);
  const env = { NODE_OPTIONS: `--import=${PRELOAD}` };
  deployment = await deploy({
    cluster,
    clickHouse,
    operators: 1,
    gateways: 3,
    // A gateway gets no permits of a quota while the operator is stopped.
    operatorEnv: { ...env, STANDIN_QUOTA_FREE: '0' },
    gatewayEnv: (index) => Promise.resolve({ ...env, ...(index === 0 && { TEST_EARLIER_FILE: earlierFile }) }),
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

/**
 * Restarts gateway-0 in another version while the operator is stopped. Expects that it serves its copy on disk without `plans`, of which
 * the copy of an earlier version has a placeholder, and that of a later version a field that the earlier one does not know.
 */
const expectWithheldFromDisk = async (version: 'earlier' | 'later'): Promise<void> => {
  const [operator] = deployment.operators;
  const [gateway] = deployment.gateways;
  const copy = path.join(gateway?.dataDir ?? '', 'config.ndjson');
  await eventually('the copy on disk', () => readFile(copy, 'utf8').catch(() => ''), {
    accept: (text) => text.includes(version === 'later' ? '"kind":"Withheld"' : '"responses":'),
  });
  operator?.process.signal('SIGSTOP');
  try {
    await (version === 'earlier' ? writeFile(earlierFile, '') : rm(earlierFile));
    await gateway?.process.restart();
    await gateway?.process.waitForUrl(`${gateway.adminUrl}/readyz`, 40_000);
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

test('an updated gateway serves the copy of the earlier one on disk, until it gets the object and makes it Ready', async () => {
  await expectWithheldFromDisk('later');
  await tenant.untilReason('Endpoint', 'plans', 'Ready');
  expect(await answers('/plans')).toEqual(['gold', 'gold', 'gold']);
});

test('after a rollback, the gateway withholds the object that it finds in its copy on disk', async () => {
  await expectWithheldFromDisk('earlier');
  await tenant.apply('Endpoint', 'plans', { responses: null });
  await tenant.untilReason('Endpoint', 'plans', 'Ready');
  expect(await answers('/plans')).toEqual(['action', 'action', 'action']);
});

/**
 * Sends 20 requests to each gateway in parallel, and waits one second, in which the buckets of all rate limits fill up again. Returns
 * the different statuses of each gateway.
 */
const burst = async (): Promise<number[][]> => {
  const target = `${await tenant.projectPath()}/plain`;
  const send = (gateway: Deployment['gateways'][number]) => () => post(gateway, target, key);
  const all = deployment.gateways.map((gateway) => Promise.all(Array.from({ length: 20 }, send(gateway))));
  const answered = await Promise.all(all);
  await delay(1_000);
  return answered.map((some) => [...new Set(some.map(({ status }) => status))].sort());
};

test('all gateways apply the rate limit of an account', async () => {
  await tenant.apply('Account', 'team', { plan: 'Free', requestsPerSecond: 5 });
  await eventually('the limit', burst, {
    accept: (seen) => seen.every((statuses) => statuses.join() === '200,429'),
    timeoutMs: 30_000,
  });
  await tenant.untilReason('Account', 'team', 'Ready');
  expect((await tenant.get('Account', 'team')).status?.['requestsPerSecond']).toBe(5);
});

/** Returns the number of accepted requests that each gateway counts for the project. */
const countedRequests = async (): Promise<number[]> => {
  const counts = await Promise.all(
    deployment.gateways.map(({ adminUrl }) => readMetric(adminUrl, 'standin_respond_project_requests_total')),
  );
  return counts.map((series) => series.get('exported_namespace="skew",project="shop",status="2xx"') ?? 0);
};

test('all gateways count the requests of a project, until its metrics are disabled', async () => {
  await tenant.apply('Project', 'shop', { metrics: 'Enabled' });
  await tenant.untilReason('Project', 'shop', 'Ready');
  expect(await answers('/plain')).toEqual(['plain', 'plain', 'plain']);
  expect(await countedRequests()).toEqual([1, 1, 1]);
  await tenant.apply('Project', 'shop', { metrics: 'Disabled' });
  await tenant.untilReason('Project', 'shop', 'Ready');
  expect(await answers('/plain')).toEqual(['plain', 'plain', 'plain']);
  expect(await countedRequests()).toEqual([0, 0, 0]);
});
