import { afterAll, beforeAll, expect, test } from 'vitest';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import type { Cluster } from '../harness/cluster.ts';
import { deploy, type Deployment } from '../harness/deployment.ts';
import { asList, objectsOf, renderChart } from '../harness/helm.ts';
import { createNamespace, deleteNamespace } from '../harness/namespace.ts';
import { sharedCluster } from '../harness/shared-cluster.ts';
import { ask } from './api-stand.ts';
import { createPerson, startClusterDashboard, type ClusterDashboard } from './cluster-dashboard.ts';
import { post, Tenant } from './tenant.ts';

/**
 * `watch.namespaces`: operator and dashboard under the Roles that the chart makes for one team's namespace, without any ClusterRole, beside
 * a namespace that they know nothing of.
 */
let cluster: Cluster;
let clickHouse: TestClickHouse;
let deployment: Deployment;
let dashboard: ClusterDashboard;
let system: string;
let team: Tenant;
let stranger: Tenant;

const RIGHTS = ['service-accounts', 'operator/rbac', 'dashboard/rbac'].map((name) => `templates/${name}.yaml`);

beforeAll(async () => {
  [cluster, clickHouse] = await Promise.all([sharedCluster(), startClickHouse()]);
  system = await createNamespace(cluster, 'test-system');
  team = await Tenant.create(cluster, await createNamespace(cluster));
  stranger = await Tenant.create(cluster, await createNamespace(cluster));
  const set = [`watch.namespaces={${team.namespace}}`];
  const rights = objectsOf(await renderChart({ chartCase: 'namespaced', namespace: system, set, only: RIGHTS }));
  expect(rights.filter(({ kind }) => kind.startsWith('Cluster'))).toEqual([]);
  await cluster.apply(asList(rights));
  const env = { STANDIN_WATCH_NAMESPACES: team.namespace };
  deployment = await deploy({
    ...{ cluster, clickHouse, operators: 1, gateways: 1, systemNamespace: system },
    operatorEnv: env,
  });
  dashboard = await startClusterDashboard({ cluster, clickHouse, env, systemNamespace: system });
});
afterAll(async () => {
  await Promise.all([deployment.stop(), dashboard.process.kill()]);
  await Promise.all([team, stranger].map(({ client }) => client.close()));
  await clickHouse.stop();
  for (const name of [system, team.namespace, stranger.namespace]) await deleteNamespace(cluster, name);
});

test('an endpoint of a watched namespace becomes ready and answers; one of another stays as it is', async () => {
  for (const tenant of [stranger, team]) {
    await tenant.accountAndProject();
    await tenant.mock('orders', '"ok"');
  }
  await team.untilReason('Endpoint', 'orders', 'Ready');
  const [gateway] = deployment.gateways;
  if (gateway === undefined) throw new Error('there is a gateway');
  const key = await team.readSecret('team-api-key');
  const answer = await post(gateway, `${await team.projectPath()}/orders`, key);
  expect(answer).toEqual({ status: 200, body: '"ok"' });
  const { status } = await stranger.get('Endpoint', 'orders');
  expect(status?.conditions?.map(({ reason }) => reason)).toEqual(Array<string>(4).fill('Pending'));
});

test('the dashboard shows projects to somebody who may see that namespace only', async () => {
  const person = await createPerson(cluster, team.namespace, { name: 'viewer', role: 'standin-view' });
  const headers = { authorization: `Bearer ${person.token}` };
  await expect
    .poll(async () => (await ask(`${dashboard.url}/api/v1/projects`, { headers })).json)
    .toMatchObject({ items: [{ namespace: team.namespace, name: 'shop' }] });
});

test('neither may look beyond', async () => {
  for (const account of ['standin-operator', 'standin-dashboard']) {
    const as = await cluster.tokenKubeconfig(system, account);
    for (const where of [['--all-namespaces'], ['-n', stranger.namespace]]) {
      const { stdout } = await cluster.kubectl(['auth', 'can-i', 'list', 'mockprojects.standin.dev', ...where], { as });
      expect(stdout.trim(), `${account} ${where.join(' ')}`).toBe('no');
    }
  }
});
