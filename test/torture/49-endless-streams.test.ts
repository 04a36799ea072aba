import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { post, Tenant, type SeenObject } from '../e2e/tenant.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { clickHouseQuery, type Query } from '../harness/clickhouse-query.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type DeployedGateway, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin } from '../harness/install-standin.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { isLongRun } from './oracle.ts';

/**
 * Torture test 49: while a stream of one tenant runs on each gateway and never ends by itself, the Purges of another tenant complete
 * under load and delete exactly what they select, and the quota stays exact, although a gateway is killed. The tenant's own Purge
 * completes when the gateways have ended its streams.
 */

const GATEWAYS = 3;
const ROUNDS = isLongRun() ? 10 : 2;
const MARKED = 12;
/** Longer than a Purge takes, and short enough to wait for. */
const EXCHANGE_TIMEOUT_MS = 25_000;
const PURGED_MS_MAX = 45_000;

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let deployment: Deployment;
let folder: string;
let query: Query;
/** The tenant with the streams. */
let streaming: Tenant;
/** The tenant whose Purges must complete. */
let purging: Tenant;
const targets = { stream: '', order: '' };
const keys = { stream: '', order: '' };
const upstream = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const timer = setInterval(() => response.write('data: tick\n\n'), 100);
  response.on('close', () => clearInterval(timer));
});

beforeAll(async () => {
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  [cluster, clickHouse, folder] = await Promise.all([startCluster(), startClickHouse(), createTempFolder('streams')]);
  query = clickHouseQuery(clickHouse);
  await installStandin(cluster);
  const egress = { STANDIN_EGRESS_ALLOW: '127.0.0.0/8' };
  deployment = await deploy({
    cluster,
    clickHouse,
    operators: 1,
    gateways: GATEWAYS,
    operatorEnv: { ...clickHouse.env, ...egress },
    gatewayEnv: (index) =>
      Promise.resolve({
        ...egress,
        STANDIN_SPOOL_QUIET_MS: '1000',
        STANDIN_LIMITS_EXCHANGE_TIMEOUT_MS: String(EXCHANGE_TIMEOUT_MS),
        STANDIN_DATA_DIR: path.join(folder, String(index)),
      }),
  });
  streaming = await Tenant.create(cluster, 'streaming');
  purging = await Tenant.create(cluster, 'purging');
  await Promise.all([streaming.accountAndProject(), purging.accountAndProject()]);
  await purging.apply('Account', 'team', { plan: 'Pro', monthlyQuota: 1_000_000 });
  await purging.mock('orders', '"ok"');
  const { port } = upstream.address() as AddressInfo;
  await streaming.apply('Endpoint', 'events', {
    projectRef: { name: 'shop' },
    displayName: 'events',
    slug: '/events',
    method: 'GET',
    action: 'Forward',
    forward: { url: `http://127.0.0.1:${port}` },
  });
  await Promise.all([
    streaming.untilReason('Endpoint', 'events', 'Ready'),
    purging.untilReason('Endpoint', 'orders', 'Ready'),
  ]);
  Object.assign(keys, {
    stream: await streaming.readSecret('team-api-key'),
    order: await purging.readSecret('team-api-key'),
  });
  Object.assign(targets, {
    stream: `${await streaming.projectPath()}/events`,
    order: `${await purging.projectPath()}/orders`,
  });
});
afterAll(async () => {
  await deployment.stop();
  await Promise.all([streaming.client.close(), purging.client.close()]);
  upstream.closeAllConnections();
  upstream.close();
  await clickHouse.stop();
  await cluster.stop();
  await rm(folder, { recursive: true, force: true });
});

const gateway = (index: number): DeployedGateway => {
  const found = deployment.gateways[index % GATEWAYS];
  assert(found);
  return found;
};

