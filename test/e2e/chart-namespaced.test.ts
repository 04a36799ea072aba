import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createShareToken, shareTokenSha256 } from '../../dashboard/src/shares/share-token.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import type { Cluster } from '../harness/cluster.ts';
import { deploy, type DeployedOperator, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { asList, parseObjects, renderChart } from '../harness/helm.ts';
import { createNamespace, deleteNamespace } from '../harness/namespace.ts';
import { freePort } from '../harness/ports.ts';
import { startProcess } from '../harness/processes.ts';
import { sharedCluster } from '../harness/shared-cluster.ts';
import { ask } from './api-stand.ts';
import { createPerson, startClusterDashboard, type ClusterDashboard } from './cluster-dashboard.ts';
import { readMetric, post, Tenant } from './tenant.ts';

/**
 * Tests `watch.namespaces`. The operator and the dashboard run with the Roles that the chart creates for one team's namespace, and
 * have no ClusterRole. A second namespace is not watched.
 */

let cluster: Cluster;
let clickHouse: TestClickHouse;
let deployment: Deployment;
let dashboard: ClusterDashboard;
let system: string;
let team: Tenant;
let unwatched: Tenant;

const RIGHTS = ['service-accounts', 'operator/rbac', 'dashboard/rbac'].map((name) => `templates/${name}.yaml`);

const rendered = async () => {
  const set = [`watch.namespaces={${team.namespace}}`];
  return parseObjects(await renderChart({ chartCase: 'namespaced', namespace: system, set, only: RIGHTS }));
};

beforeAll(async () => {
  [cluster, clickHouse] = await Promise.all([sharedCluster(), startClickHouse()]);
  system = await createNamespace(cluster, 'test-system');
  team = await Tenant.create(cluster, await createNamespace(cluster));
  unwatched = await Tenant.create(cluster, await createNamespace(cluster));
  const rights = await rendered();
  expect(rights.filter(({ kind }) => kind.startsWith('Cluster'))).toEqual([]);
  await cluster.apply(asList(rights));
  const env = { STANDIN_WATCH_NAMESPACES: team.namespace };
  deployment = await deploy({
    cluster,
    clickHouse,
    operators: 1,
    gateways: 1,
    systemNamespace: system,
    operatorEnv: { ...env, STANDIN_SECRET_POLL_MS: '500' },
  });
  dashboard = await startClusterDashboard({ cluster, clickHouse, env, systemNamespace: system });
});
afterAll(async () => {
  await Promise.all([deployment.stop(), dashboard.process.kill()]);
  await Promise.all([team, unwatched].map(({ client }) => client.close()));
  await clickHouse.stop();
  for (const name of [system, team.namespace, unwatched.namespace]) await deleteNamespace(cluster, name);
});

test('an endpoint in a watched namespace becomes ready and serves requests; one in another namespace is ignored', async () => {
  for (const tenant of [unwatched, team]) {
    await tenant.accountAndProject();
    await tenant.mock('orders', '"ok"');
  }
  await team.untilReason('Endpoint', 'orders', 'Ready');
  const [gateway] = deployment.gateways;
  if (gateway === undefined) throw new Error('no gateway is deployed');
  const key = await team.readSecret('team-api-key');
  const answer = await post(gateway, `${await team.projectPath()}/orders`, key);
  expect(answer).toEqual({ status: 200, body: '"ok"' });
  const { status } = await unwatched.get('Endpoint', 'orders');
  expect(status?.conditions?.map(({ reason }) => reason)).toEqual(Array<string>(4).fill('Pending'));
});

test('the dashboard lists projects for a user who may read only that namespace', async () => {
  const person = await createPerson(cluster, team.namespace, { name: 'viewer', role: 'standin-view' });
  const headers = { authorization: `Bearer ${person.token}` };
  await expect
    .poll(async () => (await ask(`${dashboard.url}/api/v1/projects`, { headers })).json)
    .toMatchObject({ items: [{ namespace: team.namespace, name: 'shop' }] });
});

const operator = (): DeployedOperator => {
  const [first] = deployment.operators;
  if (first === undefined) throw new Error('no operator is deployed');
  return first;
};
/** Returns the number of the operator's calls with this method that the API server has denied. */
const refusals = async (adminUrl: string, method: string): Promise<number> => {
  const all = await readMetric(adminUrl, 'rest_client_requests_total');
  return [...all]
    .filter(([labels]) => labels.includes('code="403"') && labels.includes(`method="${method}"`))
    .reduce((sum, [, count]) => sum + count, 0);
};

test('the operator makes no call that its Roles forbid', async () => {
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
    expect(await refusals(operator().adminUrl, method), method).toBe(0);
  }
});

