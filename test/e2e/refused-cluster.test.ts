import { refusedListSchema, type ApiRefusedList } from '@standin/dashboard/api-schemas';
import { request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type Deployment } from '../harness/deployment.ts';
import { installStandin } from '../harness/install-standin.ts';
import { ask, type ApiAnswer } from './api-stand.ts';
import { createPerson, startClusterDashboard, type ClusterDashboard, type Person } from './cluster-dashboard.ts';
import { post, Tenant } from './tenant.ts';

/** Tests how the dashboard of a cluster reads refused requests from two operators and three gateways, and who may read them. */

const NAMESPACE = 'refused';

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let deployment: Deployment;
let dashboard: ClusterDashboard;
let tenant: Tenant;
let viewer: Person;
let outsider: Person;
let admin: Person;

beforeAll(async () => {
  [cluster, clickHouse] = await Promise.all([startCluster(), startClickHouse()]);
  await installStandin(cluster);
  deployment = await deploy({ cluster, clickHouse, operators: 2, gateways: 3 });
  tenant = await Tenant.create(cluster, NAMESPACE);
  await tenant.accountAndProject();
  await tenant.mock('plain', '{}');
  await tenant.untilReason('Endpoint', 'plain', 'Ready');
  [viewer, outsider, admin, dashboard] = await Promise.all([
    createPerson(cluster, NAMESPACE, { name: 'viewer', role: 'standin-view' }),
    createPerson(cluster, NAMESPACE, { name: 'outsider' }),
    createPerson(cluster, NAMESPACE, { name: 'admin' }),
    startClusterDashboard({ cluster, clickHouse, operators: deployment.operators }),
  ]);
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'refused-admin' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'standin-view' },
    subjects: [{ kind: 'ServiceAccount', name: 'admin', namespace: NAMESPACE }],
  };
  await cluster.apply(JSON.stringify(binding));
});
afterAll(async () => {
  await dashboard.process.kill();
  await deployment.stop();
  await tenant.client.close();
  await clickHouse.stop();
  await cluster.stop();
});

const read = async (person: Person): Promise<ApiAnswer> => {
  const url = `${dashboard.url}/api/v1/namespaces/${NAMESPACE}/projects/shop/refusals`;
  return ask(url, { headers: { authorization: `Bearer ${person.token}` } });
};
const readRefusedList = async (person: Person): Promise<ApiRefusedList> => {
  const { status, json } = await read(person);
  expect([status, json]).toMatchObject([200, {}]);
  return refusedListSchema.parse(json);
};

test('the refused requests of all gateways are added up for users who may read the log', async () => {
  const key = await tenant.readSecret('team-api-key');
  const base = await tenant.projectPath();
  for (const gateway of deployment.gateways) {
    expect((await post(gateway, `${base}/missing`, key)).status).toBe(404);
    const unsigned = await request(`${gateway.url}${base}/plain`, {
      method: 'POST',
      headers: { 'stripe-signature': 't=1,v1=00' },
    });
    expect(unsigned.statusCode).toBe(401);
    await unsigned.body.dump();
    expect((await post(gateway, '/not-a-project/x', key)).status).toBe(404);
  }
  const { items, missingGateways, ...rest } = await readRefusedList(viewer);
  expect(items).toMatchObject([
    { code: 'api_key_missing', sender: 'Stripe', slug: '/plain', count: 3 },
    { code: 'endpoint_not_found', method: 'POST', path: '/missing', count: 3 },
  ]);
  expect(missingGateways).toEqual([]);
  expect(rest).not.toHaveProperty('unknownProject');
});

test('only users who may read all logs see how many requests had no project', async () => {
  expect(await readRefusedList(admin)).toMatchObject({ unknownProject: 3 });
});

test('users who may not read the log do not see refused requests', async () => {
  expect((await read(outsider)).json).toMatchObject({ status: 403, code: 'forbidden' });
});

test('after the leader has stopped, the next one answers', async () => {
  const [first, second] = deployment.operators;
  for (const operator of [first, second]) {
    await operator?.process.restart();
    await operator?.process.waitForUrl(`${operator.adminUrl}/readyz`, 40_000);
    await expect
      .poll(async () => (await read(viewer)).json, { timeout: 40_000, interval: 500 })
      .toMatchObject({ items: [{ count: 3 }, { count: 3 }], missingGateways: [] });
  }
});
