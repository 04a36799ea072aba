import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createClient } from '@clickhouse/client';
import { RESOURCES } from '@standin/contract';
import { resourcePath } from '@standin/kube';
import { openLogStore, type LogStore } from '@standin/logstore';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createShareToken, shareTokenSha256 } from '../../dashboard/src/shares/share-token.ts';
import { certificateSecret } from '../../operator/src/publish/certificate-secret.ts';
import { planCertificates } from '../../operator/src/publish/certificates.ts';
import { createAuditLog, rightText, type AuditLog } from '../harness/audit-log.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type DeployedGateway, type DeployedOperator, type Deployment } from '../harness/deployment.ts';
import { drainTemplate } from '../harness/drain-job.ts';
import { eventually } from '../harness/eventually.ts';
import { asList, parseObjects, renderChart, type RenderedObject } from '../harness/helm.ts';
import { installStandin } from '../harness/install-standin.ts';
import { freePort } from '../harness/ports.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { ask } from './api-stand.ts';
import { startClusterDashboard, type ClusterDashboard } from './cluster-dashboard.ts';
import { post, Tenant } from './tenant.ts';

/**
 * Compares the permissions in the chart's Roles with those that the API server's audit log shows as used. The tests fail if a role
 * has a permission that the operator and the dashboard never use, or lacks one that they need.
 */

const SYSTEM = 'standin-rights';
const TEAM = 'team-rights';
const LONG_AGO = '2020-01-01T00:00:00Z';
const UNTIL = { timeoutMs: 40_000, intervalMs: 100 };

let audit: AuditLog;
let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let store: LogStore;
let deployment: Deployment;
let operator: DeployedOperator;
let gateway: DeployedGateway;
let dashboard: ClusterDashboard;
let team: Tenant;
let rendered: readonly RenderedObject[];
let folder: string;

beforeAll(async () => {
  audit = await createAuditLog();
  folder = await createTempFolder('rights');
  [cluster, clickHouse] = await Promise.all([startCluster({ apiServerArgs: audit.apiServerArgs }), startClickHouse()]);
  await installStandin(cluster);
  team = await Tenant.create(cluster, TEAM);
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM } }));
  const set = [`watch.namespaces={${TEAM}}`, 'gateway.replicas=3'];
  rendered = parseObjects(await renderChart({ chartCase: 'namespaced', namespace: SYSTEM, set }));
  const needed = new Set(['ServiceAccount', 'Role', 'RoleBinding', 'StatefulSet']);
  await cluster.apply(asList(rendered.filter(({ kind }) => needed.has(kind))));
  await createNewerTables();
  await start();
}, 120_000);
afterAll(async () => {
  await Promise.all([deployment.stop(), dashboard.process.kill()]);
  await Promise.all([team.client.close(), store.close()]);
  await clickHouse.stop();
  await cluster.stop();
  await audit.remove();
  await rm(folder, { recursive: true, force: true });
});

/** Creates the tables and records a migration of a later version. */
const createNewerTables = async (): Promise<void> => {
  store = openLogStore(clickHouse);
  await store.migrate();
  const { url, username, password, database } = clickHouse;
  const client = createClient({ url, username, password, database });
  await client.command({ query: `INSERT INTO migrations (number, name) VALUES (999, '999_future')` });
  await client.close();
};

