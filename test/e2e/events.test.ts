import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Kind } from '@standin/contract';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type DeployedGateway, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin } from '../harness/install-standin.ts';
import { post, Tenant } from './tenant.ts';

/**
 * Tests what kubectl users learn about their objects from Events and from conditions about Services, with one operator and one
 * gateway.
 */

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let deployment: Deployment;
let gateway: DeployedGateway;
let tenant: Tenant;

const QUICKSTART = path.join(import.meta.dirname, '../../crds/examples/quickstart');
/**
 * The operator's hold time for faults that may resolve by themselves, minus one second, because creation times are in whole
 * seconds.
 */
const HOLD_MS = 9_000;

beforeAll(async () => {
  [cluster, clickHouse] = await Promise.all([startCluster(), startClickHouse()]);
  await installStandin(cluster);
  const operatorEnv = { STANDIN_RETENTION_FREE_DAYS_MAX: '5' };
  deployment = await deploy({ cluster, clickHouse, operators: 1, gateways: 1, operatorEnv });
  const [first] = deployment.gateways;
  if (first === undefined) throw new Error('no gateway is deployed');
  gateway = first;
  tenant = await Tenant.create(cluster, 'events');
});
afterAll(async () => {
  await deployment.stop();
  await tenant.client.close();
  await clickHouse.stop();
  await cluster.stop();
});

const kubectl = async (...args: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await cluster.kubectl(['-n', tenant.namespace, ...args]);
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
};

/** Applies an object of the quickstart. */
const applyExample = async (name: string): Promise<void> => {
  const text = await readFile(path.join(QUICKSTART, `${name}.yaml`), 'utf8');
  const { kind, metadata, spec } = parse(text) as {
    readonly kind: Kind;
    readonly metadata: { readonly name: string };
    readonly spec: Readonly<Record<string, unknown>>;
  };
  await tenant.apply(kind, metadata.name, spec);
};

interface SeenEvent {
  readonly type: string;
  readonly reason: string;
  readonly note: string;
  readonly eventTime: string;
  readonly regarding: { readonly kind: string; readonly name: string };
}
const events = async (): Promise<readonly SeenEvent[]> =>
  (JSON.parse(await kubectl('get', 'events.events.k8s.io', '-o', 'json')) as { items: SeenEvent[] }).items;
const awaitEvent = (name: string, wanted: string): Promise<SeenEvent | undefined> =>
  eventually(
    `the Event ${wanted} of ${name}`,
    async () => (await events()).find(({ reason, regarding }) => reason === wanted && regarding.name === name),
    { timeoutMs: 30_000 },
  );

test('objects that arrive in the wrong order leave one Normal Event each, and only a fault that lasts is a Warning', async () => {
  const orphan = { projectRef: { name: 'missing' }, displayName: 'a', slug: '/a', method: 'GET', action: 'JSON' };
  await tenant.apply('Endpoint', 'lasting', { ...orphan, json: { body: '1' } });
  // Does not use kubectl, because on a slow machine its five processes could take longer than the hold time.
  const endpoints = ['list-orders', 'create-order', 'cancel-order'];
  for (const name of endpoints) await applyExample(name);
  for (const name of endpoints) await tenant.untilReason('Endpoint', name, 'ProjectNotFound');
  await applyExample('project');
  await tenant.untilReason('Project', 'shop', 'AccountNotFound');
  await applyExample('account');
  for (const name of endpoints) await tenant.untilReason('Endpoint', name, 'Ready');

  const lasting = await awaitEvent('lasting', 'ProjectNotFound');
  expect(lasting).toMatchObject({ type: 'Warning', note: 'There is no Project missing in this namespace: create it.' });
  const created = await kubectl('get', 'mep', 'lasting', '-o', 'jsonpath={.metadata.creationTimestamp}');
  expect(Date.parse(lasting?.eventTime ?? '') - Date.parse(created)).toBeGreaterThan(HOLD_MS);

  const seen = (await events()).map(
    ({ type, reason, regarding }) => `${type} ${reason} ${regarding.kind} ${regarding.name}`,
  );
  expect(seen.sort()).toEqual([
    'Normal KeyGenerated Account default',
    'Normal Ready Account default',
    'Normal Ready Endpoint cancel-order',
    'Normal Ready Endpoint create-order',
    'Normal Ready Endpoint list-orders',
    'Normal Ready Project shop',
    'Warning ProjectNotFound Endpoint lasting',
  ]);
  expect(await kubectl('events', '--for', 'endpoint.standin.dev/create-order')).toContain(
    'The object is live on all gateways.',
  );
});

