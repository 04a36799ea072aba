import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin } from '../harness/install-standin.ts';
import { post, Tenant, type SeenObject } from './tenant.ts';

/** Tests the regeneration of an API key as a team does it, with kubectl, a real API server, two operators and three gateways. */

let cluster: OwnCluster;
let deployment: Deployment;
let tenant: Tenant;
let path: string;

/** Settings with an unreachable ClickHouse, because no test reads the captured requests. */
const NO_CLICKHOUSE = { env: { STANDIN_CLICKHOUSE_URL: 'http://127.0.0.1:1' } };
const SECRET = 'team-api-key';

beforeAll(async () => {
  cluster = await startCluster();
  await installStandin(cluster);
  deployment = await deploy({ cluster, clickHouse: NO_CLICKHOUSE, operators: 2, gateways: 3 });
  tenant = await Tenant.create(cluster, 'regeneration');
  await tenant.accountAndProject();
  await tenant.mock('orders', '"orders"');
  await tenant.untilReason('Endpoint', 'orders', 'Ready');
  path = `${await tenant.projectPath()}/orders`;
});
afterAll(async () => {
  await deployment.stop();
  await tenant.client.close();
  await cluster.stop();
});

const regenerate = (name: string, more: object = {}): Promise<SeenObject> =>
  tenant.apply('KeyRegeneration', name, { accountRef: { name: 'team' }, ...more });

const untilPhase = (name: string, phase: string): Promise<SeenObject> =>
  eventually(`KeyRegeneration ${name} ${phase}`, () => tenant.get('KeyRegeneration', name), {
    accept: ({ status }) => status?.['phase'] === phase,
    intervalMs: 10,
    timeoutMs: 30_000,
  });

/** Returns the exit code of `kubectl wait`. */
const wait = async (name: string, condition: string, timeout = '10s'): Promise<number> => {
  const options = ['-n', tenant.namespace, `--for=condition=${condition}`, `--timeout=${timeout}`];
  return (await cluster.kubectl(['wait', `mkr/${name}`, ...options])).code;
};

const statuses = async (key: string): Promise<number[]> =>
  (await Promise.all(deployment.gateways.map((gateway) => post(gateway, path, key)))).map(({ status }) => status);

const ALL_ACCEPT = [200, 200, 200];
const ALL_REJECT = [401, 401, 401];

