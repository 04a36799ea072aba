import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { OPERATOR_FIELD_MANAGER } from '@standin/contract';
import { openLogStore } from '@standin/logstore';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createShareToken, shareTokenSha256 } from '../../dashboard/src/shares/share-token.ts';
import { projectUri } from '@standin/crds';
import { findKubectl } from '../cluster/kubectl.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type DeployedGateway, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin, SYSTEM_NAMESPACE } from '../harness/install-standin.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { ask } from './api-stand.ts';
import { createPerson, startClusterDashboard, type ClusterDashboard } from './cluster-dashboard.ts';
import { standin } from './dev-stand.ts';
import { post, Tenant } from './tenant.ts';

/**
 * Runs the drill in docs/guides/disaster-recovery.md. An installation is backed up with the commands on the page, deleted, and restored
 * in a different API server and a different ClickHouse.
 */

const TEAM = 'team-a';
const KEY = 'standin_a-key-that-exists-already-0123456789';
const QUOTA = 1_000;
const USED_BEFORE = 7;
const UNTIL = { timeoutMs: 40_000, intervalMs: 100 };
const TABLES = ['log', 'replay_results'];

interface Installation {
  readonly cluster: OwnCluster;
  readonly clickHouse: TestClickHouse;
  readonly tenant: Tenant;
  deployment?: Deployment;
  dashboard?: ClusterDashboard;
}

let old: Installation;
let restored: Installation;
let folder: string;
let shareToken: string;
/** The uids of the Account and the Project in the first cluster. */
let uids: { readonly account: string; readonly project: string };
let before: Awaited<ReturnType<typeof observe>>;

const newInstallation = async (): Promise<Installation> => {
  const [cluster, clickHouse] = await Promise.all([startCluster(), startClickHouse()]);
  await installStandin(cluster);
  const store = openLogStore(clickHouse);
  await store.migrate();
  await store.close();
  return { cluster, clickHouse, tenant: await Tenant.create(cluster, TEAM) };
};

const run = async (installation: Installation): Promise<void> => {
  const { cluster, clickHouse } = installation;
  const operatorEnv = { ...clickHouse.env, STANDIN_SECRET_POLL_MS: '500' };
  const deployment = await deploy({ cluster, clickHouse, operators: 1, gateways: 1, operatorEnv });
  installation.deployment = deployment;
  installation.dashboard = await startClusterDashboard({ cluster, clickHouse, operators: deployment.operators });
};

const end = async ({ cluster, clickHouse, tenant, deployment, dashboard }: Installation): Promise<void> => {
  await Promise.all([deployment?.stop(), dashboard?.process.kill(), tenant.client.close()]);
  await Promise.all([cluster.stop(), clickHouse.stop()]);
};

const firstGateway = ({ deployment }: Installation): DeployedGateway => {
  const [gateway] = deployment?.gateways ?? [];
  if (gateway === undefined) throw new Error('no gateway runs');
  return gateway;
};

beforeAll(async () => {
  folder = await createTempFolder('drill');
  [old, restored] = await Promise.all([newInstallation(), newInstallation()]);
}, 240_000);
afterAll(async () => {
  await Promise.all([end(old), end(restored)]);
  await rm(folder, { recursive: true, force: true });
});