/** Opens a stream that its caller reads. Resolves with its response when the first event has arrived. */
const openStream = async ({ url }: DeployedGateway): Promise<IncomingMessage> => {
  const request = get(`${url}${targets.stream}`, { headers: { 'x-api-key': keys.stream }, agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  await once(response, 'data');
  response.resume();
  return response;
};
const openStreams = (): Promise<IncomingMessage[]> => Promise.all(deployment.gateways.map(openStream));

/** Sends requests to all gateways until `until` is settled. A gateway that is down does not respond. */
const withLoad = async <T>(until: Promise<T>): Promise<T> => {
  const state = { isOver: false };
  const over = until.finally(() => (state.isOver = true));
  over.catch(() => undefined);
  for (let n = 0; !state.isOver; n++) {
    await post(gateway(n), targets.order, keys.order, { body: 'load' }).catch(() => undefined);
    await delay(20);
  }
  return over;
};

/** Captures requests with this body on all gateways that are not left out. */
const capture = (body: string, leftOut?: number): Promise<unknown> =>
  Promise.all(
    Array.from({ length: MARKED }, async (_, n) => {
      const index = n % GATEWAYS === leftOut ? n + 1 : n;
      expect((await post(gateway(index), targets.order, keys.order, { body })).status).toBe(200);
    }),
  );
const purge = (tenant: Tenant, name: string, search?: string): Promise<SeenObject> => {
  const to = new Date(Date.now() + 1_000).toISOString().replace(/\.\d+Z$/, 'Z');
  const selection = search === undefined ? { filter: { to }, requests: 'All' } : { filter: { search, to } };
  return tenant.apply('Purge', name, { projectRef: { name: 'shop' }, reason: 'torture test 49', ...selection });
};
const completed = async (tenant: Tenant, name: string, timeoutMs = PURGED_MS_MAX): Promise<number> => {
  const { status } = await eventually(`the end of ${name}`, () => tenant.get('Purge', name), {
    accept: (seen) => seen.status?.['phase'] === 'Completed',
    timeoutMs,
  });
  return Number(status?.['matched']);
};
const count = async (condition: string): Promise<number> =>
  Number(await query(`SELECT uniqExact(id) FROM log WHERE ${condition} FORMAT TSV`));

let purged = 0;

test('49: Purges of other tenants complete beside endless streams, and delete exactly what they select', async () => {
  const round = async (marker: string): Promise<void> => {
    const streams = await openStreams();
    await capture(marker);
    await purge(purging, marker, `body:${marker}`);
    purged += await completed(purging, marker);
    // The streams ran before the Purge was created, and still run.
    expect(streams.map(({ readableEnded, destroyed }) => [readableEnded, destroyed])).toEqual(
      streams.map(() => [false, false]),
    );
    expect(await count(`request_body = '${marker}'`)).toBe(0);
    for (const stream of streams) stream.destroy();
  };
  for (let number = 1; number <= ROUNDS; number++) await withLoad(round(`round${number}`));
  expect(purged).toBe(ROUNDS * MARKED);
}, 600_000);

test('49: a gateway that is killed with a stream delivers what it had, and only then does a Purge complete', async () => {
  const kill = async (): Promise<void> => {
    const [, killed, ...others] = await openStreams();
    await capture('killed');
    await gateway(1).process.kill('SIGKILL');
    await purge(purging, 'killed', 'body:killed');
    await eventually('the Purge to wait', () => purging.get('Purge', 'killed'), {
      accept: ({ status }) => JSON.stringify(status?.['waitingFor'] ?? '').includes('gateway-1'),
      timeoutMs: PURGED_MS_MAX,
    });
    await gateway(1).process.restart();
    purged += await completed(purging, 'killed', 2 * PURGED_MS_MAX);
    expect(await count(`request_body = 'killed'`)).toBe(0);
    // Neither what was delivered before the kill nor what the next process delivered appears again.
    await capture('after');
    await eventually('later requests', () => count(`request_body = 'after'`), { accept: (found) => found === MARKED });
    expect(await count(`request_body = 'killed' OR request_body LIKE 'round%'`)).toBe(0);
    for (const stream of [killed, ...others]) stream?.destroy();
  };
  await withLoad(kill());
  // The streams of the rounds, whose callers have left, may have been running on that gateway, too.
  await eventually('the killed stream', () => count(`path = '/events' AND outcome = 'response_unknown'`), {
    accept: (found) => found >= 1 && found <= 1 + ROUNDS,
  });
}, 600_000);

test('49: the quota counts each accepted request once, those that were purged and those of the killed gateway too', async () => {
  const used = async (): Promise<number> => {
    const { status } = await purging.get('Account', 'team');
    return (status?.['usage'] as { readonly accepted?: number } | undefined)?.accepted ?? 0;
  };
  const wanted = async (): Promise<number> => purged + (await count(`path = '/orders'`));
  await eventually('the usage', async () => [await used(), await wanted()] as const, {
    accept: ([one, other]) => one === other,
    timeoutMs: 60_000,
  });
}, 120_000);

test("49: the tenant's own Purge completes when the gateways have ended its streams, and they are recorded as ended", async () => {
  const before = await count(`path = '/events'`);
  const streams = await openStreams();
  await purge(streaming, 'own');
  await eventually('the Purge to wait', () => streaming.get('Purge', 'own'), {
    accept: ({ status }) => JSON.stringify(status?.['waitingFor'] ?? '').includes('gateway-'),
  });
  // A Purge selects what was received up to a second after its creation.
  await delay(2_000);
  const later = await openStreams();
  const matched = await completed(streaming, 'own', EXCHANGE_TIMEOUT_MS + PURGED_MS_MAX);
  expect(streams.every(({ readableAborted }) => readableAborted)).toBe(true);
  // Those that were opened after the Purge stay in the log, and have their own outcome.
  expect(matched).toBeGreaterThanOrEqual(before + GATEWAYS);
  await eventually('the later streams', () => count(`path = '/events' AND outcome = 'exchange_timeout'`), {
    accept: (found) => found === GATEWAYS,
    timeoutMs: EXCHANGE_TIMEOUT_MS + 10_000,
  });
  expect(await count(`path = '/events'`)).toBe(GATEWAYS);
  expect(later.every(({ readableAborted }) => readableAborted)).toBe(true);
}, 600_000);
