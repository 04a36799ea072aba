import path from 'node:path';
import { RESOURCES } from '@standin/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readForeignCrds } from '../cluster/foreign-crds.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import {
  asList,
  CHART_CASES,
  CHARTS,
  helm,
  parseObjects,
  renderChart,
  valuesFile,
  type RenderedObject,
} from '../harness/helm.ts';
import { renderedDrainJob } from '../harness/drain-job.ts';
import { SYSTEM_NAMESPACE } from '../harness/install-standin.ts';
import { kubeconform, writeSchemas } from '../harness/kubeconform.ts';
import { createTempFolder } from '../harness/temp-folder.ts';

/** Tests the chart with a real API server that also has the CRDs of cert-manager, Prometheus Operator and Gateway API. */

let cluster: OwnCluster;

const RESTRICTED = {
  'pod-security.kubernetes.io/enforce': 'restricted',
  'pod-security.kubernetes.io/warn': 'restricted',
};
const namespace = (name: string, labels: Readonly<Record<string, string>> = {}) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
});

beforeAll(async () => {
  cluster = await startCluster();
  await cluster.apply(asList([namespace(SYSTEM_NAMESPACE, RESTRICTED), namespace('team-a'), namespace('team-b')]));
  // The CRDs are too large for the annotation that `kubectl apply` adds.
  const create = await cluster.kubectl(['create', '-f', '-'], { input: (await readForeignCrds()).join('\n---\n') });
  expect(create.code, create.stderr).toBe(0);
  await established('--all');
  const account = ['get', 'serviceaccount', 'default', '-n', SYSTEM_NAMESPACE];
  await eventually('the default ServiceAccount', () => cluster.kubectl(account), { accept: ({ code }) => code === 0 });
});
afterAll(() => cluster.stop());

interface WorkloadSpec {
  readonly template?: { readonly spec?: { readonly volumes: readonly object[] } };
  readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
}

/**
 * Waits until the CRDs are established. Retries, because kubectl fails on a CRD without a condition instead of waiting for the
 * condition.
 */
const established = (which: string) =>
  eventually(
    'the CRDs',
    () => cluster.kubectl(['wait', '--for=condition=Established', 'crd', which, '--timeout=30s']),
    { accept: ({ code }) => code === 0 },
  );

const dryRun = (objects: readonly RenderedObject[]) =>
  cluster.kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', '-'], { input: asList(objects) });

it('passes strict kubeconform with all values files, and a misspelled field fails', async () => {
  const schemas = await createTempFolder('schemas');
  const renders = await Promise.all(
    CHART_CASES.map(async (chartCase) => parseObjects(await renderChart({ chartCase }))),
  );
  await writeSchemas(cluster, [...new Set(renders.flat().map(({ apiVersion }) => apiVersion))], schemas);
  for (const [index, objects] of renders.entries()) {
    const { stdout, stderr } = await kubeconform(objects, schemas);
    expect(JSON.parse(stdout), `${CHART_CASES[index] ?? ''}: ${stderr}`).toEqual({
      resources: [],
      summary: { valid: objects.length, invalid: 0, errors: 0, skipped: 0 },
    });
  }
  const [deployment] = renders.flat().filter(({ kind }) => kind === 'Deployment');
  if (deployment === undefined) throw new Error('the chart renders no Deployment');
  const misspelled = { ...deployment, spec: { ...(deployment['spec'] as object), replica: 2 } };
  const { code, stdout } = await kubeconform([misspelled], schemas);
  expect([code, stdout]).toEqual([1, expect.stringContaining("'replica' not allowed") as string]);
});

describe.for(CHART_CASES)('the chart with %s-values.yaml', (chartCase) => {
  it('is accepted by the API server with strict validation and no warnings', async () => {
    const rendered = parseObjects(await renderChart({ chartCase }));
    const objects = [...rendered, renderedDrainJob(rendered, SYSTEM_NAMESPACE)];
    const { code, stdout, stderr } = await dryRun(objects);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.trim().split('\n')).toHaveLength(objects.length);
  });

  it('has pods that conform to the restricted Pod Security Standard', async () => {
    const objects = parseObjects(await renderChart({ chartCase }));
    const pods = [...objects, renderedDrainJob(objects, SYSTEM_NAMESPACE)].flatMap(({ metadata: { name }, spec }) => {
      const { template, volumeClaimTemplates = [] } = (spec ?? {}) as WorkloadSpec;
      if (template?.spec === undefined) return [];
      // The StatefulSet controller adds a volume to the pod for each claim, which an empty volume represents here. A dry run
      // creates no ServiceAccounts, so the pods use the default ServiceAccount.
      const claims = volumeClaimTemplates.map(({ metadata }) => ({ name: metadata.name, emptyDir: {} }));
      const volumes = [...template.spec.volumes, ...claims];
      const metadata = { name, namespace: SYSTEM_NAMESPACE };
      return [
        { apiVersion: 'v1', kind: 'Pod', metadata, spec: { ...template.spec, volumes, serviceAccountName: 'default' } },
      ];
    });
    expect(pods.length).toBeGreaterThan(1);
    const { code, stderr } = await dryRun(pods);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });
});

