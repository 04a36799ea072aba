import { setTimeout as delay } from 'node:timers/promises';
import { parseFilter } from '@standin/exchange/search';
import type { LogEntry } from '@standin/exchange';
import { openLogStore, type LogStore } from '@standin/logstore';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type DeployedGateway, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin, OPERATOR_SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../harness/install-standin.ts';
import { freePort } from '../harness/ports.ts';
import { post, Tenant, type SeenObject } from './tenant.ts';

/** Tests what happens to work in progress when a namespace leaves the selection (`watch.namespaceSelector`) and returns. */

const UNTIL = { timeoutMs: 30_000, intervalMs: 50 };
const QUOTA = 40;
const REPLAYED = 12;
/** Finds the requests to replay. */
const CAPTURED = 'header.x-replayed:yes -header.standin-replay-of:*';

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let store: LogStore;
let deployment: Deployment;
let gateways: readonly DeployedGateway[];
let tenant: Tenant;
let path: string;

beforeAll(async () => {
  [cluster, clickHouse] = await Promise.all([startCluster(), startClickHouse()]);
  await installStandin(cluster);
  const account = `--serviceaccount=${SYSTEM_NAMESPACE}:${OPERATOR_SERVICE_ACCOUNT}`;
  await kubectl('create', 'clusterrole', 'namespaces', '--verb=list,watch', '--resource=namespaces');
  await kubectl('create', 'clusterrolebinding', 'namespaces', '--clusterrole=namespaces', account);
  store = openLogStore(clickHouse);
  const ports = [await freePort(), await freePort()];
  deployment = await deploy({
    cluster,
    clickHouse,
    operators: 1,
    gateways: 2,
    gatewayEnv: (gateway) => Promise.resolve({ STANDIN_PORT: String(ports[gateway]) }),
    operatorEnv: {
      ...clickHouse.env,
      STANDIN_WATCH_NAMESPACE_SELECTOR: 'serve=yes',
      STANDIN_REPLAY_GATEWAY_URL: `http://127.0.0.1:${ports[0]}`,
    },
  });
  gateways = deployment.gateways.map((gateway, index) => ({ ...gateway, url: `http://127.0.0.1:${ports[index]}` }));
  tenant = await Tenant.create(cluster, 'leaves');
  await setLabel('serve=yes');
  await tenant.accountAndProject();
  await tenant.apply('Account', 'team', { monthlyQuota: QUOTA });
  await tenant.mock('orders', '"ok"');
  await tenant.untilReason('Endpoint', 'orders', 'Ready');
  path = `${await tenant.projectPath()}/orders`;
}, 120_000);
afterAll(async () => {
  await deployment.stop();
  await tenant.client.close();
  await store.close();
  await clickHouse.stop();
  await cluster.stop();
});

const kubectl = async (...args: readonly string[]): Promise<void> => {
  const { code, stderr } = await cluster.kubectl(args);
  expect(code, stderr).toBe(0);
};
const setLabel = (value: string): Promise<void> =>
  kubectl('label', 'namespace', tenant.namespace, value, '--overwrite');

/** Returns the statuses of one request to each gateway. */
const statuses = async (from: readonly DeployedGateway[] = gateways, key?: string): Promise<readonly number[]> => {
  const used = key ?? (await tenant.readSecret('team-api-key'));
  return (await Promise.all(from.map((gateway) => post(gateway, path, used)))).map(({ status }) => status);
};

/** Removes the label. Resolves when no request of `send` is accepted any longer. */
const leave = async (send: () => Promise<readonly number[]>): Promise<void> => {
  await setLabel('serve-');
  await eventually('401', send, { ...UNTIL, accept: (seen) => seen.every((status) => status === 401) });
};

test('a quota is exact over the time in which the namespace is not served', async () => {
  let accepted = 0;
  const send = async (): Promise<readonly number[]> => {
    const seen = await statuses();
    accepted += seen.filter((status) => status === 200).length;
    return seen;
  };
  for (let times = 0; times < 6; times += 1) expect(await send()).toEqual([200, 200]);
  await leave(send);
  await setLabel('serve=yes');
  await eventually('429', send, { ...UNTIL, accept: (seen) => seen.every((status) => status === 429) });
  expect(accepted).toBe(QUOTA);
  const usage = await eventually('the usage', async () => (await tenant.get('Account', 'team')).status?.['usage'], {
    ...UNTIL,
    accept: (seen) => (seen as { accepted?: number }).accepted === QUOTA,
  });
  expect(usage).toMatchObject({ accepted: QUOTA, quota: QUOTA });
  await tenant.apply('Account', 'team', { monthlyQuota: null });
  await eventually('200', statuses, { ...UNTIL, accept: (seen) => seen.every((status) => status === 200) });
});

