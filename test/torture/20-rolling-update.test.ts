import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { bodyAsBuffer } from '@standin/exchange';
import { EVERY_PROJECT, openLogStore, type LogStore } from '@standin/logstore';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Tenant } from '../e2e/tenant.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type DeployedGateway, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin } from '../harness/install-standin.ts';

/** Torture test 20: three gateways are replaced one by one under load, behind a simulated Service. */

const RATE_PER_SECOND = 200;
const PROBE_INTERVAL_MS = 100;
/**
 * How long a stopping gateway accepts requests. The Service stops sending new connections in this time, and every open connection
 * gets a response.
 */
const DRAIN_MS = 2_000;
const DRAIN_TIMEOUT_MS = 5_000;

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let store: LogStore;
let deployment: Deployment;
let tenant: Tenant;

beforeAll(async () => {
  [cluster, clickHouse] = await Promise.all([startCluster(), startClickHouse()]);
  store = openLogStore(clickHouse);
  await installStandin(cluster);
  deployment = await deploy({
    cluster,
    clickHouse,
    operators: 1,
    gateways: 3,
    gatewayEnv: { STANDIN_DRAIN_MS: String(DRAIN_MS), STANDIN_DRAIN_TIMEOUT_MS: String(DRAIN_TIMEOUT_MS) },
  });
  tenant = await Tenant.create(cluster, 'rolling');
  await tenant.accountAndProject();
  await tenant.mock('orders', '"orders"');
  await tenant.untilReason('Endpoint', 'orders', 'Ready');
});
afterAll(async () => {
  await deployment.stop();
  await store.close();
  await Promise.all([tenant.client.close(), cluster.stop(), clickHouse.stop()]);
});

const isReady = async ({ adminUrl }: DeployedGateway): Promise<boolean> => {
  try {
    const { statusCode, body } = await request(`${adminUrl}/readyz`);
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  }
};

/** Starts a proxy that, like a Service, sends new connections only to gateways that were ready at the last probe, in turn. */
const startService = async (gateways: readonly DeployedGateway[]) => {
  let ready: readonly DeployedGateway[] = gateways;
  let next = 0;
  const server = createServer((client) => {
    const { port } = new URL(ready[next++ % ready.length]?.url ?? 'http://a');
    const upstream = connect(Number(port), '127.0.0.1');
    client.pipe(upstream).pipe(client);
    client.on('error', () => upstream.destroy()).on('close', () => upstream.destroy());
    upstream.on('error', () => client.destroy()).on('close', () => client.end());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const probes = setInterval(() => {
    void Promise.all(gateways.map(isReady)).then((are) => (ready = gateways.filter((_, index) => are[index])));
  }, PROBE_INTERVAL_MS);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      clearInterval(probes);
      server.close();
      await once(server, 'close');
    },
  };
};

test('20: no request fails or is lost while three gateways are replaced one by one under load, and each gateway exits in time', async () => {
  const service = await startService(deployment.gateways);
  const agent = new Agent({ connections: 20 });
  const [path, key] = [await tenant.projectPath(), await tenant.readSecret('team-api-key')];
  const answered: string[] = [];
  const failures: string[] = [];
  const send = async (body: string): Promise<void> => {
    try {
      const headers = { 'x-api-key': key };
      const answer = await request(`${service.url}${path}/orders`, {
        method: 'POST',
        headers,
        body,
        dispatcher: agent,
      });
      await answer.body.dump();
      if (answer.statusCode === 200) answered.push(body);
      else failures.push(`${body}: ${answer.statusCode}`);
    } catch (error) {
      failures.push(`${body}: ${String(error)}`);
    }
  };
  const running: Promise<void>[] = [];
  const load = setInterval(() => running.push(send(`n=${running.length}`)), 1_000 / RATE_PER_SECOND);
  await delay(500);
  for (const gateway of deployment.gateways) {
    const before = performance.now();
    expect(await gateway.process.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(performance.now() - before).toBeLessThan(DRAIN_MS + 2 * DRAIN_TIMEOUT_MS);
    await gateway.process.restart();
    await eventually('the gateway to be ready again', () => isReady(gateway), { timeoutMs: 40_000 });
    await delay(2 * PROBE_INTERVAL_MS);
  }
  clearInterval(load);
  await Promise.all(running);
  expect(failures).toEqual([]);
  expect(answered.length).toBeGreaterThan(5 * RATE_PER_SECOND);
  const logged = await eventually(
    'every row',
    () => store.list({ projectUid: EVERY_PROJECT, namespace: tenant.namespace, endpoint: 'orders', limit: 10_000 }),
    { accept: ({ length }) => length >= answered.length, timeoutMs: 30_000 },
  );
  expect(logged.map(({ request: sent }) => bodyAsBuffer(sent).toString()).sort()).toEqual(answered.sort());
  await agent.close();
  await service.stop();
}, 180_000);
