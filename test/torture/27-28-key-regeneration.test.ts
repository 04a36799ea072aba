import { setTimeout as delay } from 'node:timers/promises';
import { LIMITS } from '@standin/contract';
import { resourcePath } from '@standin/kube';
import { LEASE_NAME } from '@standin/operator';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readMetric, post, Tenant } from '../e2e/tenant.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type DeployedGateway, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin, SYSTEM_NAMESPACE } from '../harness/install-standin.ts';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';
import { denyOperator } from './deny-operator.ts';
import { acceptedAfter, startKeyLoad } from './key-load.ts';

/**
 * Torture tests 27 and 28: an API key is regenerated while gateways are under load, disconnected or frozen, and while the operator
 * dies between any two steps. The processes and the API server are real.
 */

let cluster: OwnCluster;
let deployment: Deployment;
let tenant: Tenant;
let path: string;
const proxies = new Map<number, TcpProxy>();

const GATEWAYS = 5;
/**
 * This gateway reaches the operator through a proxy that can be cut. When disconnected, the gateway continues with its last
 * configuration.
 */
const LENIENT = 3;
/** This gateway also uses a proxy, but rejects requests after `STALE_MS` without contact with the operator. */
const STRICT = 4;
const STALE_MS = 3_000;
const NO_CLICKHOUSE = { env: { STANDIN_CLICKHOUSE_URL: 'http://127.0.0.1:1' } };
beforeAll(async () => {
  cluster = await startCluster();
  await installStandin(cluster);
  await createPods(Array.from({ length: GATEWAYS }, (_, index) => index));
  deployment = await deploy({
    cluster,
    clickHouse: NO_CLICKHOUSE,
    operators: 1,
    operatorEnv: { STANDIN_STREAM_GATEWAY_FORGET_MS: '1000' },
    gateways: GATEWAYS,
    gatewayEnv: async (index, operators) => {
      if (index !== LENIENT && index !== STRICT) return {};
      const proxy = await startTcpProxy(Number(new URL(operators[0]?.streamUrl ?? '').port));
      proxies.set(index, proxy);
      const url = { STANDIN_OPERATOR_URLS: `https://127.0.0.1:${proxy.port}` };
      return index === STRICT ? { ...url, STANDIN_MAX_STALENESS_MS: String(STALE_MS) } : url;
    },
  });
  tenant = await Tenant.create(cluster, 'torture');
  await tenant.accountAndProject();
  await tenant.mock('orders', '"orders"');
  await tenant.untilReason('Endpoint', 'orders', 'Ready');
  path = `${await tenant.projectPath()}/orders`;
});
afterAll(async () => {
  await deployment.stop();
  for (const proxy of proxies.values()) await proxy.stop();
  await tenant.client.close();
  await cluster.stop();
});

const gateway = (index: number): DeployedGateway => {
  const found = deployment.gateways[index];
  if (found === undefined) throw new Error(`no gateway ${index}`);
  return found;
};
/** Returns the acknowledged revision of each gateway that the operator knows. */
const known = (): Promise<ReadonlyMap<string, number>> =>
  readMetric(deployment.operators[0]?.adminUrl ?? '', 'standin_publish_gateway_revision');
/** Creates pods that only represent the gateways in the API server. There is no kubelet, so no containers run. */
const createPods = async (indexes: readonly number[]): Promise<void> => {
  const items = indexes.map((index) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `gateway-${index}`, namespace: SYSTEM_NAMESPACE },
    spec: { automountServiceAccountToken: false, containers: [{ name: 'gateway', image: 'standin' }] },
  }));
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
};
const CLAIM = 'data-gateway-0';
/**
 * Creates the volume claim of gateway 0 as the StatefulSet would. Removes its finalizer, because the controller that would remove
 * it on deletion does not run here.
 */
