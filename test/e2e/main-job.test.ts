import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { bodyAsBuffer, type LogEntry } from '@standin/exchange';
import { EVERY_PROJECT, openLogStore, type LogStore } from '@standin/logstore';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin } from '../harness/install-standin.ts';
import { readMetric } from './tenant.ts';
import { startTlsUpstream, type TlsUpstream } from './tls-upstream.ts';

/**
 * Tests the main use case with real parts: API server, kubectl, ClickHouse engine, one operator and three gateways as processes.
 * The tests build on each other, in order, like a user's first session.
 */

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let store: LogStore;
let upstream: TlsUpstream;
let deployment: Deployment;
let apiKey: string;
let projectPath: string;

const NAMESPACE = 'main-job';
const BIG_RESPONSE_BYTES = 50 * 1024 * 1024;
const TRAFFIC_PAUSE_MS = 5;
const CHUNK = randomBytes(64 * 1024);

const answerUpstream = (incoming: IncomingMessage, response: ServerResponse): void => {
  if (incoming.url?.startsWith('/silent') === true) return;
  if (incoming.url?.startsWith('/big') !== true) {
    response
      .writeHead(203, { 'x-upstream': 'yes', 'content-type': 'text/plain' })
      .end(`${incoming.method} ${incoming.url}`);
    return;
  }
  const stream = async (): Promise<void> => {
    for (let sent = 0; sent < BIG_RESPONSE_BYTES; sent += CHUNK.length) {
      if (!response.write(CHUNK)) await once(response, 'drain');
    }
    response.end();
  };
  stream().catch(() => response.destroy());
};

const manifest = (spec: Record<string, unknown>, name = 'orders'): string =>
  JSON.stringify({
    apiVersion: 'standin.dev/v1alpha1',
    kind: 'Endpoint',
    metadata: { name, namespace: NAMESPACE },
    spec: { projectRef: { name: 'shop' }, displayName: name, slug: `/v1/${name}`, method: 'POST', ...spec },
  });

const json = (body: string): Record<string, unknown> => ({ action: 'JSON', json: { body } });
const forward = (url: string, timeout = '5s'): Record<string, unknown> => ({
  action: 'Forward',
  forward: { url, timeout },
});

const kubectl = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await cluster.kubectl(['-n', NAMESPACE, ...args]);
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
};

const applyAndWait = async (yaml: string, name = 'orders'): Promise<void> => {
  await cluster.apply(yaml);
  await kubectl('wait', '--for=condition=Ready', `mep/${name}`, '--timeout=30s');
};

interface GatewayResponse {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: Buffer;
}

const call = async (
  gateway: number,
  path: string,
  body: string | Buffer = '',
  key = apiKey,
): Promise<GatewayResponse> => {
  const { url } = deployment.gateways[gateway] ?? {};
  const response = await request(`${url ?? ''}${projectPath}${path}`, {
    method: 'POST',
    headers: { 'x-api-key': key },
    body,
  });
  return {
    status: response.statusCode,
    headers: response.headers,
    body: Buffer.from(await response.body.arrayBuffer()),
  };
};

/** Returns the body of each gateway's response to a path. */
const fromAll = async (path: string): Promise<string[]> =>
  Promise.all(deployment.gateways.map(async (_, index) => (await call(index, path)).body.toString()));

/** Returns the entries with this request body. */
const entriesWith = async (body: Buffer | string): Promise<LogEntry[]> => {
  const entries = await store.list({ projectUid: EVERY_PROJECT, namespace: NAMESPACE, limit: 1_000 });
  return entries.filter((entry) => bodyAsBuffer(entry.request).equals(Buffer.from(body)));
};

beforeAll(async () => {
  [cluster, clickHouse, upstream] = await Promise.all([
    startCluster(),
    startClickHouse(),
    startTlsUpstream(answerUpstream),
  ]);
  await installStandin(cluster);
  store = openLogStore(clickHouse);
  const egress = { STANDIN_EGRESS_ALLOW: '127.0.0.0/8' };
  deployment = await deploy({
    cluster,
    clickHouse,
    operatorEnv: egress,
    gatewayEnv: { ...egress, STANDIN_EGRESS_CA: upstream.ca },
  });
});
afterAll(async () => {
  await deployment.stop();
  await store.close();
  await upstream.close();
  await clickHouse.stop();
  await cluster.stop();
});