interface Rule {
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}
interface NeededPermission {
  readonly role: 'standin-operator' | 'standin-operator-resources' | 'standin-dashboard';
  readonly resource: string;
  readonly verb: string;
  /** The method of the call that is denied without the permission. */
  readonly method: string;
  /** Makes the operator use the permission. Called repeatedly, each time with a different number. */
  readonly provoke: (n: number) => Promise<unknown>;
}

const SHARE = { projectRef: { name: 'shop' }, requestId: '0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe' };
const tokenDigest = (n: number): string => n.toString(16).padStart(64, '0');

const RESOURCES_ROLE = 'standin-operator-resources';
const noAction = (): Promise<void> => Promise.resolve();
const NEEDED: readonly NeededPermission[] = [
  {
    role: RESOURCES_ROLE,
    resource: 'mockendpoints/status',
    verb: 'patch',
    method: 'PATCH',
    provoke: (n) => team.mock('orders', String(n)),
  },
  { role: RESOURCES_ROLE, resource: 'secrets', verb: 'get', method: 'GET', provoke: noAction },
  {
    role: RESOURCES_ROLE,
    resource: 'secrets',
    verb: 'create',
    method: 'POST',
    provoke: (n) => team.apply('Account', `more-${n}`, { plan: 'Free' }),
  },
  {
    role: RESOURCES_ROLE,
    resource: 'events',
    verb: 'create',
    method: 'POST',
    // This Account does not exist, so the condition changes and the operator creates an Event.
    provoke: (n) => team.apply('Project', `lost-${n}`, { displayName: 'Lost', accountRef: { name: 'nobody' } }),
  },
  {
    role: RESOURCES_ROLE,
    resource: 'mockshares',
    verb: 'delete',
    method: 'DELETE',
    // The Share ended so long ago that the operator removes it immediately.
    provoke: (n) =>
      team.apply('Share', `expired-${n}`, { ...SHARE, tokenSha256: tokenDigest(n), expiresAt: '2020-01-01T00:00:00Z' }),
  },
  { role: 'standin-operator', resource: 'leases', verb: 'update', method: 'PUT', provoke: noAction },
];

/** Removes a verb on a resource from a Role while `work` runs. */
const withoutPermission = async <T>(
  { role, resource, verb }: Pick<NeededPermission, 'role' | 'resource' | 'verb'>,
  work: () => Promise<T>,
): Promise<T> => {
  const namespace = role === 'standin-operator' ? system : team.namespace;
  const { stdout } = await cluster.kubectl(['get', 'role', role, '-n', namespace, '-o', 'json']);
  const { rules, ...rest } = JSON.parse(stdout) as { readonly rules: readonly Rule[] };
  const put = (changed: readonly Rule[]) =>
    cluster.apply(JSON.stringify({ ...rest, metadata: { name: role, namespace }, rules: changed }));
  const fewer = rules.map((rule) =>
    rule.resources.includes(resource) ? { ...rule, verbs: rule.verbs.filter((name) => name !== verb) } : rule,
  );
  expect(fewer).not.toEqual(rules);
  await put(fewer.filter(({ verbs }) => verbs.length > 0));
  try {
    return await work();
  } finally {
    await put(rules);
  }
};

test.for(NEEDED)(
  'the operator is denied access without $verb on $resource and recovers when the verb is granted again',
  async (right) => {
    const { adminUrl } = operator();
    const before = await refusals(adminUrl, right.method);
    let tries = 0;
    const isRefused = async (): Promise<boolean> => {
      await right.provoke(tries);
      tries += 1;
      return (await refusals(adminUrl, right.method)) > before;
    };
    await withoutPermission(right, async () => {
      await eventually(`a denied ${right.method}`, isRefused, { timeoutMs: 30_000, intervalMs: 250 });
    });
    await team.mock('orders', `"after ${right.resource}"`);
    await team.untilReason('Endpoint', 'orders', 'Ready', 40_000);
  },
);

/** The operator and the dashboard need the permissions for these verbs when they start. */
const START_VERBS = ['list', 'watch'] as const;

