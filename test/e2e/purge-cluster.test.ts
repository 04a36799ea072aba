import assert from 'node:assert/strict';
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { openLogStore, type LogStore } from '@standin/logstore';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { clickHouseQuery, type Query } from '../harness/clickhouse-query.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type DeployedGateway, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin } from '../harness/install-standin.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { startFaultyClickHouse, type FaultyClickHouse } from '../torture/faulty-clickhouse.ts';
import { startUpstream, type Upstream } from '../torture/upstream.ts';
import { post, Tenant, type SeenObject } from './tenant.ts';

/**
 * Tests purges on a real API server with two operators and two gateways, while requests reach the log late. The reasons are that a
 * gateway cannot connect to ClickHouse, that an upstream does not respond, that a row is in quarantine, or that a gateway is killed and
 * both operators are restarted.
 */

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
/** The proxy between the second gateway and ClickHouse. */
let front: FaultyClickHouse;
let upstream: Upstream;
/** Responds to the requests that the upstream has received so far. */
let release: () => void;
let store: LogStore;
let query: Query;
let deployment: Deployment;
let tenant: Tenant;
let key: string;
let project: string;
let folder: string;

const EGRESS = { STANDIN_EGRESS_ALLOW: '127.0.0.0/8' };
const QUIET_MS = 1_000;
const JANE = '{"to":"jane@example.com"}';
const OTHER = '{"to":"joe@example.com"}';
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
/** The maximum time of a purge. It covers the expiry of a lease and the start of the new leader. */
const PURGED_MS_MAX = 60_000;