describe('the main use case', () => {
  test('the API server rejects invalid objects with a readable message', async () => {
    await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }));
    const refused = async (spec: Record<string, unknown>): Promise<string> => {
      const { code, stderr } = await cluster.kubectl(['apply', '-f', '-'], { input: manifest(spec) });
      expect(code).not.toBe(0);
      return stderr;
    };
    expect(await refused({ action: 'JSON' })).toContain('is required if action is JSON');
    expect(await refused({ ...json('{}'), slug: 'v1/orders' })).toContain('must begin with /');
    expect(await refused({ ...json('{}'), method: 'HEAD' })).toContain(
      'supported values: "GET", "POST", "PUT", "PATCH", "DELETE"',
    );
  });

  test('an applied endpoint is live on three gateways when kubectl wait returns', async () => {
    const account = {
      apiVersion: 'standin.dev/v1alpha1',
      kind: 'Account',
      metadata: { name: 'team', namespace: NAMESPACE },
    };
    const project = { ...account, kind: 'Project', metadata: { name: 'shop', namespace: NAMESPACE } };
    const items = [
      { ...account, spec: { plan: 'Free' } },
      { ...project, spec: { displayName: 'Shop', accountRef: { name: 'team' } } },
    ];
    await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    await applyAndWait(manifest(json('{"v": 1.0}')));
    const encoded = await kubectl('get', 'secret', 'team-api-key', '-o', 'jsonpath={.data.api-key}');
    apiKey = Buffer.from(encoded, 'base64').toString();
    projectPath = new URL(await kubectl('get', 'mpr', 'shop', '-o', 'jsonpath={.status.url}')).pathname;
    expect(await fromAll('/v1/orders')).toEqual(Array.from({ length: 3 }, () => '{"v": 1.0}'));
  });

  test('kubectl get standin shows all kinds with URL and readiness', async () => {
    const table = await kubectl('get', 'standin');
    expect(table).toMatch(/account\.standin\.dev\/team +Free +True/);
    expect(table).toMatch(/endpoint\.standin\.dev\/orders +http:\/\/standin\.test\/\S+\/v1\/orders +POST +True/);
  });

  test('ClickHouse stores one row with the exact bytes of the request', async () => {
    const body = Buffer.concat([Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)), randomBytes(16)]);
    expect((await call(1, '/v1/orders?a=1&a=%zz', body)).status).toBe(200);
    const [entry] = await eventually('the row', () => entriesWith(body), { accept: (rows) => rows.length > 0 });
    expect(entry).toMatchObject({
      namespace: NAMESPACE,
      project: 'shop',
      endpoint: 'orders',
      method: 'POST',
      path: '/v1/orders',
      status: 200,
      query: 'a=1&a=%zz',
      gateway: 'gateway-1',
      outcome: 'mocked',
      request: { target: `${projectPath}/v1/orders?a=1&a=%zz`, bodyEncoding: 'base64' },
      response: { body: '{"v": 1.0}', truncated: false },
    });
    expect(JSON.stringify(entry)).not.toContain(apiKey);
    expect(await entriesWith(body)).toHaveLength(1);
  });

  test('an edit is live when kubectl wait returns', async () => {
    await cluster.apply(manifest(json('{"v": 2}')));
    await kubectl('wait', '--for=jsonpath={.status.observedGeneration}=2', 'mep/orders', '--timeout=30s');
    await kubectl('wait', '--for=condition=Ready', 'mep/orders', '--timeout=30s');
    expect(await fromAll('/v1/orders')).toEqual(Array.from({ length: 3 }, () => '{"v": 2}'));
  });

  test('an invalid JSON body sets a condition with its position and affects no other endpoint', async () => {
    await cluster.apply(manifest(json('{"v": }'), 'broken'));
    await kubectl('wait', '--for=condition=Accepted=False', 'mep/broken', '--timeout=30s');
    const message = await kubectl(
      'get',
      'mep',
      'broken',
      '-o',
      'jsonpath={.status.conditions[?(@.type=="Accepted")].message}',
    );
    expect(message).toContain('spec.json.body');
    expect(await kubectl('get', 'events', '--field-selector', 'type=Warning')).toContain('Invalid');
    await eventually('503', () => call(0, '/v1/broken'), { accept: ({ status }) => status === 503 });
    expect((await call(0, '/v1/orders')).status).toBe(200);
  });

  test('a switch to Forward goes live, over TLS with a private CA', async () => {
    await applyAndWait(manifest({ ...json('{"v": 2}'), ...forward(`${upstream.url}/real`) }));
    const answer = await call(2, '/v1/orders?x=1');
    expect([answer.status, answer.headers['x-upstream'], answer.body.toString()]).toEqual([
      203,
      'yes',
      'POST /real?x=1',
    ]);
  });

  test('a 50 MiB response streams with constant memory, is captured up to the limit and keeps its real size', async () => {
    await applyAndWait(manifest(forward(`${upstream.url}/big`, '60s'), 'big'), 'big');
    const rss = async (): Promise<number> => {
      const series = await readMetric(deployment.gateways[0]?.adminUrl ?? '', 'process_resident_memory_bytes');
      return series.get('') ?? NaN;
    };
    const first = randomBytes(8).toString('hex');
    await call(0, '/v1/big', first);
    // Waits until the first exchange is delivered, because the test measures how much more memory the second one needs.
    await eventually('the first row', () => entriesWith(first), { accept: (rows) => rows.length > 0 });
    const before = await rss();
    const marker = randomBytes(8).toString('hex');
    const answer = await call(0, '/v1/big', marker);
    expect(answer.body.length).toBe(BIG_RESPONSE_BYTES);
    expect(answer.body.subarray(-CHUNK.length).equals(CHUNK)).toBe(true);
    expect((await rss()) - before).toBeLessThan(40 * 1024 * 1024);
    const [entry] = await eventually('the row', () => entriesWith(marker), { accept: (rows) => rows.length > 0 });
    expect(entry?.response).toMatchObject({ truncated: true, bodyBytes: BIG_RESPONSE_BYTES });
  });

  test('an unreachable upstream is captured as 502, and an unresponsive one as 504', async () => {
    await applyAndWait(manifest(forward('https://localhost:1/'), 'refused'), 'refused');
    await applyAndWait(manifest(forward(`${upstream.url}/silent`, '200ms'), 'silent'), 'silent');
    for (const [name, status, outcome] of [
      ['refused', 502, 'upstream_failed'],
      ['silent', 504, 'upstream_timeout'],
    ] as const) {
      const marker = randomBytes(8).toString('hex');
      const answer = await call(0, `/v1/${name}`, marker);
      expect([answer.status, answer.headers['standin-rejected']]).toEqual([status, undefined]);
      const [entry] = await eventually('the row', () => entriesWith(marker), { accept: (rows) => rows.length > 0 });
      expect(entry).toMatchObject({ status, outcome });
    }
  });

  test('a deleted endpoint responds with 404, and rejected requests are not in the log', async () => {
    await kubectl('delete', 'mep', 'orders');
    const marker = randomBytes(8).toString('hex');
    for (const index of deployment.gateways.keys()) {
      await eventually('404', () => call(index, '/v1/orders', marker), { accept: ({ status }) => status === 404 });
    }
    const wrong = `standin_${'0'.repeat(49)}`;
    expect((await call(0, '/v1/big', marker, wrong)).status).toBe(401);
    const accepted = randomBytes(8).toString('hex');
    await call(0, '/v1/silent', accepted);
    await eventually('a later row', () => entriesWith(accepted), { accept: (rows) => rows.length > 0 });
    const rejected = (await entriesWith(marker)).filter(({ status }) => status !== 200 && status !== 203);
    expect(rejected).toEqual([]);
  });

  test('traffic continues while the operator restarts', async () => {
    await applyAndWait(manifest(json('{"steady": true}'), 'steady'), 'steady');
    const [operator] = deployment.operators;
    let stopped = false;
    const statuses = new Map<number, number>();
    const traffic = Promise.all(
      deployment.gateways.map(async (_, index) => {
        while (!stopped) {
          const { status } = await call(index, '/v1/steady');
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          await delay(TRAFFIC_PAUSE_MS);
        }
      }),
    );
    await operator?.process.restart();
    await operator?.process.waitForUrl(`${operator.adminUrl}/readyz`);
    await applyAndWait(manifest(json('{"after": "restart"}'), 'after-restart'), 'after-restart');
    stopped = true;
    await traffic;
    expect([...statuses.keys()]).toEqual([200]);
    expect(await fromAll('/v1/after-restart')).toEqual(Array.from({ length: 3 }, () => '{"after": "restart"}'));
  });
});