describe('kubectl create with a KeyRegeneration', () => {
  test('replaces the old key on every gateway by the time the object is Completed, under load', async () => {
    const old = await tenant.readSecret(SECRET);
    expect(await statuses(old)).toEqual(ALL_ACCEPT);
    const load = new AbortController();
    /** The time at which the last accepted request with the old key was sent. */
    let lastAcceptedAt = 0;
    const senders = deployment.gateways.map(async (gateway) => {
      while (!load.signal.aborted) {
        const sentAt = performance.now();
        if ((await post(gateway, path, old)).status === 200) lastAcceptedAt = Math.max(lastAcceptedAt, sentAt);
      }
    });
    await regenerate('first');
    const { status } = await untilPhase('first', 'Completed');
    const seenCompletedAt = performance.now();
    await delay(200);
    load.abort();
    await Promise.all(senders);
    expect(lastAcceptedAt).toBeGreaterThan(0);
    expect(lastAcceptedAt).toBeLessThan(seenCompletedAt);
    expect(status).toMatchObject({ acknowledged: '3/3' });
    expect(await statuses(old)).toEqual(ALL_REJECT);
    expect(await statuses(await tenant.readSecret(SECRET))).toEqual(ALL_ACCEPT);
    expect(await wait('first', 'Complete')).toBe(0);
    expect(await wait('first', 'Failed', '1s')).toBe(1);
  });

  test('names a frozen gateway and completes when the gateway resumes', async () => {
    const old = await tenant.readSecret(SECRET);
    const [, frozen] = deployment.gateways;
    frozen?.process.signal('SIGSTOP');
    try {
      await regenerate('second');
      const { status } = await eventually(
        'the name of the frozen gateway',
        () => tenant.get('KeyRegeneration', 'second'),
        {
          accept: (seen) => seen.status?.['acknowledged'] === '2/3',
        },
      );
      expect(status).toMatchObject({ phase: 'Running', waitingFor: ['gateway-1'] });
    } finally {
      frozen?.process.signal('SIGCONT');
    }
    await untilPhase('second', 'Completed');
    expect(await statuses(old)).toEqual(ALL_REJECT);
  });

  test('survives a restart of the operators and is counted once', async () => {
    const old = await tenant.readSecret(SECRET);
    // The frozen gateway delays the regeneration, so that it is certainly still running when the operators restart.
    const [, frozen] = deployment.gateways;
    frozen?.process.signal('SIGSTOP');
    await regenerate('third');
    await eventually('the regeneration to wait for the frozen gateway', () => tenant.get('KeyRegeneration', 'third'), {
      accept: ({ status }) => JSON.stringify(status?.['waitingFor'] ?? []).includes('gateway-1'),
    });
    // Restarts both, regardless of which one leads.
    await Promise.all(deployment.operators.map(({ process }) => process.restart()));
    frozen?.process.signal('SIGCONT');
    await untilPhase('third', 'Completed');
    expect(await statuses(old)).toEqual(ALL_REJECT);
    expect(await statuses(await tenant.readSecret(SECRET))).toEqual(ALL_ACCEPT);
    const { status } = await tenant.get('Account', 'team');
    expect((status?.['apiKey'] as { regenerations: string[] }).regenerations).toHaveLength(3);
  });

  test('accepts three of ten concurrent regenerations and tells the others when the limit resets', async () => {
    const names = Array.from({ length: 10 }, (_, index) => `at-once-${index}`);
    await Promise.all(names.map((name) => regenerate(name)));
    const ended = await eventually('the end of all', () => tenant.list('KeyRegeneration'), {
      accept: (all) => all.every(({ status }) => ['Completed', 'Refused'].includes(String(status?.['phase']))),
      timeoutMs: 40_000,
    });
    const phases = ended.map(({ status }) => status?.['phase']);
    expect(phases.filter((phase) => phase === 'Completed')).toHaveLength(6);
    expect(phases.filter((phase) => phase === 'Refused')).toHaveLength(7);
    const refused = ended.find(({ status }) => status?.['phase'] === 'Refused');
    expect(Date.parse(String(refused?.status?.['windowResetsAt']))).toBeGreaterThan(Date.now());
    expect(refused?.status?.conditions?.find(({ type }) => type === 'Accepted')).toMatchObject({
      status: 'False',
      reason: 'LimitReached',
    });
    const name = refused?.metadata.name ?? '';
    expect([await wait(name, 'Failed'), await wait(name, 'Complete', '1s')]).toEqual([0, 1]);
    const events = ['get', 'events.events.k8s.io', '-n', tenant.namespace];
    await eventually('the Event', () => cluster.kubectl(events), {
      accept: ({ stdout }) => stdout.includes('LimitReached'),
    });
    expect(await statuses(await tenant.readSecret(SECRET))).toEqual(ALL_ACCEPT);
  });

  test('that has ended is removed after its time to live, unless a GitOps tool would create it again', async () => {
    const tracking = 'argocd.argoproj.io/tracking-id=shop:standin.dev/KeyRegeneration:regeneration/first';
    await cluster.kubectl(['annotate', 'mkr/first', '-n', tenant.namespace, tracking]);
    await regenerate('first', { ttlSecondsAfterFinished: 0 });
    await regenerate('second', { ttlSecondsAfterFinished: 0 });
    await eventually(
      'the removal',
      async () => (await tenant.list('KeyRegeneration')).map(({ metadata }) => metadata.name),
      {
        accept: (names) => !names.includes('second'),
      },
    );
    const { metadata, status } = await eventually('the new generation', () => tenant.get('KeyRegeneration', 'first'), {
      accept: (seen) => seen.status?.['observedGeneration'] === seen.metadata.generation,
    });
    expect(metadata.generation).toBe(2);
    expect(status).toMatchObject({ phase: 'Completed' });
  });
});
