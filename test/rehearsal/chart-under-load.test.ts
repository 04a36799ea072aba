import { randomUUID } from 'node:crypto';
import { request } from 'undici';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startTraffic, type Traffic, type TrafficOptions } from '../e2e/traffic.ts';
import { eventually } from '../harness/eventually.ts';
import { NodeStand } from '../node/stand.ts';

/**
 * Tests an installation of the chart on a real node while it has load: an upgrade, lost pods, and gateways that are scaled down while
 * ClickHouse is unavailable. The tests build on each other, in order, and each one leaves everything running.
 */

let stand: NodeStand;
/** `/PROJECT-URI` */
let project: string;
let key: string;
let gatewayUrl: string;

const VALUES = [
  ['--set', 'clickhouse.embedded.enabled=true'],
  ['--set', 'gateway.replicas=3'],
  ['--set', 'drain.orphans.quietSeconds=5'],
  // Limits how long a stopping gateway waits for ClickHouse, which is unavailable in one of the tests.
  ['--set', 'gateway.settings.drainTimeoutMs=5000'],
  // Large bodies fill a spool of this size within seconds.
  ['--set', 'gateway.settings.spool.bytes=16777216'],
].flat();
const CALLERS = 6;
/** Ordinals of the gateways that a test removes. */
const SCALED_AWAY = [1, 2, 3, 4];
const FAILOVER_MS_MAX = 15_000;
const DELIVERED_MS_MAX = 60_000;
/** A test that replaces pods waits several seconds for each pod. */
const TEST_MS_MAX = 240_000;
/** Options for tests whose steps cannot be repeated. */
const NO_RETRY = { timeout: TEST_MS_MAX, retry: 0 };
const WITH_RETRY = { timeout: TEST_MS_MAX };

beforeAll(async () => {
  stand = await NodeStand.start();
  await stand.helm('install', '--create-namespace', ...VALUES);
  await stand.kubectl('apply', '-f', 'crds/examples/quickstart');
  await stand.kubectl('wait', '--for=condition=Ready', 'mep', '--all', '--timeout=60s');
  const secret = ['get', 'secret', 'default-api-key', '-o', 'jsonpath={.data.api-key}'];
  key = Buffer.from(await stand.kubectl(...secret), 'base64').toString();
  project = new URL(await stand.kubectl('get', 'mpr', 'shop', '-o', 'jsonpath={.status.url}')).pathname;
  gatewayUrl = await stand.serviceUrl('standin-gateway');
  // The timeout includes the time to build the images.
}, 600_000);
afterAll(() => stand.stop());
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') console.error(await stand.describe().catch(String));
});

interface Load extends Traffic {
  /** The query string of the requests, which identifies their rows. Each attempt of a test uses a new query string. */
  readonly query: string;
}

/** Starts one client for each URL. By default, all clients call the gateways' Service. */
const startLoad = (urls = Array.from({ length: CALLERS }, () => gatewayUrl), options?: TrafficOptions): Load => {
  const query = `run=${randomUUID()}`;
  const callers = urls.map((url) => ({ url }));
  return Object.assign(startTraffic(callers, `${project}/load?${query}`, key, options), { query });
};

const untilAnswered = async ({ answered }: Traffic, more: number): Promise<void> => {
  const wanted = answered.length + more;
  await eventually(`${wanted} responses`, () => answered.length, {
    accept: (count) => count >= wanted,
    timeoutMs: 30_000,
  });
};

/** Expects each answered request exactly once in the log, and each unanswered one at most once. */
const verify = async ({ answered, query }: Load): Promise<void> => {
  const missing = await eventually(
    'the rows of all answered requests',
    async () => {
      const stored = new Set((await stand.rows(query)).map(({ body }) => body));
      return answered.filter((body) => !stored.has(body));
    },
    { accept: ({ length }) => length === 0, timeoutMs: DELIVERED_MS_MAX, intervalMs: 500 },
  );
  expect(missing).toEqual([]);
  const bodies = (await stand.rows(query)).map(({ body }) => body);
  expect(new Set(bodies).size, 'no request is stored twice').toBe(bodies.length);
};

test(
  'helm upgrade replaces all gateways and operators under load without failing or losing a request',
  NO_RETRY,
  async () => {
    // This quota is much larger than this file needs, so that even a gateway’s first permits last until a new leader is elected.
    await stand.kubectl('patch', 'mac', 'default', '--type=merge', '-p', '{"spec":{"monthlyQuota":10000000}}');
    await stand.cluster.apply(
      JSON.stringify({
        apiVersion: 'standin.dev/v1alpha1',
        kind: 'Endpoint',
        metadata: { name: 'load', namespace: 'default' },
        spec: {
          projectRef: { name: 'shop' },
          displayName: 'Load',
          slug: '/load',
          method: 'POST',
          action: 'JSON',
          json: { body: '"ok"' },
        },
      }),
    );
    await stand.kubectl('wait', '--for=condition=Ready', 'mep/load', '--timeout=30s');
    const statusWithCapitalizedHeader = async (): Promise<number> => {
      const headers = { 'X-Api-Key': key };
      const { statusCode, body } = await request(`${gatewayUrl}${project}/v1/orders`, { headers });
      await body.dump();
      return statusCode;
    };
    expect(await statusWithCapitalizedHeader()).toBe(401);
    const before = await podUids();

    const traffic = startLoad();
    await untilAnswered(traffic, 100);
    const changed = ['gateway.settings.apiKeyHeader.name=any-case', 'operator.podAnnotations.reason=upgrade'];
    await stand.helm('upgrade', ...VALUES, ...changed.flatMap((value) => ['--set', value]));
    await untilAnswered(traffic, 100);
    await traffic.stop();

    expect(traffic.failures).toEqual([]);
    expect(await statusWithCapitalizedHeader()).toBe(200);
    expect((await podUids()).filter((uid) => before.includes(uid))).toEqual([]);
    await verify(traffic);
  },
);