test('a Service that appears, loses its port or disappears is in the conditions of its Endpoint', async () => {
  const key = await tenant.readSecret('default-api-key');
  const route = {
    projectRef: { name: 'shop' },
    displayName: 'Stock',
    slug: '/stock',
    method: 'POST',
    action: 'Forward',
  };
  await tenant.apply('Endpoint', 'stock', { ...route, forward: { serviceRef: { name: 'warehouse', port: 8080 } } });
  const untilFinding = (status: string, reason: string) =>
    eventually(`${status} ${reason}`, () => tenant.condition('Endpoint', 'stock', 'ResolvedRefs'), {
      accept: (condition) => condition.status === status && condition.reason === reason,
    });
  const service = (port: number) => {
    const spec = { selector: { app: 'warehouse' }, ports: [{ port }] };
    const metadata = { name: 'warehouse', namespace: tenant.namespace };
    return cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Service', metadata, spec }));
  };
  const missing = await untilFinding('False', 'BackendNotFound');
  expect(missing.message).toBe('There is no Service warehouse in this namespace: create it.');
  await tenant.untilReason('Endpoint', 'stock', 'BackendNotFound');
  const call = () => post(gateway, `${projectPath}/stock`, key);
  const projectPath = await tenant.projectPath();
  expect((await eventually('the endpoint', call, { accept: ({ status }) => status !== 404 })).status).toBe(502);

  await service(80);
  const without = await eventually('the port', () => tenant.condition('Endpoint', 'stock', 'ResolvedRefs'), {
    accept: ({ message }) => message.includes('port 8080'),
  });
  expect(without).toMatchObject({ status: 'False', reason: 'BackendNotFound' });
  await service(8080);
  await untilFinding('True', 'ResolvedRefs');
  await tenant.untilReason('Endpoint', 'stock', 'Ready');
  await kubectl('delete', 'service', 'warehouse');
  await untilFinding('False', 'BackendNotFound');
  await tenant.untilReason('Endpoint', 'stock', 'BackendNotFound');
  expect((await call()).status).toBe(502);
});

test('a URI that is set later is a Warning with the old and the new URL', async () => {
  const before = await kubectl('get', 'mpr', 'shop', '-o', 'jsonpath={.status.url}');
  await tenant.apply('Project', 'shop', { uri: 'pinned-by-the-test' });
  const moved = await awaitEvent('shop', 'UriChanged');
  expect(moved?.type).toBe('Warning');
  expect(moved?.note).toContain(`begin with http://standin.test/pinned-by-the-test instead of ${before}:`);
});

test('the plan of the Account limits the retention of its Projects', async () => {
  const shownRetention = async () => (await tenant.get('Project', 'shop')).status?.['retentionDays'];
  await tenant.apply('Project', 'shop', { retentionDays: 20 });
  await tenant.apply('Account', 'default', { plan: 'Free' });
  await eventually('the maximum for the plan Free', shownRetention, { accept: (days) => days === 5 });
  await tenant.apply('Account', 'default', { plan: 'Pro' });
  await eventually('the retention of the Project', shownRetention, { accept: (days) => days === 20 });
});

test('a URI that begins with the prefix of another Account is refused, without the name of the other team', async () => {
  const other = await Tenant.create(cluster, 'payments');
  onTestFinished(() => other.client.close());
  await other.apply('Account', 'team', { plan: 'Free', uriPrefix: 'reserved-' });
  await other.untilReason('Account', 'team', 'Ready');
  const uri = 'reserved-for-another-team';
  await tenant.apply('Project', 'later', { displayName: 'Later', accountRef: { name: 'default' }, uri });
  const { message } = await tenant.untilReason('Project', 'later', 'Conflicted');
  expect(message).toContain(uri);
  expect(message.replace(uri, '')).not.toMatch(/payments|team|reserved-/);
  await other.apply('Project', 'own', { displayName: 'Own', accountRef: { name: 'team' }, uri });
  await other.untilReason('Project', 'own', 'Ready');
  await other.remove('Project', 'own');
  await other.apply('Account', 'team', { uriPrefix: null });
  // The URI stays reserved for the other namespace, whose objects may be applied again.
  await other.apply('Project', 'again', { displayName: 'Again', accountRef: { name: 'team' }, uri });
  await other.untilReason('Project', 'again', 'Ready');
  await tenant.untilReason('Project', 'later', 'Conflicted');
});
