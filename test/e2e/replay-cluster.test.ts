import { createHash } from 'node:crypto';
import type { LogEntry } from '@standin/exchange';
import { openLogStore, type LogStore } from '@standin/logstore';
import { parseFilter } from '@standin/exchange/search';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type DeployedGateway, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin } from '../harness/install-standin.ts';
import { freePort } from '../harness/ports.ts';
import { readMetric, post, Tenant, type SeenObject } from './tenant.ts';

/** Tests replays with a real API server, two operators, a gateway and a ClickHouse engine. */

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let store: LogStore;
let deployment: Deployment;
let gateway: DeployedGateway;
let tenant: Tenant;
let projectUid: string;

const COUNT = 40;
const NUMBERS = Array.from({ length: COUNT }, (_, n) => n);
/** The maximum time of a failover. It covers the expiry of a lease and the start of the new leader. */
const FAILOVER_MS_MAX = 20_000;

beforeAll(async () => {
  [cluster, clickHouse] = await Promise.all([startCluster(), startClickHouse()]);
  await installStandin(cluster);
  store = openLogStore(clickHouse);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  deployment = await deploy({
    cluster,
    clickHouse,
    operators: 2,
    gateways: 1,
    gatewayEnv: { STANDIN_PORT: String(port) },
    operatorEnv: { ...clickHouse.env, STANDIN_REPLAY_GATEWAY_URL: url },
  });
  const [deployed] = deployment.gateways;
  if (deployed === undefined) throw new Error('no gateway is deployed');
  gateway = { ...deployed, url };
  tenant = await Tenant.create(cluster, 'replays');
  await tenant.accountAndProject();
  await tenant.mock('orders', '"ok"');
  await tenant.untilReason('Endpoint', 'orders', 'Ready');
  const key = await tenant.readSecret('team-api-key');
  const path = await tenant.projectPath();
  for (const n of NUMBERS) expect((await post(gateway, `${path}/orders`, key, { body: `n=${n}` })).status).toBe(200);
  projectUid = (await tenant.get('Project', 'shop')).metadata.uid;
  await eventually('the log', captured, { accept: ({ length }) => length === COUNT });
});
afterAll(async () => {
  await deployment.stop();
  await tenant.client.close();
  await store.close();
  await clickHouse.stop();
  await cluster.stop();
});

const search = (text: string) => {
  const result = parseFilter(text);
  if (result.kind === 'invalid') throw new Error(result.problem.message);
  return result.filter;
};
const find = (text: string): Promise<LogEntry[]> =>
  store.list({ projectUid, search: search(text), order: 'oldest-first', limit: 1_000 });
/** Returns the requests that callers, not replays, sent. */
const captured = (): Promise<LogEntry[]> => find('-header.standin-replay-of:*');
/** Returns the requests that replays sent through the gateway. */
const repeated = (): Promise<LogEntry[]> => find('header.standin-replay-of:*');
const requestNumber = ({ request }: LogEntry): number => Number(/n=(\d+)/.exec(request.body)?.[1]);

const replayPhase = ({ status }: SeenObject): unknown => status?.['phase'];
const ended = (name: string, timeoutMs = 20_000): Promise<SeenObject> =>
  eventually(`the end of ${name}`, () => tenant.get('Replay', name), {
    accept: ({ status }) => status?.['completedAt'] !== undefined,
    timeoutMs,
  });