const createClaim = async (): Promise<void> => {
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
  const metadata = { name: CLAIM, namespace: SYSTEM_NAMESPACE };
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec }));
  const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/persistentvolumeclaims/${CLAIM}`;
  await tenant.client.mergePatch(path, { metadata: { finalizers: null } });
};
const readKey = (account = 'team'): Promise<string> => tenant.readSecret(`${account}-api-key`);
let serial = 0;
/** Creates a KeyRegeneration and returns its name, which must be unique because a test may run twice. */
const regenerate = async (account = 'team'): Promise<string> => {
  serial += 1;
  const name = `regeneration-${serial}`;
  await tenant.apply('KeyRegeneration', name, { accountRef: { name: account } });
  return name;
};

const until = (name: string, what: string, accept: (status: Record<string, unknown>) => boolean) =>
  eventually(`KeyRegeneration ${name} ${what}`, () => tenant.get('KeyRegeneration', name), {
    accept: ({ status }) => accept(status ?? {}),
    intervalMs: 10,
    timeoutMs: 40_000,
  });
const untilPhase = (name: string, phase: string) => until(name, phase, (status) => status['phase'] === phase);
const untilWaitingFor = (name: string, index: number) =>
  until(name, `waits for gateway ${index} alone`, ({ waitingFor }) => String(waitingFor) === `gateway-${index}`);

const statuses = async (key: string): Promise<number[]> =>
  Promise.all(deployment.gateways.map(async (one) => (await post(one, path, key)).status));
/**
 * Waits until every gateway accepts requests. Each then holds permits of the quota, so that it accepts requests even when it is
 * disconnected.
 */
const untilAllAccept = (key: string): Promise<unknown> =>
  eventually('all gateways to accept', () => statuses(key), { accept: (all) => all.every((one) => one === 200) });

/** The time for which the load continues after the end of the regeneration. */
const AFTERWARDS_MS = 500;

describe('27: a key regeneration under load', () => {
  test('waits for a disconnected gateway, and names it, until the gateway acknowledges the key', async () => {
    const old = await readKey();
    await untilAllAccept(old);
    await using load = startKeyLoad(deployment.gateways, path, old);
    await proxies.get(LENIENT)?.cut();
    const name = await regenerate();
    const { status } = await untilWaitingFor(name, LENIENT);
    expect(status).toMatchObject({ phase: 'Running', acknowledged: `${GATEWAYS - 1}/${GATEWAYS}` });
    // The readiness of new endpoints no longer depends on this gateway. The regeneration waits for it as long as its pod exists.
    await eventually('the gateway to be forgotten', known, { accept: ({ size }) => size === GATEWAYS - 1 });
    await tenant.mock('later', '"later"');
    await tenant.untilReason('Endpoint', 'later', 'Ready');
    // This gateway still accepts the old key, so the KeyRegeneration must not report Completed.
    expect((await post(gateway(LENIENT), path, old)).status).toBe(200);
    expect((await untilWaitingFor(name, LENIENT)).status).toMatchObject({ phase: 'Running' });
    await proxies.get(LENIENT)?.restore();
    await untilPhase(name, 'Completed');
    const completedAt = performance.now();
    await delay(AFTERWARDS_MS);
    expect(acceptedAfter(await load.stop(), completedAt)).toEqual({ before: true, after: [], tried: GATEWAYS });
    expect(await statuses(old)).toEqual(Array(GATEWAYS).fill(401));
    expect(await statuses(await readKey())).toEqual(Array(GATEWAYS).fill(200));
  });

  test('waits for a disconnected gateway with a maxStaleness only until it responds with 503', async () => {
    const old = await readKey();
    await untilAllAccept(old);
    await using load = startKeyLoad(deployment.gateways, path, old);
    await proxies.get(STRICT)?.cut();
    const name = await regenerate();
    await untilWaitingFor(name, STRICT);
    const { status } = await untilPhase(name, 'Completed');
    const completedAt = performance.now();
    expect(status).toMatchObject({ acknowledged: `${GATEWAYS - 1}/${GATEWAYS - 1}` });
    await delay(AFTERWARDS_MS);
    const sent = await load.stop();
    expect(acceptedAfter(sent, completedAt)).toEqual({ before: true, after: [], tried: GATEWAYS });
    const fromStrict = sent.filter((one) => one.gateway === STRICT && one.at >= completedAt);
    expect(new Set(fromStrict.map((one) => one.status))).toEqual(new Set([503]));
    expect((await post(gateway(STRICT), path, old)).body).toContain('not_ready');
    await proxies.get(STRICT)?.restore();
    await eventually(
      'the gateway to reconnect',
      async () => (await post(gateway(STRICT), path, await readKey())).status === 200,
    );
    expect((await post(gateway(STRICT), path, old)).status).toBe(401);
  });

  test('is not affected by old operator messages in the sockets of a gateway that resumes', async () => {
    const old = await readKey();
    const ask = async (): Promise<number> => (await post(gateway(STRICT), path, old)).status;
    const { process } = gateway(STRICT);
    expect(await ask()).toBe(200);
    process.signal('SIGSTOP');
    const answers: Promise<number>[] = [];
    try {
      // A heartbeat arrives but is not read, and the new key does not arrive.
      await delay(LIMITS.streamHeartbeatMs + 300);
      await proxies.get(STRICT)?.cut();
      answers.push(ask());
      await untilPhase(await regenerate(), 'Completed');
      answers.push(ask());
    } finally {
      process.signal('SIGCONT');
    }
    const awake = performance.now();
    while (performance.now() < awake + AFTERWARDS_MS) {
      answers.push(ask());
      await delay(10);
    }
    expect(new Set(await Promise.all(answers))).toEqual(new Set([503]));
    await proxies.get(STRICT)?.restore();
    await eventually(
      'the gateway to reconnect',
      async () => (await post(gateway(STRICT), path, await readKey())).status === 200,
    );
    expect(await ask()).toBe(401);
  });

  test('waits for a dead gateway until its pod and its claim are deleted', async () => {
    const { process, adminUrl } = gateway(0);
    await createClaim();
    await process.kill('SIGKILL');
    const name = await regenerate();
    await untilWaitingFor(name, 0);
    await eventually('the gateway to be forgotten', known, { accept: ({ size }) => size === GATEWAYS - 1 });
    expect((await untilWaitingFor(name, 0)).status).toMatchObject({ phase: 'Running' });
    await cluster.kubectl(['delete', 'pod', 'gateway-0', '-n', SYSTEM_NAMESPACE, '--grace-period=0', '--force']);
    // The operator checks the KeyRegeneration several times within this wait.
    await delay(5_000);
    expect((await untilWaitingFor(name, 0)).status).toMatchObject({ phase: 'Running' });
    await cluster.kubectl(['delete', 'pvc', CLAIM, '-n', SYSTEM_NAMESPACE]);
    await untilPhase(name, 'Completed');
    await createPods([0]);
    await process.restart();
    await process.waitForUrl(`${adminUrl}/readyz`);
    expect(await statuses(await readKey())).toEqual(Array(GATEWAYS).fill(200));
  });
});

const LEASE = resourcePath({
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  namespace: SYSTEM_NAMESPACE,
  name: LEASE_NAME,
});
describe('28: the operator dies during a regeneration', () => {
  const operator = () => deployment.operators[0];
  const kill = () => operator()?.process.kill('SIGKILL');
  /** Releases the dead operator's lease and restarts the operator, which then leads without waiting until the lease expires. */
  const restart = async (): Promise<void> => {
    await tenant.client.mergePatch(LEASE, { spec: { holderIdentity: '' } });
    await operator()?.process.restart();
  };
  const counted = async (account: string): Promise<number> => {
    const { status } = await tenant.get('Account', account);
    return (status?.['apiKey'] as { regenerations?: string[] } | undefined)?.regenerations?.length ?? 0;
  };
  const freeze = (): Promise<() => Promise<unknown>> => {
    const { process } = gateway(0);
    process.signal('SIGSTOP');
    const resume = (): Promise<unknown> => {
      process.signal('SIGCONT');
      return Promise.resolve();
    };
    return Promise.resolve(resume);
  };
  const isRefused = (verb: string, resource: string) => () =>
    operator()?.process.waitForLine(
      'a rejection',
      (line) => line.includes(`cannot ${verb} resource`) && line.includes(resource),
    );
  const isBegun = (name: string) =>
    eventually(`${name} to begin`, () => tenant.get('Account', 'steps'), {
      accept: ({ status }) => (status?.['apiKey'] as { regenerating?: { name: string } }).regenerating?.name === name,
    });

  beforeAll(async () => {
    await tenant.apply('Account', 'steps', { plan: 'Free' });
    await tenant.untilReason('Account', 'steps', 'Ready');
  });

  test.each([
    [
      'before it is counted',
      () => denyOperator(tenant.client, 'patch', 'mockaccounts/status'),
      isRefused('patch', 'mockaccounts'),
      false,
    ],
    ['between the count and the Secret', () => denyOperator(tenant.client, 'update', 'secrets'), isBegun, false],
    ['between the Secret and the acknowledgements', freeze, (name: string) => untilWaitingFor(name, 0), true],
    [
      'between the acknowledgements and the end',
      () => denyOperator(tenant.client, 'patch', 'mockkeyregenerations/status'),
      isRefused('patch', 'mockkeyregenerations'),
      undefined,
    ],
  ] as const)('%s: the next operator completes it once', async (_step, interrupt, untilInterrupted, isReplaced) => {
    const [before, old] = [await counted('steps'), await readKey('steps')];
    const resume = await interrupt();
    let name: string;
    try {
      name = await regenerate('steps');
      await untilInterrupted(name);
      if (isReplaced !== undefined) expect((await readKey('steps')) !== old).toBe(isReplaced);
      await kill();
    } finally {
      await resume();
    }
    const replaced = await readKey('steps');
    await restart();
    await untilPhase(name, 'Completed');
    const after = await readKey('steps');
    expect(after).not.toBe(old);
    // Clients that read the new key while the operator was dead must not need a third key.
    if (replaced !== old) expect(after).toBe(replaced);
    expect(await counted('steps')).toBe(before + 1);
  });

  test('with seven concurrent requests: six complete, and the seventh says when the limit resets', async () => {
    await tenant.apply('Account', 'many', { plan: 'Free' });
    await tenant.untilReason('Account', 'many', 'Ready');
    const names = await Promise.all(Array.from({ length: 7 }, () => regenerate('many')));
    await eventually('the first regeneration', async () => (await counted('many')) > 0, { intervalMs: 5 });
    await kill();
    await restart();
    const ended = await Promise.all(
      names.map((name) => until(name, 'ended', ({ phase }) => phase === 'Completed' || phase === 'Refused')),
    );
    const phases = ended.map(({ status }) => String(status?.['phase']));
    expect(phases.toSorted()).toEqual([...Array<string>(6).fill('Completed'), 'Refused']);
    const refused = ended.find(({ status }) => status?.['phase'] === 'Refused');
    expect(Date.parse(String(refused?.status?.['windowResetsAt']))).toBeGreaterThan(Date.now());
    expect(await counted('many')).toBe(6);
  });
});
