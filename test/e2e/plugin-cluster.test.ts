import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { encodeRow, openLogStore } from '@standin/logstore';
import type { LogRow } from '@standin/contract';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { newLogRow } from '../../packages/exchange/src/log-row.testing.ts';
import { runCommand, type CommandResult } from '../cluster/run-command.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import type { Cluster } from '../harness/cluster.ts';
import { createNamespace, deleteNamespace } from '../harness/namespace.ts';
import { sharedCluster } from '../harness/shared-cluster.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { createPerson, startClusterDashboard, type ClusterDashboard } from './cluster-dashboard.ts';
import { ROOT } from './dev-stand.ts';
import { startForwardingKubelet, type ForwardingKubelet } from './forwarding-kubelet.ts';

/**
 * Tests `kubectl standin` on a cluster with nothing configured but a kubeconfig: it forwards a port to the dashboard through the API
 * server, and signs in with the kubeconfig's token.
 */

const PLUGIN = path.join(ROOT, 'cli/plugin/main.ts');
const DASHBOARD_PORT = 3000;

let cluster: Cluster;
let clickHouse: TestClickHouse;
let dashboard: ClusterDashboard;
let kubelet: ForwardingKubelet;
/** The namespace of the dashboard's pods. */
let system: string;
/** The namespace of the project. */
let team: string;
let row: LogRow;
let state: string;

beforeAll(async () => {
  [cluster, clickHouse, state] = await Promise.all([sharedCluster(), startClickHouse(), createTempFolder('plugin')]);
  [system, team] = await Promise.all([createNamespace(cluster), createNamespace(cluster)]);
  const spec = { displayName: 'Shop', accountRef: { name: 'team' } };
  await cluster.apply(
    JSON.stringify({
      apiVersion: 'standin.dev/v1alpha1',
      kind: 'Project',
      metadata: { name: 'shop', namespace: team },
      spec,
    }),
  );
  const uid = await cluster.kubectl(['get', 'mpr', 'shop', '-n', team, '-o', 'jsonpath={.metadata.uid}']);
  row = newLogRow({ namespace: team, project: 'shop', projectUid: uid.stdout });
  const store = openLogStore(clickHouse);
  await store.migrate();
  await store.insert({ rows: encodeRow(row), rowCount: 1, token: row.id });
  await store.close();
  [dashboard, kubelet] = await Promise.all([
    startClusterDashboard({ cluster, clickHouse }),
    startForwardingKubelet(cluster, system),
    createPerson(cluster, team, { name: 'viewer', role: 'standin-view' }),
    createPerson(cluster, team, { name: 'stranger', role: 'standin-view' }),
  ]);
  kubelet.forward('dashboard-1', DASHBOARD_PORT, dashboard.url);
  await createPod('dashboard-0', 'False');
  await createPod('dashboard-1', 'True');
  await grant('viewer', system, FORWARD, [{ kind: 'ServiceAccount', name: 'viewer', namespace: team }]);
});
afterAll(async () => {
  await kubelet.close();
  await dashboard.process.kill();
  await clickHouse.stop();
  await deleteNamespace(cluster, team);
  await deleteNamespace(cluster, system);
});

/** Creates a pod as the chart's, on the node of this test. */
const createPod = async (name: string, ready: string): Promise<void> => {
  const container = {
    name: 'dashboard',
    image: 'standin',
    ports: [{ name: 'http', containerPort: DASHBOARD_PORT }],
    env: [{ name: 'STANDIN_SERVICE', value: `${system}/standin-dashboard` }],
  };
  const metadata = { name, namespace: system, labels: { 'app.kubernetes.io/component': 'dashboard' } };
  const spec = { nodeName: kubelet.node, containers: [container] };
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, spec }));
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: ready }] };
  const patch = ['--subresource=status', '--type=merge', '-p', JSON.stringify({ status })];
  const { code, stderr } = await cluster.kubectl(['patch', 'pod', name, '-n', system, ...patch]);
  expect(code, stderr).toBe(0);
};

const RBAC = 'rbac.authorization.k8s.io';
/** The rules of the Role in docs/guides/kubectl.md. */
const FORWARD = [
  { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
  { apiGroups: [''], resources: ['pods/portforward'], verbs: ['get', 'create'] },
];

const grant = async (name: string, namespace: string, rules: object, subjects: object): Promise<void> => {
  const metadata = { name, namespace };
  const items = [
    { apiVersion: `${RBAC}/v1`, kind: 'Role', metadata, rules },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: RBAC, kind: 'Role', name },
      subjects,
    },
  ];
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
};

const pluginArguments = (...args: readonly string[]): readonly string[] => {
  const run = `await (await import(${JSON.stringify(PLUGIN)})).runPlugin()`;
  return ['--input-type=module', '-e', run, '--', ...args];
};