const filter = { search: '-header.standin-replay-of:*', from: '2020-01-01T00:00:00Z', to: '2099-01-01T00:00:00Z' };
const PROJECT = { projectRef: { name: 'shop' } };
/** One week from now. */
const EXPIRES_AT = new Date(Date.now() + 7 * 24 * 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z');

test('the status contains the response to one request within a second, and the log contains the request with a marker', async () => {
  const [entry] = await captured();
  if (entry === undefined) throw new Error('no entry');
  const spec = { ...PROJECT, requestId: entry.id, target: { kind: 'Endpoint' } };
  const startedAt = performance.now();
  await tenant.apply('Replay', 'one', spec);
  const { status } = await eventually('the response', () => tenant.get('Replay', 'one'), {
    accept: (object) => object.status?.['result'] !== undefined,
    intervalMs: 20,
  });
  // The target is one second on an idle machine. Other tests run at the same time here.
  expect(performance.now() - startedAt).toBeLessThan(3_000);
  expect(status).toMatchObject({ phase: 'Succeeded', planned: 1, sent: 1, failed: 0, result: { status: 200 } });
  const again = await eventually('the row', () => find(`header.standin-replay-of:${entry.id}`), {
    accept: ({ length }) => length === 1,
  });
  expect(again[0]).toMatchObject({ method: 'POST', request: { body: entry.request.body } });
  const { metadata } = await tenant.get('Replay', 'one');
  const answer = await store.replays.exchange({
    projectUid,
    namespace: tenant.namespace,
    project: 'shop',
    replayUid: metadata.uid,
    requestId: entry.id,
  });
  expect(answer).toMatchObject({ status: 200, response: { body: '"ok"' } });
  expect(JSON.stringify(answer)).not.toContain(await tenant.readSecret('team-api-key'));

  const { stdout } = await cluster.kubectl(['get', 'mre', '-n', tenant.namespace]);
  expect(stdout).toMatch(/NAME +PHASE +SENT +PLANNED +FAILED +TARGET +AGE\none +Succeeded +1 +1 +0 +Endpoint/);
});

test('a private address is blocked, with the reason in the status', async () => {
  const [entry] = await captured();
  const spec = { ...PROJECT, requestId: entry?.id, target: { kind: 'URL', url: 'http://127.0.0.1:6443/' } };
  await tenant.apply('Replay', 'private', spec);
  const { status } = await ended('private');
  expect(status?.conditions?.map(({ type, status: is }) => `${type}=${is}`)).toEqual([
    'Accepted=True',
    'Failed=True',
    'Stalled=True',
  ]);
  expect(status).toMatchObject({
    phase: 'Failed',
    failed: 1,
    result: { status: 0, error: expect.stringContaining('not allowed by the administrator') as string },
  });
});

test('a Replay finds no projects or requests in another namespace', async () => {
  const [entry] = await captured();
  const other = await Tenant.create(cluster, 'replays-other');
  try {
    const spec = { ...PROJECT, requestId: entry?.id, target: { kind: 'Endpoint' } };
    await other.apply('Replay', 'theirs', spec);
    await eventually('the reason', () => other.condition('Replay', 'theirs', 'Accepted'), {
      accept: ({ reason }) => reason === 'ProjectNotFound',
    });
    // A project with the same name in another namespace does not give access to the log of the first project.
    await other.accountAndProject();
    await eventually('the rejection', () => other.condition('Replay', 'theirs', 'Accepted'), {
      accept: ({ reason }) => reason === 'RequestNotFound',
    });
    expect(replayPhase(await other.get('Replay', 'theirs'))).toBe('Failed');
  } finally {
    await other.client.close();
  }
});

test('a Share is ready if the log has its request, and stalled if no gateway can deliver it', async () => {
  const [entry] = await captured();
  await tenant.apply('Account', 'team', { plan: 'Pro' });
  const share = (name: string, requestId: string | undefined) => {
    const tokenSha256 = createHash('sha256').update(name).digest('hex');
    return tenant.apply('Share', name, { ...PROJECT, requestId, tokenSha256, expiresAt: EXPIRES_AT });
  };
  await share('found', entry?.id);
  await share('mistyped', '0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe');
  await tenant.untilReason('Share', 'found', 'Ready');
  await tenant.untilReason('Share', 'mistyped', 'RequestNotFound');
  expect(await tenant.condition('Share', 'mistyped', 'Accepted')).toMatchObject({ status: 'True' });
  await eventually('the end of the search', () => tenant.condition('Share', 'mistyped', 'Stalled'), {
    accept: ({ reason }) => reason === 'RequestNotFound',
    timeoutMs: 60_000,
  });
});

test('a deleted Replay stops', async () => {
  const before = (await repeated()).length;
  await tenant.apply('Replay', 'deleted', { ...PROJECT, filter, target: { kind: 'Endpoint' }, ratePerSecond: 4 });
  await eventually('the first ones', repeated, { accept: ({ length }) => length > before });
  await tenant.remove('Replay', 'deleted');
  await eventually('its end', async () => (await running()).every((count) => count === 0));
  expect((await repeated()).length - before).toBeLessThan(COUNT);
});

/** Returns the number of replays that each operator runs. */
const running = (): Promise<number[]> =>
  Promise.all(deployment.operators.map(({ adminUrl }) => runningReplays(adminUrl)));

const runningReplays = async (adminUrl: string): Promise<number> =>
  [...(await readMetric(adminUrl, 'standin_replay_running')).values()].reduce((sum, value) => sum + value, 0);

test('a leader that was frozen until after its term steps down, and the next one completes its Replay', async () => {
  const spec = { ...PROJECT, filter, target: { kind: 'Endpoint' }, ratePerSecond: 8, order: 'Original' };
  await tenant.apply('Replay', 'frozen', spec);
  await eventually('some progress', () => tenant.get('Replay', 'frozen'), {
    accept: ({ status }) => status?.['cursor'] !== undefined,
  });
  const frozen = deployment.operators[(await running()).indexOf(1)];
  frozen?.process.signal('SIGSTOP');
  const { status } = await ended('frozen', FAILOVER_MS_MAX + 20_000);
  expect(status).toMatchObject({ phase: 'Succeeded', planned: COUNT, sent: COUNT, answered: COUNT, failed: 0 });
  frozen?.process.signal('SIGCONT');
  await eventually('both operators', running, { accept: (all) => all.every((count) => count === 0) });
  expect((await tenant.get('Replay', 'frozen')).status).toEqual(status);
});

test('another operator continues the Replay of a killed one and sends each request in the original order', async () => {
  // Rows of earlier tests may not be in the log yet.
  const startedAt = new Date().toISOString();
  const sent = async (): Promise<number[]> =>
    (await repeated()).filter(({ receivedAt }) => receivedAt >= startedAt).map(requestNumber);
  const spec = { ...PROJECT, filter, target: { kind: 'Endpoint' }, ratePerSecond: 8, order: 'Original' };
  await tenant.apply('Replay', 'killed', spec);
  await eventually('some progress', () => tenant.get('Replay', 'killed'), {
    accept: ({ status }) => status?.['cursor'] !== undefined,
  });
  await deployment.operators[(await running()).indexOf(1)]?.process.kill('SIGKILL');

  const { status } = await ended('killed', FAILOVER_MS_MAX + 20_000);
  expect(status).toMatchObject({ phase: 'Succeeded', planned: COUNT, sent: COUNT, answered: COUNT, failed: 0 });
  const order = await eventually('all of them in the log', sent, {
    accept: (found) => new Set(found).size === COUNT,
  });
  // The order goes back at most once, to the requests whose results were not stored yet when the operator was killed.
  const back = order.findIndex((n, index) => n !== (order[index - 1] ?? -1) + 1);
  const [firstPart, secondPart] = back === -1 ? [order, []] : [order.slice(0, back), order.slice(back)];
  expect(firstPart).toEqual(NUMBERS.slice(0, firstPart.length));
  if (back !== -1) expect(secondPart).toEqual(NUMBERS.slice(secondPart[0]));
});

test('a new leader shows how many projects an account has, and when a project received its last request', async () => {
  const newest = Math.max(...(await captured()).map(({ receivedAt }) => Date.parse(receivedAt)));
  const { status } = await eventually('the time of the last request', () => tenant.get('Project', 'shop'), {
    accept: (project) => project.status?.['lastRequestAt'] !== undefined,
  });
  expect(Date.parse(String(status?.['lastRequestAt']))).toBeGreaterThanOrEqual(newest - 600_000);
  expect((await tenant.get('Account', 'team')).status?.['projects']).toBe(1);
});