const start = async (): Promise<void> => {
  const jobTemplate = path.join(folder, 'job.yaml');
  await writeFile(jobTemplate, drainTemplate(rendered).replace('backoffLimit: 10', 'backoffLimit: 0'));
  const env = { STANDIN_WATCH_NAMESPACES: TEAM };
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  deployment = await deploy({
    cluster,
    clickHouse,
    operators: 1,
    gateways: 1,
    systemNamespace: SYSTEM,
    gatewayEnv: { STANDIN_PORT: String(port), STANDIN_SPOOL_QUIET_MS: '100' },
    operatorEnv: {
      ...env,
      ...clickHouse.env,
      STANDIN_SECRET_POLL_MS: '500',
      STANDIN_STREAM_GATEWAY_FORGET_MS: '1000',
      STANDIN_REPLAY_GATEWAY_URL: url,
      STANDIN_DRAIN_JOB_TEMPLATE: jobTemplate,
      STANDIN_DRAIN_QUIET_MS: '0',
    },
  });
  const [firstOperator, firstGateway] = [deployment.operators[0], deployment.gateways[0]];
  if (firstOperator === undefined || firstGateway === undefined)
    throw new Error('no operator or no gateway is deployed');
  operator = firstOperator;
  gateway = { ...firstGateway, url };
  dashboard = await startClusterDashboard({ cluster, clickHouse, env, systemNamespace: SYSTEM });
};

const kubectl = async (...args: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await cluster.kubectl(args);
  if (code !== 0) throw new Error(stderr);
  return stdout;
};

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}
/** Returns `Role NAMESPACE/NAME: PERMISSION` for each permission in the chart's Roles. */
const granted = (): ReadonlySet<string> =>
  new Set(
    rendered
      .filter(({ kind }) => kind === 'Role')
      .flatMap(({ metadata, rules }) =>
        (rules as readonly Rule[]).flatMap(({ apiGroups, resources, verbs }) =>
          apiGroups.flatMap((group) =>
            resources.flatMap((resource) =>
              verbs.map(
                (verb) => `Role ${metadata.namespace ?? ''}/${metadata.name}: ${rightText(verb, resource, group)}`,
              ),
            ),
          ),
        ),
      ),
  );
const requests = async () =>
  (await audit.read()).filter(({ serviceAccount }) => serviceAccount.startsWith(`${SYSTEM}:standin-`));
const used = async (): Promise<ReadonlySet<string>> =>
  new Set((await requests()).flatMap(({ isAllowed, role, right }) => (isAllowed ? [`${role ?? ''}: ${right}`] : [])));
const untilUsed = (right: string) =>
  eventually(right, async () => [...(await used())].some((one) => one.endsWith(`: ${right}`)), UNTIL);

const call = async (): Promise<number> => {
  const key = await team.readSecret('team-api-key');
  return (await post(gateway, `${await team.projectPath()}/orders`, key)).status;
};

test('exercises an account, a project, an endpoint that becomes invalid twice, and traffic', async () => {
  await team.accountAndProject();
  await team.mock('orders', '"ok"');
  await team.untilReason('Endpoint', 'orders', 'Ready');
  expect(await call()).toBe(200);
  for (const body of ['{', '1', '{']) {
    await team.mock('broken', body);
    await team.untilReason('Endpoint', 'broken', body === '1' ? 'Ready' : 'Invalid');
  }
  await untilUsed('patch events.events.k8s.io');
}, 60_000);