/** Runs block `n` of shell commands on the page, counted from 0. */
const runDocumented = async ({ cluster }: Installation, n: number): Promise<void> => {
  const page = await readFile(path.join(import.meta.dirname, '../../docs/guides/disaster-recovery.md'), 'utf8');
  const blocks = [...page.matchAll(/^( *)```bash\n([^`]*)```/gm)].map(([, indent = '', text = '']) =>
    text.replaceAll(`\n${indent}`, '\n').trim(),
  );
  const kubectl = path.dirname(await findKubectl(console.log));
  const env = { ...process.env, PATH: `${kubectl}:${process.env['PATH'] ?? ''}`, KUBECONFIG: cluster.kubeconfigPath };
  await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', blocks[n] ?? 'exit 1'], { cwd: folder, env });
};

const kubectl = async ({ cluster }: Installation, ...args: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await cluster.kubectl(args);
  if (code !== 0) throw new Error(stderr);
  return stdout;
};

const query = async (clickHouse: TestClickHouse, sql: string, body?: Buffer): Promise<Buffer> => {
  const { url, username, password, database } = clickHouse;
  const headers = { 'x-clickhouse-user': username, 'x-clickhouse-key': password };
  const address = `${url}/?${new URLSearchParams({ database, ...(body && { query: sql }) }).toString()}`;
  const response = await request(address, { method: 'POST', headers, body: body ?? sql });
  const answer = Buffer.from(await response.body.arrayBuffer());
  if (response.statusCode !== 200) throw new Error(answer.toString());
  return answer;
};

const readLog = async (
  installation: Installation,
  project = 'shop',
): Promise<readonly { id: string; endpoint: string }[]> => {
  const { cluster, dashboard } = installation;
  const { token } = await createPerson(cluster, TEAM, { name: 'reader', role: 'standin-view' });
  const url = `${dashboard?.url ?? ''}/api/v1/namespaces/${TEAM}/projects/${project}/requests`;
  const { status, json } = await ask(url, { headers: { authorization: `Bearer ${token}` } });
  expect(status).toBe(200);
  return (json as { items: { id: string; endpoint: string }[] }).items.map(({ id, endpoint }) => ({ id, endpoint }));
};

const acceptedCount = async ({ tenant }: Installation): Promise<unknown> =>
  ((await tenant.get('Account', 'team')).status?.['usage'] as { accepted?: number } | undefined)?.accepted;

const untilAccepted = (installation: Installation, count: number): Promise<unknown> =>
  eventually(`${count} accepted requests`, () => acceptedCount(installation), {
    ...UNTIL,
    accept: (accepted) => accepted === count,
  });

/** Returns what must be the same after a restore, except the usage. */
const observe = async (installation: Installation) => {
  const { tenant, dashboard } = installation;
  const { status } = await tenant.get('Project', 'shop');
  const shared = await request(`${dashboard?.url ?? ''}/s/${shareToken}`);
  await shared.body.dump();
  return {
    url: status?.['url'],
    key: await tenant.readSecret('team-api-key'),
    log: await readLog(installation),
    shared: shared.statusCode,
    ids: [status?.['id'], (await tenant.get('Account', 'team')).status?.['id']],
  };
};

const call = async (installation: Installation, name = 'orders'): Promise<number> => {
  const { tenant } = installation;
  const key = await tenant.readSecret('team-api-key');
  return (await post(firstGateway(installation), `${await tenant.projectPath()}/${name}`, key, { body: '{}' })).status;
};

const applyAll = async ({ tenant }: Installation): Promise<void> => {
  await tenant.apply('Account', 'team', { plan: 'Pro', monthlyQuota: QUOTA });
  await tenant.apply('Project', 'shop', { displayName: 'Shop', accountRef: { name: 'team' } });
  await tenant.mock('orders', '"ok"');
};

test('objects, keys and ledgers that existed before the operator keep their URL, key and usage', async () => {
  const { tenant, cluster } = old;
  await applyAll(old);
  const [account, project] = await Promise.all([tenant.get('Account', 'team'), tenant.get('Project', 'shop')]);
  uids = { account: account.metadata.uid, project: project.metadata.uid };
  const labels = { 'app.kubernetes.io/managed-by': OPERATOR_FIELD_MANAGER };
  const key = {
    apiVersion: 'v1',
    kind: 'Secret',
    stringData: { 'api-key': KEY },
    metadata: { name: 'team-api-key', namespace: TEAM, labels },
  };
  const period = new Date().toISOString().slice(0, 7);
  const ledger = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    data: { ledger: JSON.stringify({ period, used: USED_BEFORE, blocks: [] }) },
    metadata: {
      name: `standin-quota-${uids.account}`,
      namespace: SYSTEM_NAMESPACE,
      labels: { ...labels, 'app.kubernetes.io/component': 'quota' },
    },
  };
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [key, ledger] }));

  await run(old);
  await tenant.untilReason('Endpoint', 'orders', 'Ready', UNTIL.timeoutMs);
  expect((await tenant.get('Project', 'shop')).status).toMatchObject({
    id: uids.project,
    uri: projectUri(uids.project, { displayName: 'Shop', accountRef: { name: 'team' }, retentionDays: 30 }),
  });
  expect(await tenant.readSecret('team-api-key')).toBe(KEY);
  for (let n = 0; n < 3; n += 1) expect(await call(old)).toBe(200);
  await untilAccepted(old, USED_BEFORE + 3);
}, 120_000);

test('an Account and a Project that are deleted and applied again continue', async () => {
  const { tenant } = old;
  const { url } = (await tenant.get('Project', 'shop')).status ?? {};
  for (const [kind, name] of [
    ['Endpoint', 'orders'],
    ['Project', 'shop'],
    ['Account', 'team'],
  ] as const)
    await tenant.remove(kind, name);
  await applyAll(old);
  await tenant.untilReason('Endpoint', 'orders', 'Ready', UNTIL.timeoutMs);
  const { metadata, status } = await tenant.get('Project', 'shop');
  expect(metadata.uid).not.toBe(uids.project);
  expect(status).toMatchObject({ url, id: uids.project });
  expect(await tenant.readSecret('team-api-key')).toBe(KEY);
  expect(await call(old)).toBe(200);
  await untilAccepted(old, USED_BEFORE + 4);
  await eventually('four requests in the log', () => readLog(old), { ...UNTIL, accept: ({ length }) => length === 4 });
}, 90_000);

describe('an installation that is restored in another cluster', () => {
  test('has the same URLs, keys, usage, log and shares', async () => {
    const { tenant } = old;
    const [newest] = await readLog(old);
    shareToken = createShareToken();
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const share = {
      projectRef: { name: 'shop' },
      requestId: newest?.id,
      tokenSha256: shareTokenSha256(shareToken),
      expiresAt,
    };
    await tenant.apply('Share', 'link', share);
    await eventually('the shared page', () => observe(old), { ...UNTIL, accept: ({ shared }) => shared === 200 });
    before = await observe(old);
    expect(before.ids).toEqual([uids.project, uids.account]);

    // In a planned stop, the gateway returns its unused permits.
    await firstGateway(old).process.kill('SIGTERM');
    const tables = await Promise.all(
      TABLES.map((table) => query(old.clickHouse, `SELECT * FROM ${table} FORMAT Native`)),
    );
    await runDocumented(old, 0);
    await end(old);

    for (const [index, table] of TABLES.entries())
      await query(restored.clickHouse, `INSERT INTO ${table} FORMAT Native`, tables[index]);
    await runDocumented(restored, 1);
    await run(restored);
    await restored.tenant.untilReason('Endpoint', 'orders', 'Ready', UNTIL.timeoutMs);
    await eventually('the shared page', () => observe(restored), { ...UNTIL, accept: ({ shared }) => shared === 200 });
    expect(await observe(restored)).toEqual(before);
    expect(await call(restored)).toBe(200);
    await untilAccepted(restored, USED_BEFORE + 5);
  }, 180_000);

  test('can regenerate its keys', async () => {
    const { tenant } = restored;
    await tenant.apply('KeyRegeneration', 'after-the-restore', { accountRef: { name: 'team' } });
    await eventually('a new key', () => tenant.readSecret('team-api-key'), { ...UNTIL, accept: (key) => key !== KEY });
    await eventually('a response', () => call(restored), { ...UNTIL, accept: (status) => status === 200 });
  }, 60_000);
});

const identityEntry = async (name: string): Promise<string> =>
  kubectl(
    restored,
    'get',
    'secret',
    'standin-identities',
    '-n',
    TEAM,
    '-o',
    `jsonpath={.data.${name.replace('.', '\\.')}}`,
  );
const setEntry = async (name: string, value: string): Promise<void> => {
  const patch = JSON.stringify({ data: { [name]: value } });
  await kubectl(restored, 'patch', 'secret', 'standin-identities', '-n', TEAM, '--type=merge', '-p', patch);
};

test('a copied entry is a condition and stays, and the right one is accepted again', async () => {
  const { tenant } = restored;
  const [right, copied] = [await identityEntry('Project.shop'), await identityEntry('Account.team')];
  await setEntry('Project.shop', copied);
  const { message } = await tenant.untilReason('Project', 'shop', 'IdentityInvalid', UNTIL.timeoutMs);
  expect(message).toContain('Project.shop');
  expect((await tenant.get('Project', 'shop')).status?.['id']).toBeUndefined();
  expect(await identityEntry('Project.shop')).toBe(copied);
  await setEntry('Project.shop', right);
  await tenant.untilReason('Endpoint', 'orders', 'Ready', UNTIL.timeoutMs);
  expect((await tenant.get('Project', 'shop')).status).toMatchObject({ url: before.url, id: uids.project });
}, 90_000);

test('a deleted installation key is created again, and another one is used without a restart', async () => {
  const { tenant } = restored;
  const secret = ['secret', 'standin-installation', '-n', SYSTEM_NAMESPACE];
  const identityKey = () =>
    kubectl(restored, 'get', ...secret, '--ignore-not-found', '-o', 'jsonpath={.data.identity-key}');
  const setKey = (value: string) =>
    kubectl(restored, 'patch', ...secret, '--type=merge', '-p', JSON.stringify({ data: { 'identity-key': value } }));
  const [key, entry] = [await identityKey(), await identityEntry('Project.shop')];
  const conditions = () => tenant.get('Project', 'shop').then(({ status }) => status?.['conditions']);
  const unchanged = await conditions();
  await kubectl(restored, 'delete', ...secret);
  await eventually('the key', identityKey, { ...UNTIL, accept: (found) => found === key });

  await setKey(Buffer.alloc(32, 1).toString('base64'));
  await eventually('another signature', () => identityEntry('Project.shop'), {
    ...UNTIL,
    accept: (found) => found !== entry,
  });
  await setKey(key);
  await eventually('the first signature', () => identityEntry('Project.shop'), {
    ...UNTIL,
    accept: (found) => found === entry,
  });
  expect(await conditions()).toEqual(unchanged);
}, 90_000);

test('standin admin adopt moves the URL to another name, and the documented statement moves the log', async () => {
  const { tenant, cluster, clickHouse } = restored;
  const log = await readLog(restored);
  const shop = (await tenant.get('Project', 'shop')).status;
  const args = [
    'admin',
    'adopt',
    'project',
    `${TEAM}/store`,
    '--from',
    `${TEAM}/shop`,
    '--kubeconfig',
    cluster.kubeconfigPath,
  ];
  const early = await standin(args);
  expect(early.stderr).toContain(`Project ${TEAM}/shop still exists: delete this Project first`);
  await tenant.remove('Project', 'shop');
  const { code, stdout, stderr } = await standin(args);
  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: `${uids.project}\n` });
  await tenant.apply('Project', 'store', { displayName: 'Store', accountRef: { name: 'team' } });
  await tenant.untilReason('Project', 'store', 'Ready', UNTIL.timeoutMs);
  expect((await tenant.get('Project', 'store')).status).toMatchObject({ url: shop?.['url'], id: uids.project });
  expect(await identityEntry('Project.shop')).toBe('');
  expect(await readLog(restored, 'store')).toEqual([]);
  const update = `UPDATE namespace = '${TEAM}', project = 'store' WHERE project_uid = '${uids.project}'`;
  await query(clickHouse, `ALTER TABLE log ${update} SETTINGS mutations_sync = 2`);
  expect(await readLog(restored, 'store')).toEqual(log);
}, 60_000);

test('a namespace that is created again without its Secret starts empty', async () => {
  const { cluster, tenant } = restored;
  await kubectl(restored, 'delete', 'namespace', TEAM, '--wait', '--timeout=40s');
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: TEAM } }));
  await applyAll(restored);
  await tenant.untilReason('Endpoint', 'orders', 'Ready', UNTIL.timeoutMs);
  const { metadata, status } = await tenant.get('Project', 'shop');
  expect(status?.['id']).toBe(metadata.uid);
  expect(status?.['url']).not.toBe(before.url);
  expect(await tenant.readSecret('team-api-key')).not.toBe(before.key);
  expect(await readLog(restored)).toEqual([]);
  await eventually('a response', () => call(restored), { ...UNTIL, accept: (response) => response === 200 });
  const shown = await eventually('its log', () => readLog(restored), {
    ...UNTIL,
    accept: ({ length }) => length === 1,
  });
  const { url, username, password } = restored.clickHouse;
  const server = ['--clickhouse-url', url, '--clickhouse-user', username];
  const args = ['logs', '-n', TEAM, '-p', 'shop', '-o', 'json', ...server];
  const printed = await standin(args, { env: { ...process.env, STANDIN_CLICKHOUSE_PASSWORD: password } });
  expect(
    printed.stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { id: string }).id),
  ).toEqual(shown.map(({ id }) => id));
}, 90_000);