// rights.test.ts shows that no permission is unused or missing. The tests in this file show, for each verb, that the API server
// enforces a permission for it.
test('the tests in this file cover every verb that the operator and the dashboard may use', async () => {
  const roles = (await rendered()).filter(({ kind }) => kind === 'Role');
  const verbs = roles.flatMap(({ rules }) => (rules as readonly Rule[]).flatMap((rule) => rule.verbs));
  expect(new Set([...NEEDED.map(({ verb }) => verb), ...START_VERBS])).toEqual(new Set(verbs));
});

test.for(START_VERBS)('the operator needs %s on endpoints to become ready', async (verb) => {
  const [streamPort, adminPort] = [await freePort(), await freePort()];
  const adminUrl = `http://127.0.0.1:${adminPort}`;
  await withoutPermission({ role: RESOURCES_ROLE, resource: 'mockendpoints', verb }, async () => {
    const late = startProcess({
      name: `late-${verb}`,
      main: 'operator/src/main.ts',
      env: {
        STANDIN_NAME: `late-${verb}`,
        STANDIN_KUBECONFIG: await cluster.tokenKubeconfig(system, 'standin-operator'),
        STANDIN_NAMESPACE: system,
        STANDIN_WATCH_NAMESPACES: team.namespace,
        STANDIN_STREAM_HOST: '127.0.0.1',
        STANDIN_STREAM_PORT: String(streamPort),
        STANDIN_ADMIN_HOST: '127.0.0.1',
        STANDIN_ADMIN_PORT: String(adminPort),
      },
    });
    onTestFinished(() => late.kill('SIGKILL').then(() => undefined));
    await eventually('a denied GET', async () => (await refusals(adminUrl, 'GET')) > 0, { timeoutMs: 30_000 });
    if (verb === 'list') expect((await ask(`${adminUrl}/readyz`)).status).toBe(503);
  });
  await eventually('the operator', async () => (await ask(`${adminUrl}/readyz`)).status === 200, {
    timeoutMs: 40_000,
  });
});

test.for(START_VERBS)('the dashboard needs %s on projects to list them', async (verb) => {
  const person = await createPerson(cluster, team.namespace, { name: `late-viewer-${verb}`, role: 'standin-view' });
  const env = { STANDIN_WATCH_NAMESPACES: team.namespace };
  const late = await withoutPermission({ role: 'standin-dashboard', resource: 'mockprojects', verb }, async () => {
    const started = await startClusterDashboard({ cluster, clickHouse, env, systemNamespace: system });
    onTestFinished(() => started.process.kill('SIGKILL').then(() => undefined));
    await started.process.waitForLine('the denial', (line) => line.includes(`cannot ${verb} resource`), 30_000);
    return started;
  });
  const headers = { authorization: `Bearer ${person.token}` };
  const shown = async () => {
    const { items } = (await ask(`${late.url}/api/v1/projects`, { headers })).json as { items?: { name: string }[] };
    return items?.map(({ name }) => name);
  };
  await expect.poll(shown, { timeout: 40_000 }).toContain('shop');
});

test('the dashboard cannot look up a share link without get on shares', async () => {
  const token = createShareToken();
  const spec = { ...SHARE, tokenSha256: shareTokenSha256(token), expiresAt: '2099-01-01T00:00:00Z' };
  const opened = async (): Promise<number> => (await ask(`${dashboard.url}/s/${token}`)).status;
  await withoutPermission({ role: 'standin-dashboard', resource: 'mockshares', verb: 'get' }, async () => {
    await team.apply('Share', 'link', spec);
    await expect.poll(opened, { timeout: 30_000 }).toBeGreaterThanOrEqual(500);
  });
  // The link is valid, but the log does not contain the shared request.
  await expect.poll(opened, { timeout: 30_000 }).toBe(404);
});

test('the operator and the dashboard cannot list other namespaces', async () => {
  for (const account of ['standin-operator', 'standin-dashboard']) {
    const as = await cluster.tokenKubeconfig(system, account);
    for (const where of [['--all-namespaces'], ['-n', unwatched.namespace]]) {
      const { stdout } = await cluster.kubectl(['auth', 'can-i', 'list', 'mockprojects.standin.dev', ...where], { as });
      expect(stdout.trim(), `${account} ${where.join(' ')}`).toBe('no');
    }
  }
});
