import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { KubeClient, KubeObject } from '@standin/kube';
import { loadKubeClient } from '@standin/kube/load-kube-client';
import { pino } from 'pino';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { ClaimActions } from '../../operator/src/drain/volume-claim-actions.ts';
import { VolumeController } from '../../operator/src/drain/volume-controller.ts';
import type { Cluster } from '../harness/cluster.ts';
import { drainTemplate } from '../harness/drain-job.ts';
import { eventually } from '../harness/eventually.ts';
import { asList, parseObjects, renderChart } from '../harness/helm.ts';
import { createNamespace, deleteNamespace } from '../harness/namespace.ts';
import { sharedCluster } from '../harness/shared-cluster.ts';
import { createTempFolder } from '../harness/temp-folder.ts';

/**
 * Tests the combination of Kubernetes' own StatefulSet and Job controllers, the chart's StatefulSet, Job and permissions, and the
 * operator's orphaned-volume controller with the token of its ServiceAccount. There is no node, so the test, not a kubelet, reports
 * the end of pods.
 */

const QUIET_MS = 500;
const SET = 'standin-gateway';
const EVENTUALLY = { timeoutMs: 30_000, intervalMs: 100 };
const lines: string[] = [];
const logger = pino({ level: 'debug' }, { write: (line: string) => lines.push(line) });

let cluster: Cluster;
let namespace: string;
let client: KubeClient;
let template: string;
const controllers: VolumeController[] = [];

interface Listed {
  readonly items: readonly {
    readonly metadata: {
      readonly name: string;
      readonly annotations?: Readonly<Record<string, string>>;
      readonly labels?: Readonly<Record<string, string>>;
    };
    readonly spec?: unknown;
    readonly status?: unknown;
    readonly reason?: string;
    readonly note?: string;
    readonly regarding?: { readonly name: string };
  }[];
}

const kubectl = async (...args: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await cluster.kubectl([...args, '-n', namespace]);
  if (code !== 0) throw new Error(stderr);
  return stdout;
};
const list = async (kind: string): Promise<Listed['items']> =>
  (JSON.parse(await kubectl('get', kind, '-o', 'json')) as Listed).items;

const claimName = (ordinal: number): string => `data-${SET}-${ordinal}`;
/** Returns the names of the existing Jobs by the claim that they drain. */
const jobs = async (): Promise<Readonly<Record<string, string>>> =>
  Object.fromEntries(
    (await list('jobs')).map(({ metadata }) => [metadata.annotations?.['standin.dev/claim'] ?? '', metadata.name]),
  );
const awaitJobs = (...ordinals: readonly number[]) =>
  eventually(`Jobs of ${ordinals.join(', ')}`, jobs, {
    ...EVENTUALLY,
    accept: (found) => String(Object.keys(found).sort()) === String(ordinals.map(claimName)),
  });
const drainedAnnotation = async (ordinal: number): Promise<string | undefined> =>
  (await list('pvc')).find(({ metadata }) => metadata.name === claimName(ordinal))?.metadata.annotations?.[
    'standin.dev/drained'
  ];
const drainEventReasons = async (ordinal: number): Promise<readonly (string | undefined)[]> =>
  (await list('events.events.k8s.io'))
    .filter(({ regarding, reason }) => regarding?.name === claimName(ordinal) && /^Drain/.test(reason ?? ''))
    .map(({ reason }) => reason)
    .sort();

const scale = async (replicas: number): Promise<void> => {
  await kubectl('scale', 'statefulset', SET, `--replicas=${replicas}`);
  await eventually(
    `${replicas} gateways`,
    async () => (await list('pods')).filter(({ metadata }) => isGateway(metadata)),
    { ...EVENTUALLY, accept: (pods) => pods.length === replicas },
  );
};
const isGateway = ({ labels }: Listed['items'][number]['metadata']): boolean =>
  labels?.['app.kubernetes.io/component'] === 'gateway';

/** Sets the phase of a Job's pods, like a kubelet whose containers have ended. */
const endPods = async (job: string, phase: 'Succeeded' | 'Failed'): Promise<void> => {
  const pods = await eventually(`a pod of ${job}`, () => list('pods'), {
    ...EVENTUALLY,
    accept: (found) => found.some(({ metadata }) => metadata.labels?.['job-name'] === job),
  });
  for (const { metadata } of pods.filter((pod) => pod.metadata.labels?.['job-name'] === job)) {
    const patch = JSON.stringify({ status: { phase } });
    await kubectl('patch', 'pod', metadata.name, '--subresource=status', '--type=merge', '-p', patch);
  }
};

const startController = (): VolumeController => {
  const controller = new VolumeController({
    client,
    namespace,
    jobTemplate: template,
    statefulSet: SET,
    quietMs: QUIET_MS,
    logger,
    claims: 'app.kubernetes.io/component=gateway',
  });
  controller.start();
  controllers.push(controller);
  return controller;
};
/** Waits until the controller reports these states. */
const untilStates = (controller: VolumeController, expected: Readonly<Record<number, string>>) =>
  expect
    .poll(() => Object.fromEntries(controller.states), EVENTUALLY_POLL)
    .toEqual(
      Object.fromEntries(Object.entries(expected).map(([ordinal, state]) => [claimName(Number(ordinal)), state])),
    );
const EVENTUALLY_POLL = { timeout: EVENTUALLY.timeoutMs, interval: EVENTUALLY.intervalMs };

