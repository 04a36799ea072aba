import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { LogEntry } from '@standin/exchange';
import { openLogStore, type LogStore } from '@standin/logstore';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clickHouseQuery } from '../harness/clickhouse-query.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type DeployedGateway, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin } from '../harness/install-standin.ts';
import { post, Tenant } from './tenant.ts';
import { startTlsUpstream, type TlsUpstream } from './tls-upstream.ts';

/**
 * Tests headers for upstreams from Secrets with a real API server, two gateways and an upstream with TLS. The tests build on each other,
 * in order.
 */

const [FIRST, SECOND, THIRD] = ['Bearer first-of-the-upstream', 'Bearer second-of-the-upstream', 'Bearer third'];
const NAMESPACE = 'upstreams';
const LABEL = 'standin.dev/upstream-credential';
const ORIGINS = 'standin.dev/upstream-origins';

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let upstream: TlsUpstream;
let store: LogStore;
let deployment: Deployment;
let tenant: Tenant;
let orders: string;
let key: string;

interface Received {
  readonly path: string;
  readonly authorization: string | undefined;
}
const received: Received[] = [];

const record = ({ url = '', headers: { authorization } }: IncomingMessage, prefix = ''): void => {
  received.push({ path: `${prefix}${url}`, authorization });
};
/** The target of a Replay. */
const other = createServer((request, response) => {
  record(request, 'other ');
  response.end('{}');
});

/** Set while new connections to the upstream wait. */
let held: Promise<unknown> | undefined;
const connections = new Set<Socket>();
/** The upstream as the gateways see it. */
const front = createTcpServer((client) => {
  connections.add(client);
  client.on('error', () => undefined).on('close', () => connections.delete(client));
  void Promise.resolve(held).then(() => {
    const server = connect(Number(new URL(upstream.url).port), '127.0.0.1');
    server.on('error', () => undefined).on('close', () => client.destroy());
    client.on('close', () => server.destroy());
    client.pipe(server).pipe(client);
  });
});
const portOn = (server: Pick<Server, 'address'>): number => (server.address() as AddressInfo).port;
const origin = (): string => `https://localhost:${portOn(front)}`;

beforeAll(async () => {
  [cluster, clickHouse, upstream] = await Promise.all([
    startCluster(),
    startClickHouse(),
    startTlsUpstream((request, response) => {
      record(request);
      response.end('{}');
    }),
    once(other.listen(0, '127.0.0.1'), 'listening'),
    once(front.listen(0, '127.0.0.1'), 'listening'),
  ]);
  await installStandin(cluster);
  store = openLogStore(clickHouse);
  const egress = { STANDIN_EGRESS_ALLOW: '127.0.0.0/8', STANDIN_EGRESS_CA: upstream.ca };
  deployment = await deploy({
    cluster,
    clickHouse,
    operators: 1,
    gateways: 2,
    operatorEnv: { ...clickHouse.env, ...egress, STANDIN_SECRET_POLL_MS: '500' },
    gatewayEnv: () => Promise.resolve(egress),
  });
  tenant = await Tenant.create(cluster, NAMESPACE);
  await tenant.accountAndProject();
  await applyOrders();
  orders = `${await tenant.projectPath()}/orders`;
  key = await eventually('the key', () => tenant.readSecret('team-api-key').catch(() => ''), { accept: Boolean });
});
afterAll(async () => {
  await deployment.stop();
  await tenant.client.close();
  await store.close();
  await Promise.all([cluster.stop(), clickHouse.stop(), upstream.close()]);
  other.close();
  front.close();
});

const applyOrders = (url = `${origin()}/v1`) =>
  tenant.apply('Endpoint', 'orders', {
    projectRef: { name: 'shop' },
    displayName: 'Orders',
    slug: '/orders',
    method: 'POST',
    action: 'Forward',
    forward: {
      url,
      requestHeaders: {
        set: [{ name: 'Authorization', valueFrom: { secretRef: { name: 'up', key: 'authorization' } } }],
      },
    },
  });
const untilReason = (reason: string) => tenant.untilReason('Endpoint', 'orders', reason);
const kubectl = (...args: string[]) => cluster.kubectl([...args, '-n', NAMESPACE]);
const patch = (value: string) =>
  kubectl('patch', 'secret', 'up', '-p', JSON.stringify({ stringData: { authorization: value } }));
/** Calls the endpoint at each gateway with an `Authorization` of the caller. Returns the statuses, and what the upstreams received. */
const callAll = async (query = ''): Promise<readonly [number[], Received[]]> => {
  const before = received.length;
  const headers = { authorization: 'Basic of-the-caller' };
  const statuses: number[] = [];
  for (const gateway of deployment.gateways)
    statuses.push((await post(gateway, query === '' ? orders : `${orders}?${query}`, key, { headers })).status);
  return [statuses, received.slice(before)];
};
const sentToBoth = (authorization: string, query = '') => {
  const sent = { path: query === '' ? '/v1' : `/v1?${query}`, authorization };
  return [
    [200, 200],
    [sent, sent],
  ];
};
const shownVersions = async (): Promise<unknown> =>
  (await tenant.get('Endpoint', 'orders')).status?.['upstreamSecrets'];