test('exercises purges, and replays, key regenerations, expectations and shares, which are deleted after they expire', async () => {
  const forget = async (kind: 'Replay' | 'KeyRegeneration', name: string): Promise<void> => {
    await eventually(`the end of ${name}`, async () => (await team.get(kind, name)).status?.['completedAt'], UNTIL);
    await team.apply(kind, name, { ttlSecondsAfterFinished: 0 });
    await untilUsed(`delete ${RESOURCES[kind].plural}.standin.dev`);
  };
  const filter = { search: 'method:POST', from: LONG_AGO, to: '2099-01-01T00:00:00Z' };
  const replay = async (): Promise<void> => {
    await team.apply('Replay', 'again', { projectRef: { name: 'shop' }, filter, target: { kind: 'Endpoint' } });
    await forget('Replay', 'again');
  };
  const regenerate = async (): Promise<void> => {
    // One of them waits for the other, which the operator reads without a cache.
    const names = ['new-key', 'newer-key'];
    await Promise.all(names.map((name) => team.apply('KeyRegeneration', name, { accountRef: { name: 'team' } })));
    await untilUsed('get mockkeyregenerations.standin.dev');
    await forget('KeyRegeneration', 'new-key');
  };
  const share = async (): Promise<void> => {
    const requestId = '0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe';
    const spec = { projectRef: { name: 'shop' }, requestId, tokenSha256: '0'.repeat(64), expiresAt: LONG_AGO };
    await team.apply('Share', 'expired', spec);
    await untilUsed('delete mockshares.standin.dev');
    const token = createShareToken();
    const tokenSha256 = shareTokenSha256(token);
    await team.apply('Share', 'lasting', { ...spec, tokenSha256, expiresAt: '2099-01-01T00:00:00Z' });
    await untilUsed('patch mockshares/status.standin.dev');
    const isOpened = async (): Promise<boolean> => {
      await ask(`${dashboard.url}/s/${token}`);
      return (await used()).has(`Role ${TEAM}/standin-dashboard: get mockshares.standin.dev`);
    };
    await eventually('the link to be looked up', isOpened, UNTIL);
  };
  const purge = async (): Promise<void> => {
    const nothing = { search: 'body:nothing', to: '2026-01-01T00:00:00Z' };
    await team.apply('Purge', 'erase', { projectRef: { name: 'shop' }, filter: nothing, reason: 'a test' });
    // The purge waits for the gateways of the chart's StatefulSet, whose pods never run, because this cluster has no nodes.
    await eventually('the state of the purge', async () => (await team.get('Purge', 'erase')).status, {
      ...UNTIL,
      accept: (status) => status?.['phase'] === 'Waiting',
    });
  };
  const expectNothing = async (): Promise<void> => {
    const path = { group: 'standin.dev', version: 'v1alpha1', plural: RESOURCES.Expectation.plural, namespace: TEAM };
    const mistake = { filter: { search: 'status:' }, count: { max: 0 }, deadline: '1m' };
    await team.apply('Expectation', 'nothing', { projectRef: { name: 'shop' }, ...mistake });
    const { status } = await eventually('the end', () => team.get('Expectation', 'nothing'), {
      ...UNTIL,
      accept: (object) => object.status?.['decidedAt'] !== undefined,
    });
    // As if a day had passed.
    const conditions = status?.conditions?.map((condition) => ({ ...condition, lastTransitionTime: LONG_AGO }));
    await team.client.mergePatch(`${resourcePath({ ...path, name: 'nothing' })}/status`, { status: { conditions } });
    await untilUsed('delete mockexpectations.standin.dev');
  };
  await Promise.all([replay(), regenerate(), share(), purge(), expectNothing()]);
}, 90_000);

test('a Replay that another client changes continuously completes, although status writes conflict', async () => {
  const filter = { search: 'method:POST', from: LONG_AGO, to: '2099-01-01T00:00:00Z' };
  let n = 0;
  const hasConflict = async (): Promise<boolean> => {
    n += 1;
    const name = `raced-${n}`;
    await team.apply('Replay', name, { projectRef: { name: 'shop' }, filter, target: { kind: 'Endpoint' } });
    const isOver = async () => (await team.get('Replay', name)).status?.['completedAt'] !== undefined;
    const place = { group: 'standin.dev', version: 'v1alpha1', plural: 'mockreplays', namespace: TEAM, name };
    for (let turn = 0; !(await isOver()); turn++)
      await team.client.mergePatch(resourcePath(place), { metadata: { annotations: { turn: String(turn) } } });
    return (await requests()).some(
      ({ right, code }) => right === 'patch mockreplays/status.standin.dev' && code === 409,
    );
  };
  await eventually('a conflict', hasConflict, UNTIL);
}, 90_000);