beforeAll(async () => {
  cluster = await sharedCluster();
});
beforeEach(async () => {
  namespace = await createNamespace(cluster);
  const set = ['gateway.replicas=3'];
  const objects = parseObjects(await renderChart({ chartCase: 'namespaced', namespace, set }));
  const kinds = ['ServiceAccount', 'StatefulSet', 'Role', 'RoleBinding'];
  // Applies only the Roles for the release's own namespace. The other Roles belong to the teams.
  const needed = objects.filter(({ kind, metadata }) => kinds.includes(kind) && metadata.namespace === namespace);
  await cluster.apply(asList(needed));
  template = path.join(await createTempFolder('drain'), 'job.yaml');
  // Makes a Job fail at the first failure of its pod.
  await writeFile(template, drainTemplate(objects).replace('backoffLimit: 10', 'backoffLimit: 0'));
  client = loadKubeClient({ kubeconfigPath: await cluster.tokenKubeconfig(namespace, 'standin-operator') });
  await scale(3);
});
afterEach(async () => {
  for (const controller of controllers.splice(0)) await controller.stop();
  await client.close();
  await deleteNamespace(cluster, namespace);
  await rm(path.dirname(template), { recursive: true });
  // Checks that the chart's permissions are sufficient for the controller.
  expect(lines.splice(0).filter((line) => line.includes('"status":403'))).toEqual([]);
});

test('a volume beyond the replicas is drained once by one Job under any leader, and its claim is marked and kept', async () => {
  await scale(1);
  const controller = startController();
  // Simulates an earlier leader that has not noticed the loss of its lease.
  startController();
  const made = await awaitJobs(1, 2);
  await untilStates(controller, { 0: 'used', 1: 'draining', 2: 'draining' });
  for (const job of Object.values(made)) await endPods(job, 'Succeeded');
  await untilStates(controller, { 0: 'used', 1: 'drained', 2: 'drained' });
  expect(await drainedAnnotation(1)).toMatch(/^\d{4}-\d\d-\d\dT/);
  expect(await drainedAnnotation(0)).toBeUndefined();
  expect(new Set(await drainEventReasons(1))).toEqual(new Set(['Drained', 'Draining']));

  const next = startController();
  await untilStates(next, { 0: 'used', 1: 'drained', 2: 'drained' });
  expect(await jobs()).toEqual(made);
});

test('a volume that is used again is drained again, but not while its gateway runs', async () => {
  await scale(1);
  const controller = startController();
  const first = await awaitJobs(1, 2);
  await endPods(first[claimName(1)] ?? '', 'Succeeded');
  await untilStates(controller, { 0: 'used', 1: 'drained', 2: 'draining' });

  await scale(3);
  await untilStates(controller, { 0: 'used', 1: 'used', 2: 'used' });
  await expect.poll(() => drainedAnnotation(1), EVENTUALLY_POLL).toBeUndefined();
  // The running Job is deleted. The completed Job stays available for inspection.
  await expect.poll(jobs, EVENTUALLY_POLL).toEqual({ [claimName(1)]: first[claimName(1)] });

  await scale(1);
  const isAnother = async (ordinal: number) => {
    const names = (await list('jobs')).filter(
      ({ metadata }) => metadata.annotations?.['standin.dev/claim'] === claimName(ordinal),
    );
    return names.some(({ metadata }) => metadata.name !== first[claimName(ordinal)]);
  };
  await expect.poll(() => isAnother(1), EVENTUALLY_POLL).toBe(true);
  await expect.poll(() => isAnother(2), EVENTUALLY_POLL).toBe(true);
});

test('a failed Job is reported on the claim and recreated after it is deleted', async () => {
  await scale(2);
  const controller = startController();
  const { [claimName(2)]: job = '' } = await awaitJobs(2);
  await endPods(job, 'Failed');
  await untilStates(controller, { 0: 'used', 1: 'used', 2: 'failed' });
  await expect.poll(() => drainEventReasons(2), EVENTUALLY_POLL).toEqual(['DrainFailed', 'Draining']);
  const [event] = (await list('events.events.k8s.io')).filter(({ reason }) => reason === 'DrainFailed');
  expect(event?.note).toContain(`kubectl logs job/${job} -n ${namespace}`);
  expect(await drainedAnnotation(2)).toBeUndefined();

  await kubectl('delete', 'job', job);
  await untilStates(controller, { 0: 'used', 1: 'used', 2: 'draining' });
});

test('a claim and a Job that were created again are neither marked nor deleted for their predecessors', async () => {
  const actions = new ClaimActions({ client, namespace, statefulSet: SET, jobTemplate: template, logger });
  const create = async (name: string): Promise<KubeObject> => {
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } };
    const metadata = { name, namespace };
    await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec }));
    return JSON.parse(await kubectl('get', 'pvc', name, '-o', 'json')) as KubeObject;
  };
  const before = await create('again');
  await kubectl('delete', 'pvc', 'again', '--wait');
  await create('again');
  const claim = await create('other');
  await actions.start(claim, 'none');
  const { other: name = '' } = await jobs();
  const job = { name, uid: 'of-an-earlier-job', use: 'none', state: 'succeeded', completedAt: undefined } as const;
  await expect(actions.finish(before, job, 'none')).rejects.toMatchObject({ status: 409 });
  const annotations = JSON.parse(
    await kubectl('get', 'pvc', 'again', '-o', 'jsonpath={.metadata.annotations}'),
  ) as object;
  expect(annotations).not.toHaveProperty(['standin.dev/drained']);
  await actions.stop(claim, job);
  expect(Object.keys(await jobs())).toContain('other');
});