test('the Secret is used when it exists and has the label and the origin, which the conditions name one after the other', async () => {
  expect((await untilReason('SecretNotFound')).message).toContain(
    `kubectl label secret up -n ${NAMESPACE} ${LABEL}=true`,
  );
  expect(await callAll()).toEqual([[503, 503], []]);
  await kubectl('create', 'secret', 'generic', 'up', `--from-literal=authorization=${FIRST}`);
  expect((await untilReason('SecretInvalid')).message).toContain(LABEL);
  await kubectl('label', 'secret', 'up', `${LABEL}=true`);
  await eventually('the condition about the annotation', () => tenant.condition('Endpoint', 'orders'), {
    accept: ({ message }) => message.includes(`kubectl annotate secret up -n ${NAMESPACE} ${ORIGINS}=${origin()}`),
  });
  expect(await callAll()).toEqual([[503, 503], []]);
  await kubectl('annotate', 'secret', 'up', `${ORIGINS}=https://example.com,${origin()}`);
  await untilReason('Ready');
  expect(await callAll('first')).toEqual(sentToBoth(FIRST, 'first'));
  expect(await shownVersions()).toMatchObject([{ name: 'up', key: 'authorization' }]);
});

test('a new value is used within seconds, and the earlier one is not sent after the change is reported', async () => {
  const before = await shownVersions();
  const [gateway] = deployment.gateways as [DeployedGateway];
  const count = received.length;
  const connected = Promise.withResolvers<undefined>();
  held = connected.promise;
  for (const connection of connections) connection.destroy();
  const waiting = post(gateway, orders, key);
  await eventually('the connection', () => Promise.resolve(connections.size), { accept: (size) => size > 0 });
  await patch(SECOND);
  await eventually('the new version', shownVersions, {
    accept: (shown) => JSON.stringify(shown) !== JSON.stringify(before),
  });
  held = undefined;
  connected.resolve(undefined);
  expect(await waiting).toMatchObject({ status: 502, body: expect.stringContaining('was changed') as string });
  expect(received.slice(count)).toEqual([]);
  expect(await callAll()).toEqual(sentToBoth(SECOND));
});

test('a Replay to the upstream has the header, one to another URL does not', async () => {
  const find = async (): Promise<LogEntry[]> => {
    const entries = await store.list({ projectUid: (await tenant.get('Project', 'shop')).metadata.uid, limit: 100 });
    return entries.filter(({ query }) => query === 'first');
  };
  const [entry] = await eventually('the log', find, { accept: ({ length }) => length === 2 });
  const replay = async (name: string, target: object): Promise<Received[]> => {
    const before = received.length;
    await tenant.apply('Replay', name, { projectRef: { name: 'shop' }, requestId: entry?.id, target });
    const { status } = await eventually(`the end of ${name}`, () => tenant.get('Replay', name), {
      accept: (object) => object.status?.['completedAt'] !== undefined,
    });
    expect(status).toMatchObject({ phase: 'Succeeded' });
    return received.slice(before);
  };
  expect(await replay('up', { kind: 'Upstream' })).toEqual([{ path: '/v1?first', authorization: SECOND }]);
  const elsewhere = await replay('elsewhere', {
    kind: 'URL',
    url: `http://127.0.0.1:${portOn(other)}/v1`,
  });
  expect(elsewhere).toEqual([{ path: 'other /v1?first', authorization: undefined }]);
});

test('another upstream, and one that the annotation no longer names, get nothing', async () => {
  const unnamed = origin().replace('localhost', '127.0.0.1');
  await applyOrders(`${unnamed}/v1`);
  expect((await untilReason('SecretInvalid')).message).toContain(`is not for ${unnamed}`);
  expect(await callAll()).toEqual([[503, 503], []]);
  await applyOrders();
  await untilReason('Ready');
  await kubectl('annotate', 'secret', 'up', `${ORIGINS}-`);
  await untilReason('SecretInvalid');
  await eventually('the removal from the status', shownVersions, { accept: (shown) => shown === undefined });
  expect(await callAll()).toEqual([[503, 503], []]);
  await patch(THIRD);
  await kubectl('annotate', 'secret', 'up', `${ORIGINS}=${origin()}`);
  await untilReason('Ready');
  expect(await callAll()).toEqual(sentToBoth(THIRD));
  await kubectl('delete', 'secret', 'up');
  await untilReason('SecretNotFound');
  expect(await callAll()).toEqual([[503, 503], []]);
});

test('no value is in the log, in results of Replays, in statuses, Events or output', async () => {
  const texts = new Map<string, string>();
  const query = clickHouseQuery(clickHouse);
  for (const table of ['log', 'replay_results'])
    texts.set(table, await query(`SELECT * FROM ${table} FORMAT JSONEachRow`));
  for (const { process: running } of [...deployment.operators, ...deployment.gateways])
    texts.set(running.name, running.logTail(5_000).join('\n'));
  for (const resources of ['mockaccounts,mockprojects,mockendpoints,mockreplays', 'configmaps,events'])
    texts.set(resources, (await kubectl('get', resources, '--output=yaml')).stdout);
  const values = [FIRST, SECOND, THIRD].flatMap((value) => [value, Buffer.from(value).toString('base64')]);
  for (const [where, text] of texts) {
    expect(text.length, where).toBeGreaterThan(100);
    expect(
      values.filter((value) => text.includes(value)),
      where,
    ).toEqual([]);
  }
});