test('a KeyRegeneration that is in progress continues when the namespace returns, and counts once', async () => {
  const old = await tenant.readSecret('team-api-key');
  const [running, frozen] = gateways as [DeployedGateway, DeployedGateway];
  frozen.process.signal('SIGSTOP');
  const read = () => tenant.get('KeyRegeneration', 'again');
  const apiKey = async () =>
    (await tenant.get('Account', 'team')).status?.['apiKey'] as { regenerations: unknown[]; regenerating?: object };
  try {
    await tenant.apply('KeyRegeneration', 'again', { accountRef: { name: 'team' } });
    await eventually('the new key', () => statuses([running]), { ...UNTIL, accept: ([status]) => status === 200 });
    await eventually('Running', read, { ...UNTIL, accept: ({ status }) => status?.['phase'] === 'Running' });
    const before = await apiKey();
    expect(before).toMatchObject({ regenerating: { name: 'again' }, regenerations: [expect.any(String)] });

    await leave(() => statuses([running]));
    await delay(1_000);
    const { regenerating, regenerations } = before;
    expect(await apiKey()).toMatchObject({ regenerating, regenerations });
    await setLabel('serve=yes');
    await eventually('200', () => statuses([running]), { ...UNTIL, accept: ([status]) => status === 200 });
    await eventually('Running', read, { ...UNTIL, accept: ({ status }) => status?.['phase'] === 'Running' });
  } finally {
    frozen.process.signal('SIGCONT');
  }
  await eventually('Completed', read, { ...UNTIL, accept: ({ status }) => status?.['phase'] === 'Completed' });
  expect((await apiKey()).regenerations).toHaveLength(1);
  expect(await statuses(gateways, old)).toEqual([401, 401]);
  expect(await statuses()).toEqual([200, 200]);
});

test('a Replay stops when the namespace leaves, and sends the rest when it returns', async () => {
  const { uid: projectUid } = (await tenant.get('Project', 'shop')).metadata;
  const find = (text: string): Promise<LogEntry[]> => {
    const result = parseFilter(text);
    if (result.kind === 'invalid') throw new Error(result.problem.message);
    return store.list({ projectUid, search: result.filter, order: 'oldest-first', limit: 1_000 });
  };
  const key = await tenant.readSecret('team-api-key');
  for (let n = 0; n < REPLAYED; n += 1)
    await post(gateways[0] as DeployedGateway, path, key, { headers: { 'x-replayed': 'yes' } });
  await eventually('the log', () => find(CAPTURED), { ...UNTIL, accept: ({ length }) => length === REPLAYED });
  const repeated = async () => (await find('header.standin-replay-of:*')).length;

  const read = (): Promise<SeenObject> => tenant.get('Replay', 'all');
  const filter = { search: CAPTURED, from: '2020-01-01T00:00:00Z', to: '2099-01-01T00:00:00Z' };
  // A Replay sends only requests from before its creation, which is a time in whole seconds.
  await delay(1_000);
  const spec = { projectRef: { name: 'shop' }, target: { kind: 'Endpoint' }, ratePerSecond: 2, filter };
  await tenant.apply('Replay', 'all', spec);
  await eventually('the first requests', async () => (await read()).status ?? {}, {
    ...UNTIL,
    accept: ({ sent }) => Number(sent) >= 3,
  });
  await leave(statuses);
  await delay(1_000);
  const sent = await repeated();
  const { metadata } = await read();
  await delay(2_000);
  expect(await repeated()).toBe(sent);
  expect(sent).toBeLessThan(REPLAYED);
  expect((await read()).metadata.resourceVersion).toBe(metadata.resourceVersion);

  await setLabel('serve=yes');
  const { status } = await eventually('the end', read, {
    ...UNTIL,
    accept: (object) => object.status?.['completedAt'] !== undefined,
  });
  expect(status).toMatchObject({ planned: REPLAYED, sent: REPLAYED });
  // Requests that are sent before the gateways have the configuration again are refused, so not all of them have rows.
  await eventually('the rows', repeated, { ...UNTIL, accept: (count) => count > sent });
});
