import { afterAll, beforeAll, expect, test } from 'vitest';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import type { Cluster } from '../harness/cluster.ts';
import { deploy, type DeployedGateway, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { asList, parseObjects, renderChart, type RenderedObject } from '../harness/helm.ts';
import { createNamespace, deleteNamespace } from '../harness/namespace.ts';
import { sharedCluster } from '../harness/shared-cluster.ts';
import { ask } from './api-stand.ts';
import { createPerson, startClusterDashboard, type ClusterDashboard } from './cluster-dashboard.ts';
import { readMetric, post, Tenant } from './tenant.ts';

/**
 * Tests `watch.namespaceSelector` with the roles that the chart creates for it: ClusterRoles without Secrets, and a Role for Secrets
 * in two of the three teams' namespaces.
 */

const TEMPLATES = ['service-accounts', 'operator/rbac', 'operator/secrets-role', 'dashboard/rbac'];
const UNTIL = { timeoutMs: 30_000, intervalMs: 100 };

let cluster: Cluster;
let clickHouse: TestClickHouse;
let deployment: Deployment;
let gateway: DeployedGateway;
let dashboard: ClusterDashboard;
let system: string;
/** The value of the label `serve`, which is different in each run, because the cluster is shared. */
let label: string;
let roles: readonly RenderedObject[];
let team: Tenant;
let other: Tenant;
let withoutRole: Tenant;

const setLabel = async ({ namespace }: Tenant, value: string): Promise<void> => {
  const { code, stderr } = await cluster.kubectl(['label', 'namespace', namespace, value, '--overwrite']);
  expect(code, stderr).toBe(0);
};

beforeAll(async () => {
  [cluster, clickHouse] = await Promise.all([sharedCluster(), startClickHouse()]);
  system = await createNamespace(cluster, 'test-system');
  label = system;
  const created = async () => Tenant.create(cluster, await createNamespace(cluster));
  [team, other, withoutRole] = await Promise.all([created(), created(), created()]);
  const set = [
    ...[`fullnameOverride=${system}`, `watch.namespaceSelector.matchLabels.serve=${label}`],
    ...['operator.serviceAccount.name=standin-operator', 'dashboard.serviceAccount.name=standin-dashboard'],
    `rbac.secretsNamespaces={${team.namespace},${other.namespace}}`,
  ];
  roles = parseObjects(
    await renderChart({ namespace: system, set, only: TEMPLATES.map((name) => `templates/${name}.yaml`) }),
  );
  await cluster.apply(asList(roles));
  for (const tenant of [team, other, withoutRole]) {
    await tenant.accountAndProject();
    await tenant.mock('orders', '"ok"');
  }
  await setLabel(other, `serve=${label}`);
  const env = { STANDIN_WATCH_NAMESPACE_SELECTOR: `serve=${label}` };
  deployment = await deploy({
    cluster,
    clickHouse,
    operators: 1,
    gateways: 1,
    systemNamespace: system,
    operatorEnv: { ...env, STANDIN_SECRET_POLL_MS: '500' },
  });
  const [first] = deployment.gateways;
  if (first === undefined) throw new Error('no gateway is deployed');
  gateway = first;
  dashboard = await startClusterDashboard({ cluster, clickHouse, env, systemNamespace: system });
}, 120_000);
afterAll(async () => {
  await Promise.all([deployment.stop(), dashboard.process.kill()]);
  await Promise.all([team, other, withoutRole].map(({ client }) => client.close()));
  await clickHouse.stop();
  for (const name of [system, ...[team, other, withoutRole].map(({ namespace }) => namespace)]) {
    await deleteNamespace(cluster, name);
  }
  for (const { kind, metadata } of roles.filter((role) => role.kind.startsWith('Cluster'))) {
    await cluster.kubectl(['delete', kind, metadata.name]);
  }
  await cluster.kubectl(['delete', 'clusterrolebinding', `${system}-viewer`]);
});

/** The number of requests to the team's project that were accepted. */
let accepted = 0;

const responseStatus = async (tenant: Tenant, path: string): Promise<number> => {
  const key = await tenant.readSecret('team-api-key');
  const { status } = await post(gateway, path, key);
  if (tenant === team && status === 200) accepted += 1;
  return status;
};

/** Returns what must not change while a namespace is not served. */
const tenantState = async (tenant: Tenant): Promise<unknown> => {
  const objects = await Promise.all([
    tenant.get('Account', 'team'),
    tenant.get('Project', 'shop'),
    tenant.get('Endpoint', 'orders'),
  ]);
  const { stdout } = await cluster.kubectl(['get', 'secrets', '-n', tenant.namespace, '-o', 'json']);
  const secrets = (JSON.parse(stdout) as { items: { metadata: { name: string; resourceVersion: string } }[] }).items;
  return {
    objects: objects.map(({ metadata: { uid, generation }, status }) => [uid, generation, status?.conditions]),
    secrets: secrets.map(({ metadata: { name, resourceVersion } }) => [name, resourceVersion]),
  };
};

test('the operator and the dashboard have no permission for the Secrets of all namespaces', async () => {
  for (const account of ['standin-operator', 'standin-dashboard']) {
    const as = await cluster.tokenKubeconfig(system, account);
    const { stdout } = await cluster.kubectl(['auth', 'can-i', 'get', 'secrets', '--all-namespaces'], { as });
    expect(stdout.trim(), account).toBe('no');
  }
});

test('a namespace is served as long as it has the label, and returns with its key, identity and log', async () => {
  const viewer = await createPerson(cluster, team.namespace, { name: 'viewer', role: 'standin-view' });
  const binding = ['clusterrolebinding', `${system}-viewer`, '--clusterrole=standin-view'];
  await cluster.kubectl(['create', ...binding, `--serviceaccount=${team.namespace}:viewer`]);
  const api = (path: string) =>
    ask(`${dashboard.url}/api/v1/${path}`, { headers: { authorization: `Bearer ${viewer.token}` } });
  const shown = async (): Promise<readonly string[]> => {
    const { items } = (await api('projects')).json as { items: { namespace: string }[] };
    return items.map(({ namespace }) => namespace);
  };
  const shop = `namespaces/${team.namespace}/projects/shop`;

  await other.untilReason('Endpoint', 'orders', 'Ready', 30_000);
  expect((await team.condition('Endpoint', 'orders')).reason).toBe('Outdated');
  await expect.poll(shown, { timeout: 30_000 }).toEqual([other.namespace]);
  expect((await api(shop)).status).toBe(404);

  await setLabel(team, `serve=${label}`);
  await team.untilReason('Endpoint', 'orders', 'Ready', 30_000);
  const path = `${await team.projectPath()}/orders`;
  expect(await responseStatus(team, path)).toBe(200);
  await expect.poll(shown, { timeout: 30_000 }).toEqual([team.namespace, other.namespace].toSorted());
  const logged = async () => ((await api(`${shop}/requests`)).json as { items?: { id: string }[] }).items?.length;
  await eventually('the request in the log', logged, { ...UNTIL, accept: (count) => count === accepted });

  const before = await tenantState(team);
  await setLabel(team, 'serve-');
  // The Account's key is not active either. With the key of a served Account, the project does not exist.
  await eventually('401', () => responseStatus(team, path), { ...UNTIL, accept: (status) => status === 401 });
  expect(await responseStatus(other, path)).toBe(404);
  expect(await responseStatus(other, `${await other.projectPath()}/orders`)).toBe(200);
  await expect.poll(shown, { timeout: 30_000 }).toEqual([other.namespace]);
  expect((await api(`${shop}/requests`)).status).toBe(404);
  expect(await tenantState(team)).toEqual(before);

  await setLabel(team, `serve=${label}`);
  await eventually('200', () => responseStatus(team, path), { ...UNTIL, accept: (status) => status === 200 });
  await eventually('all requests in the log', logged, { ...UNTIL, accept: (count) => count === accepted });
  expect(await team.projectPath()).toBe(path.replace('/orders', ''));
  const calls = await readMetric(deployment.operators[0]?.adminUrl ?? '', 'rest_client_requests_total');
  expect([...calls.keys()].filter((labels) => labels.includes('code="403"'))).toEqual([]);
});

test('without the Role, the Account names the missing permission and the command that grants it', async () => {
  await setLabel(withoutRole, `serve=${label}`);
  const { message } = await eventually('the condition', () => withoutRole.condition('Account', 'team', 'Accepted'), {
    ...UNTIL,
    accept: ({ status }) => status === 'False',
  });
  const { namespace } = withoutRole;
  expect(message).toContain(
    `ServiceAccount ${system}/standin-operator needs the verb "get" on secrets in namespace ${namespace}`,
  );
  expect(await responseStatus(other, `${await other.projectPath()}/orders`)).toBe(200);

  const command = /run "(.*)"/.exec(message)?.[1] ?? '';
  for (const one of command.split(' && ')) {
    const { code, stderr } = await cluster.kubectl(one.split(' ').slice(1));
    expect(code, stderr).toBe(0);
  }
  await withoutRole.untilReason('Endpoint', 'orders', 'Ready', 30_000);
  expect(await responseStatus(withoutRole, `${await withoutRole.projectPath()}/orders`)).toBe(200);
});