/** Returns the UIDs of the gateway and operator pods. */
const podUids = async (): Promise<readonly string[]> => {
  const which = ['-l', 'app.kubernetes.io/component in (gateway, operator)'];
  const text = await stand.system('get', 'pods', ...which, '-o', 'jsonpath={.items[*].metadata.uid}');
  return text.split(' ');
};

test("no answered request is lost when a gateway's pod is force-deleted under load", WITH_RETRY, async () => {
  const traffic = startLoad();
  await untilAnswered(traffic, 100);
  await stand.node.killPod('standin-system', 'standin-gateway-1');
  await stand.system('delete', 'pod', 'standin-gateway-1', '--grace-period=0', '--force');
  await stand.system('rollout', 'status', 'statefulset/standin-gateway', '--timeout=90s');
  await untilAnswered(traffic, 100);
  await traffic.stop();
  await verify(traffic);
});

test(
  "the other operator leads within 15 s when the leader's pod is killed under load, and no request fails or is lost",
  WITH_RETRY,
  async () => {
    /** Returns the name of the leading pod. The rest of the Lease's holder identifies its process. */
    const leader = async (): Promise<string> => {
      const holder = await stand.system('get', 'lease', 'standin-operator', '-o', 'jsonpath={.spec.holderIdentity}');
      return holder.split('_')[0] ?? '';
    };
    const traffic = startLoad();
    await untilAnswered(traffic, 100);
    const first = await leader();
    const killed = performance.now();
    await stand.node.killPod('standin-system', first);
    await stand.system('delete', 'pod', first, '--grace-period=0', '--force');
    await eventually('another leader', leader, { accept: (name) => name !== first && name !== '', timeoutMs: 30_000 });
    expect(performance.now() - killed).toBeLessThan(FAILOVER_MS_MAX);
    await stand.kubectl('patch', 'mep', 'load', '--type=merge', '-p', '{"spec":{"json":{"body":"\\"changed\\""}}}');
    await stand.kubectl('wait', '--for=jsonpath={.status.observedGeneration}=2', 'mep/load', '--timeout=30s');
    await stand.kubectl('wait', '--for=condition=Ready', 'mep/load', '--timeout=30s');
    await untilAnswered(traffic, 100);
    await traffic.stop();
    expect(traffic.failures).toEqual([]);
    await verify(traffic);
    expect(await stand.duplicatePermits(), 'no permit was granted twice').toBe(0);
    await stand.system('rollout', 'status', 'deployment/standin-operator', '--timeout=60s');
  },
);

test(
  'all entries in five full spools are delivered when the gateways are scaled down to one while ClickHouse is unavailable',
  WITH_RETRY,
  async () => {
    await stand.system('scale', 'statefulset/standin-gateway', '--replicas=5');
    await stand.system('rollout', 'status', 'statefulset/standin-gateway', '--timeout=120s');
    await stand.system('scale', 'statefulset/standin-clickhouse', '--replicas=0');
    await stand.system('wait', '--for=delete', 'pod/standin-clickhouse-0', '--timeout=60s');
    const gateways = ['get', 'pods', '-l', 'app.kubernetes.io/component=gateway'];
    const addresses = await stand.system(...gateways, '-o', 'jsonpath={.items[*].status.podIP}');
    const urls = addresses.split(' ').map((address) => `http://${address}:8080`);
    expect(urls).toHaveLength(5);
    const traffic = startLoad(urls, { paddingBytes: 64 * 1024 });
    const refusing = (): Set<string | undefined> => new Set(traffic.failures.map((failure) => failure.split(' ')[0]));
    await eventually('the share of each spool to be used up', refusing, {
      accept: ({ size }) => size === 5,
      timeoutMs: 60_000,
    });
    await traffic.stop();
    // All requests are for one namespace.
    expect(traffic.failures.filter((failure) => !failure.includes('503 overloaded'))).toEqual([]);

    await stand.system('scale', 'statefulset/standin-gateway', '--replicas=1');
    for (const ordinal of SCALED_AWAY) {
      await stand.system('wait', '--for=delete', `pod/standin-gateway-${ordinal}`, '--timeout=90s');
    }
    await stand.system('scale', 'statefulset/standin-clickhouse', '--replicas=1');
    await stand.system('rollout', 'status', 'statefulset/standin-clickhouse', '--timeout=60s');
    await verify(traffic);
    const drained = async (): Promise<string> =>
      stand.system(
        'get',
        'pvc',
        '-o',
        'jsonpath={.items[?(@.metadata.annotations.standin\\.dev/drained)].metadata.name}',
      );
    await expect
      .poll(drained, { timeout: DELIVERED_MS_MAX })
      .toBe(SCALED_AWAY.map((ordinal) => `data-standin-gateway-${ordinal}`).join(' '));
  },
);

test('helm uninstall keeps the volumes and the Jobs that drained them', NO_RETRY, async () => {
  await stand.helm('uninstall', '--wait');
  await expect
    .poll(() => stand.leftovers(), { timeout: 60_000 })
    .toEqual(
      expect.arrayContaining([
        'job.batch/standin-gateway-drain-…',
        ...[0, ...SCALED_AWAY].map((ordinal) => `persistentvolumeclaim/data-standin-gateway-${ordinal}`),
        'pod/standin-gateway-drain-…',
      ]),
    );
});