/** Runs the plugin with a kubeconfig and no other configuration. */
const kubectlStandin = (kubeconfig: string, ...args: readonly string[]): Promise<CommandResult> => {
  const env = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('STANDIN_'))),
    KUBECONFIG: kubeconfig,
    HOME: state,
    XDG_STATE_HOME: state,
  };
  return runCommand(process.execPath, pluginArguments(...args), { cwd: state, env });
};

const place = (): readonly string[] => ['--system-namespace', system];

describe('kubectl standin', () => {
  test('reads the log with the kubeconfig alone, in the namespace of its context', async () => {
    const viewer = await cluster.tokenKubeconfig(team, 'viewer');
    const { code, stdout, stderr } = await kubectlStandin(viewer, 'logs', '-p', 'shop', '-o', 'json', ...place());
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ id: row.id, namespace: team, project: 'shop' });
    const elsewhere = await kubectlStandin(viewer, 'logs', '-p', 'shop', '-n', 'default', ...place());
    expect(elsewhere).toMatchObject({ code: 1, stdout: '' });
    const everywhere = await kubectlStandin(viewer, 'logs', '-A', '-o', 'json', ...place());
    expect(JSON.parse(everywhere.stdout)).toMatchObject({ id: row.id });
  });

  test('explains a captured request, which needs several requests to the dashboard', async () => {
    const viewer = await cluster.tokenKubeconfig(team, 'viewer');
    const explained = await kubectlStandin(viewer, 'explain', row.id, ...place());
    expect(explained).toMatchObject({ code: 0, stderr: '' });
  });

  test('prints the API key of an account to users who may read its Secret', async () => {
    const account = {
      apiVersion: 'standin.dev/v1alpha1',
      kind: 'Account',
      metadata: { name: 'team', namespace: team },
    };
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'team-api-key', namespace: team } };
    const items = [
      { ...account, spec: {} },
      { ...secret, stringData: { 'api-key': 'standin_the-key' } },
    ];
    await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    const show = async () =>
      kubectlStandin(await cluster.tokenKubeconfig(team, 'viewer'), 'key', 'show', 'team', ...place());
    const refused = await show();
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('secrets "team-api-key" is forbidden');
    const rules = [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['team-api-key'], verbs: ['get'] }];
    await grant('key-reader', team, rules, [{ kind: 'ServiceAccount', name: 'viewer', namespace: team }]);
    expect(await show()).toEqual({ code: 0, stdout: 'standin_the-key\n', stderr: '' });
  });

  test('opens pages only at a URL that browsers can reach', async () => {
    const { code, stderr } = await kubectlStandin(await cluster.tokenKubeconfig(team, 'viewer'), 'open', ...place());
    expect(code).toBe(1);
    expect(stderr).toContain('set dashboard.url in the values of the chart');
  });

  test('serves the dashboard on a local port until it is stopped', async () => {
    const env = { ...process.env, KUBECONFIG: await cluster.tokenKubeconfig(team, 'viewer') };
    const args = [...pluginArguments('dashboard', '--no-browser', ...place())];
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const { value: url } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
    for (let round = 0; round < 3; round++) {
      const response = await fetch(`${String(url)}healthz`);
      expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
    }
    const page = await fetch(`${String(url)}login`);
    expect(await page.text()).toContain('Kubernetes token');
    child.kill('SIGINT');
    const [code] = (await once(child, 'exit')) as [number];
    expect(code).toBe(0);
  });

  test('names the missing permission', async () => {
    const stranger = await cluster.tokenKubeconfig(team, 'stranger');
    const refused = await kubectlStandin(stranger, 'logs', ...place());
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('cannot list resource "pods"');
    expect(refused.stderr).toContain('docs/guides/kubectl.md');
  });

  test('names the remedy for a user without a token, which --service-account is', async () => {
    const anonymous = [{ kind: 'User', apiGroup: RBAC, name: 'system:anonymous' }];
    await grant('anonymous', system, FORWARD, anonymous);
    const token = [{ apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'] }];
    await grant('anonymous', team, token, anonymous);
    const view = await cluster.kubectl(['config', 'view', '--raw', '-o', 'json']);
    const kubeconfig = JSON.parse(view.stdout) as { users: { user: object }[] };
    const file = path.join(state, 'anonymous.kubeconfig');
    const users = kubeconfig.users.map((user) => ({ ...user, user: {} }));
    await writeFile(file, JSON.stringify({ ...kubeconfig, users }));
    const logs = ['logs', '-n', team, '-o', 'json', ...place()];
    const refused = await kubectlStandin(file, ...logs);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('Add --service-account NAMESPACE/NAME');
    const { code, stdout, stderr } = await kubectlStandin(file, ...logs, '--service-account', `${team}/viewer`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ id: row.id });
  });

  test('reports a namespace without a dashboard', async () => {
    const { code, stderr } = await kubectlStandin(cluster.kubeconfigPath, 'logs', '--system-namespace', team);
    expect(code).toBe(1);
    expect(stderr).toContain(`namespace ${team} has no pod of the dashboard: name Standin's namespace`);
  });
});