it('the API server rejects an unknown field, so the tests above can fail', async () => {
  const objects = parseObjects(await renderChart({ set: ['operator.extraVolumes[0].nmae=x'] }));
  const { code, stderr } = await dryRun(objects.filter(({ metadata: { name } }) => name === 'standin-operator'));
  expect(code).not.toBe(0);
  expect(stderr).toContain('nmae');
});

describe('helm', () => {
  const release = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await helm([
      ...args,
      '-n',
      SYSTEM_NAMESPACE,
      '--kubeconfig',
      cluster.kubeconfigPath,
    ]);
    expect(code, stderr).toBe(0);
    return stdout;
  };
  const values = 'clickhouse.url=http://clickhouse:8123,clickhouse.existingSecret=clickhouse-login';
  const chart = ['standin', path.join(CHARTS, 'standin'), '--set', values];
  const kubectl = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await cluster.kubectl([...args, '-n', SYSTEM_NAMESPACE]);
    expect(code, stderr).toBe(0);
    return stdout;
  };
  const secret = async (name: string, key: string): Promise<string> => {
    const { data } = JSON.parse(await kubectl('get', 'secret', name, '-o', 'json')) as { data: Record<string, string> };
    return Buffer.from(data[key] ?? '', 'base64').toString();
  };
  const sessionKey = (): Promise<string> => secret('standin-dashboard-session', 'session-key');

  it('installs the chart, keeps the session key on upgrade, and leaves only the CRDs on uninstall', async () => {
    expect(await release('install', ...chart)).toContain('kubectl apply -f crds/examples/quickstart');
    const key = await sessionKey();
    expect(key).toMatch(/^[A-Za-z0-9]{44}$/);
    await established('mockendpoints.standin.dev');

    await release('upgrade', ...chart, '--set', 'gateway.replicas=3');
    expect(await kubectl('get', 'statefulset', 'standin-gateway', '-o', 'jsonpath={.spec.replicas}')).toBe('3');
    expect(await sessionKey()).toBe(key);

    await release('uninstall', 'standin');
    const kinds = 'crd,clusterrole,clusterrolebinding,role,rolebinding,all,secret,networkpolicy,pdb,serviceaccount';
    const left = async (): Promise<readonly string[]> =>
      (await kubectl('get', kinds, '-o', 'name')).split('\n').filter((name) => name.includes('standin'));
    const crds = Object.values(RESOURCES).map(
      ({ plural }) => `customresourcedefinition.apiextensions.k8s.io/${plural}.standin.dev`,
    );
    await expect.poll(left).toEqual(crds.sort());
  });

  it('adopts the CRDs that another release left', async () => {
    await release('install', ...chart.with(0, 'other'), '--take-ownership');
    await release('uninstall', 'other');
  });

  it('installs an embedded ClickHouse with a warning and keeps its password on upgrade', async () => {
    const embedded = [...chart.slice(0, 2), '--set', 'clickhouse.embedded.enabled=true', '--take-ownership'];
    expect(await release('install', ...embedded)).toContain('WARNING: clickhouse.embedded.enabled is true');
    const password = await secret('standin-clickhouse', 'password');
    expect(password).toMatch(/^[A-Za-z0-9]{32}$/);
    await release('upgrade', ...embedded, '--set', 'gateway.replicas=3');
    expect(await secret('standin-clickhouse', 'password')).toBe(password);
    await release('uninstall', 'standin');
  });

  it('prints warnings about risky values in its notes', async () => {
    const notes = (chartCase: string) =>
      release('install', ...chart, '--dry-run=client', '--take-ownership', '-f', valuesFile(chartCase));
    expect(await notes('default')).not.toContain('WARNING');
    expect(await notes('ephemeral')).toContain('deleted or its node fails');
    expect(await notes('namespaced')).toContain('kubectl apply -n team-a -f crds/examples/quickstart');
  });
});

it('the namespace rejects a pod that is not restricted, so the tests above can fail', async () => {
  const metadata = { name: 'careless', namespace: SYSTEM_NAMESPACE };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [{ name: 'a', image: 'a' }] } };
  expect((await dryRun([pod])).stderr).toContain('violates PodSecurity "restricted');
});