test('exercises volumes without gateways: their Jobs fail, succeed, and end when the gateways return', async () => {
  const scale = (replicas: number) =>
    kubectl('scale', 'statefulset', 'standin-gateway', '-n', SYSTEM, `--replicas=${replicas}`);
  const jobNames = async (): Promise<readonly string[]> =>
    (await kubectl('get', 'jobs', '-n', SYSTEM, '-o', 'name')).split('\n').filter((name) => name !== '');
  const untilJobs = () => eventually('two Jobs', jobNames, { ...UNTIL, accept: ({ length }) => length === 2 });
  await eventually(
    'three claims',
    async () => (await kubectl('get', 'pvc', '-n', SYSTEM, '-o', 'name')).split('\n').length > 3,
    UNTIL,
  );
  await scale(1);
  const [first = '', second = ''] = await untilJobs();
  await kubectl('delete', first, '-n', SYSTEM);
  await untilJobs();
  const name = second.replace('job.batch/', '');
  const pod = await eventually(
    'its pod',
    () => kubectl('get', 'pods', '-n', SYSTEM, '-l', `job-name=${name}`, '-o', 'name'),
    UNTIL,
  );
  const phase = JSON.stringify({ status: { phase: 'Succeeded' } });
  await kubectl('patch', pod.trim(), '-n', SYSTEM, '--subresource=status', '--type=merge', '-p', phase);
  await untilUsed('patch persistentvolumeclaims');
  await scale(3);
  await untilUsed('delete jobs.batch');
}, 90_000);

test('exercises a restarted gateway, a deleted account and expiring certificates', async () => {
  await gateway.process.kill('SIGKILL');
  await untilUsed('get pods');
  await gateway.process.restart();
  await untilUsed('list configmaps');
  // The new process needs a new block of permits.
  await eventually('a response', call, { ...UNTIL, accept: (status) => status === 200 });
  await untilUsed('update configmaps');
  // The next leader removes the ledger of an earlier month whose account no longer exists.
  await team.remove('Account', 'team');
  const labels = { 'app.kubernetes.io/managed-by': 'standin-operator', 'app.kubernetes.io/component': 'quota' };
  const metadata = { name: 'standin-quota-gone', namespace: SYSTEM, labels };
  const data = { ledger: JSON.stringify({ period: '2020-01', used: 1, blocks: [] }) };
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }));

  const secret = certificateSecret(team.client, SYSTEM, 'standin-stream-tls');
  await kubectl('delete', 'secret', 'standin-stream-tls', '-n', SYSTEM);
  const old = await planCertificates(undefined, new Date(Date.now() - 89 * 24 * 3_600_000));
  expect(await secret.write(old, undefined)).toBe(true);
  await operator.process.restart();
  await operator.process.waitForUrl(`${operator.adminUrl}/readyz`, UNTIL.timeoutMs);
  await untilUsed('delete configmaps');
}, 90_000);

test('the operator and the dashboard use every permission of their roles and request no other', async () => {
  const unused = async (): Promise<readonly string[]> => {
    const all = await used();
    return [...granted()].filter((right) => !all.has(right));
  };
  await eventually('every permission to be used', unused, { ...UNTIL, accept: ({ length }) => length === 0 });
  expect([...(await used())].filter((right) => right.startsWith('Role') && !granted().has(right))).toEqual([]);
  const refused = (await requests()).filter(({ isAllowed }) => !isAllowed);
  expect(new Set(refused.map(({ serviceAccount, right }) => `${serviceAccount}: ${right}`))).toEqual(new Set());
  // The gateways' ServiceAccount has no role, and the gateways have no cluster credentials.
  expect((await requests()).filter(({ serviceAccount }) => serviceAccount.endsWith('-gateway'))).toEqual([]);
}, 60_000);

test('operator, gateway and dashboard log at startup that the tables are from a newer version, and continue', async () => {
  for (const [name, process] of Object.entries({
    operator: operator.process,
    gateway: gateway.process,
    dashboard: dashboard.process,
  })) {
    const isVersionWarning = ({ msg }: Record<string, unknown>): boolean =>
      String(msg) === 'log tables newer than this version';
    await process.waitForEvent(`the message of the ${name} about the tables`, isVersionWarning);
  }
});