beforeAll(async () => {
  [cluster, clickHouse, folder] = await Promise.all([startCluster(), startClickHouse(), createTempFolder('purge')]);
  await installStandin(cluster);
  front = await startFaultyClickHouse(clickHouse.url);
  const waiting: (() => void)[] = [];
  release = () => {
    for (const end of waiting.splice(0)) end();
  };
  upstream = await startUpstream((socket) => waiting.push(() => socket.write(OK)));
  store = openLogStore(clickHouse);
  query = clickHouseQuery(clickHouse);
  deployment = await deploy({
    cluster,
    clickHouse,
    operators: 2,
    gateways: 2,
    operatorEnv: { ...clickHouse.env, ...EGRESS },
    gatewayEnv: (index) =>
      Promise.resolve({
        ...EGRESS,
        STANDIN_SPOOL_QUIET_MS: String(QUIET_MS),
        STANDIN_DATA_DIR: path.join(folder, String(index)),
        ...(index === 1 && { STANDIN_CLICKHOUSE_URL: front.url }),
      }),
  });
  tenant = await Tenant.create(cluster, 'purge');
  await tenant.apply('Account', 'team', { plan: 'Pro', monthlyQuota: 1_000 });
  await tenant.apply('Project', 'shop', { accountRef: { name: 'team' } });
  await tenant.mock('orders', '"ok"');
  const forwarding = { projectRef: { name: 'shop' }, displayName: 'slow', slug: '/slow', method: 'POST' };
  await tenant.apply('Endpoint', 'slow', { ...forwarding, action: 'Forward', forward: { url: upstream.url } });
  for (const name of ['orders', 'slow']) await tenant.untilReason('Endpoint', name, 'Ready');
  key = await tenant.readSecret('team-api-key');
  project = await tenant.projectPath();
});
afterAll(async () => {
  release();
  await deployment.stop();
  await tenant.client.close();
  await front[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
  await store.close();
  await clickHouse.stop();
  await cluster.stop();
  await rm(folder, { recursive: true, force: true });
});

let sent = 0;
const gateway = (index: number): DeployedGateway => {
  const found = deployment.gateways[index];
  assert(found);
  return found;
};
const order = async (index: number, body: string, slug = 'orders'): Promise<void> => {
  sent += 1;
  expect((await post(gateway(index), `${project}/${slug}`, key, { body })).status).toBe(200);
};
const bodies = async (of = 'shop'): Promise<string[]> => {
  const found = await query(`SELECT DISTINCT id, request_body FROM log WHERE project = '${of}' ORDER BY id`);
  return found.split('\n').flatMap((line) => line.split('\t')[1] ?? []);
};
const untilBodies = (...wanted: string[]): Promise<string[]> =>
  eventually('the log', () => bodies(), { accept: (found) => found.toSorted().join() === wanted.toSorted().join() });

const SEARCH = { search: 'body:"jane@example.com"' };
const purge = async (name: string, what: { search: string } | 'All' = SEARCH): Promise<void> => {
  // `to` is the end of the current second, so that all requests so far are included.
  const to = new Date(Date.now() + 1_000).toISOString().replace(/\.\d+Z$/, 'Z');
  const selection = what === 'All' ? { filter: { to }, requests: 'All' } : { filter: { ...what, to } };
  await tenant.apply('Purge', name, { projectRef: { name: 'shop' }, reason: 'a test', ...selection });
};
const waitingFor = (name: string, ...wanted: string[]): Promise<SeenObject> =>
  eventually(`${name} to wait`, () => tenant.get('Purge', name), {
    accept: ({ status }) => JSON.stringify(status?.['waitingFor']) === JSON.stringify(wanted),
    timeoutMs: PURGED_MS_MAX,
  });
const completed = (name: string): Promise<SeenObject> =>
  eventually(`the end of ${name}`, () => tenant.get('Purge', name), {
    accept: ({ status }) => status?.['phase'] === 'Completed',
    timeoutMs: PURGED_MS_MAX,
  });

beforeEach(() => {
  front.fault = () => ({ kind: 'none' });
});

test('deletes what is in the log, reports it, and keeps the object', async () => {
  await Promise.all([order(0, JANE), order(1, JANE), order(0, OTHER)]);
  await untilBodies(JANE, JANE, OTHER);
  const [entry] = await store.list({ projectUid: (await tenant.get('Project', 'shop')).metadata.uid, limit: 10 });
  const replayed = { projectRef: { name: 'shop' }, target: { kind: 'URL', url: `${upstream.url}/again` } };
  await tenant.apply('Replay', 'again', { ...replayed, requestId: entry?.id });
  await eventually('the replay to reach its destination', () => Promise.resolve(upstream.requests.length), {
    accept: (count) => count > 0,
  });
  await purge('first', 'All');
  // The purge waits for the running replay, which has already read its request, and also deletes the replay's result.
  await waitingFor('first', 'Replay again');
  release();
  const { status } = await completed('first');
  expect(status).toMatchObject({ matched: 3, completedAt: expect.any(String) as string });
  expect(await bodies()).toEqual([]);
  expect(await query('SELECT count() FROM replay_results')).toBe('0');
  const { stdout } = await cluster.kubectl(['get', 'purge', 'first', '-n', 'purge', '--no-headers']);
  expect(stdout).toMatch(/^first +shop +Completed +3 /);
  const wait = ['wait', 'purge/first', '-n', 'purge', '--for=condition=Complete', '--timeout=5s'];
  expect((await cluster.kubectl(wait)).code).toBe(0);
  const events = await cluster.kubectl(['events', '-n', 'purge', '--for', 'project.standin.dev/shop']);
  expect(events.stdout).toContain('Purge first deleted 3 requests from the log.');
});

test('waits for a gateway that cannot deliver, and deletes nothing before', async () => {
  front.fault = () => ({ kind: 'down' });
  await Promise.all([order(0, JANE), order(1, JANE), order(1, OTHER)]);
  await untilBodies(JANE);
  await purge('late');
  await waitingFor('late', 'gateway gateway-1');
  await order(0, JANE);
  await untilBodies(JANE, JANE);
  front.fault = () => ({ kind: 'none' });
  await completed('late');
  expect(await bodies()).toEqual(expect.arrayContaining([OTHER, JANE]));
  // OTHER does not match the search. The last JANE was received after the Purge was created.
  expect(await bodies()).toHaveLength(2);
});

test('waits for a request whose upstream has not responded', async () => {
  const seen = upstream.requests.length;
  const running = order(0, JANE, 'slow');
  await eventually('the upstream', () => Promise.resolve(upstream.requests.length), {
    accept: (count) => count > seen,
  });
  await purge('running');
  await waitingFor('running', 'gateway gateway-0');
  release();
  await running;
  await completed('running');
  expect(await bodies()).toEqual([OTHER]);
});

test('waits for no request of another project', async () => {
  await tenant.apply('Project', 'other', { accountRef: { name: 'team' } });
  const forwarding = { projectRef: { name: 'other' }, displayName: 'slow', slug: '/slow', method: 'POST' };
  await tenant.apply('Endpoint', 'others', { ...forwarding, action: 'Forward', forward: { url: upstream.url } });
  await tenant.untilReason('Endpoint', 'others', 'Ready');
  const target = `${await tenant.projectPath('other')}/slow`;
  const seen = upstream.requests.length;
  const running = Promise.all(deployment.gateways.map((one) => post(one, target, key, { body: JANE })));
  await eventually('the upstream', () => Promise.resolve(upstream.requests.length), {
    accept: (count) => count === seen + deployment.gateways.length,
  });
  await order(1, JANE);
  await untilBodies(OTHER, JANE);
  await purge('beside');
  await completed('beside');
  expect(await bodies()).toEqual([OTHER]);
  await tenant.apply('Purge', 'others', {
    projectRef: { name: 'other' },
    reason: 'a test',
    filter: { to: new Date().toISOString() },
    requests: 'All',
  });
  await waitingFor('others', 'gateway gateway-0', 'gateway gateway-1');
  release();
  for (const { status } of await running) expect(status).toBe(200);
  sent += deployment.gateways.length;
  expect((await completed('others')).status?.['matched']).toBe(2);
  expect([await bodies(), await bodies('other')]).toEqual([[OTHER], []]);
});

test('waits for a gateway that was killed, under a new leader, until it is back', async () => {
  front.fault = () => ({ kind: 'down' });
  await order(1, JANE);
  await gateway(1).process.kill('SIGKILL');
  await purge('killed');
  await waitingFor('killed', 'gateway gateway-1, which is not connected');
  await Promise.all(deployment.operators.map((operator) => operator.process.kill('SIGTERM')));
  await Promise.all(deployment.operators.map((operator) => operator.process.restart()));
  await waitingFor('killed', 'gateway gateway-1, which is not connected');
  front.fault = () => ({ kind: 'none' });
  await gateway(1).process.restart();
  await completed('killed');
  expect(await bodies()).toEqual([OTHER]);
});

test('waits until someone has removed the files in quarantine', async () => {
  front.fault = () => ({ kind: 'poison', bytes: 'jane' });
  await order(1, JANE);
  const quarantine = path.join(folder, '1', 'spool', 'quarantine');
  await eventually('the quarantine', () => readdir(quarantine).catch(() => []), { accept: ({ length }) => length > 0 });
  await purge('quarantine');
  await waitingFor('quarantine', 'gateway gateway-1, which has files in quarantine');
  await rm(quarantine, { recursive: true });
  await completed('quarantine');
});

test('does not return the permits of purged requests when a gateway is lost', async () => {
  const used = async (): Promise<number> => {
    const { status } = await tenant.get('Account', 'team');
    return (status?.['usage'] as { readonly accepted?: number } | undefined)?.accepted ?? 0;
  };
  for (let request = 0; request < 7; request++) await order(0, JANE);
  await purge('permits', 'All');
  await completed('permits');
  expect(await bodies()).toEqual([]);
  // The gateway's next process reports that the records of the killed process are delivered. The operator then settles the permits
  // of the killed process.
  await gateway(0).process.kill('SIGKILL');
  await gateway(0).process.restart();
  const settled = (): boolean =>
    deployment.operators.some(({ process }) =>
      process
        .logTail(2_000)
        .some((line) => line.includes('permits of a stopped gateway settled') && line.includes('gateway-0')),
    );
  await eventually('the permits to be settled', () => Promise.resolve(settled()), {
    accept: (is) => is,
    timeoutMs: 60_000,
  });
  await eventually('the usage', used, { accept: (count) => count === sent, timeoutMs: 30_000 });
});
