import { createServer } from 'node:http';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { loadKubeClient } from '@standin/kube/load-kube-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Finding } from '../../cli/src/check/finding.ts';
import { runCheck } from '../../cli/src/check/run-check.ts';
import type { InstallationStatus } from '../../cli/src/check/show-status.ts';
import packageJson from '../../cli/package.json' with { type: 'json' };
import { readForeignCrds } from '../cluster/foreign-crds.ts';
import { runCommand, type CommandResult } from '../cluster/run-command.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { CHARTS, helm } from '../harness/helm.ts';
import { SYSTEM_NAMESPACE } from '../harness/install-standin.ts';
import { createPerson, startClusterDashboard, type ClusterDashboard } from './cluster-dashboard.ts';
import { ROOT } from './dev-stand.ts';
import { startForwardingKubelet, type ForwardingKubelet } from './forwarding-kubelet.ts';
import { selfSigned } from './tls-upstream.ts';

/**
 * Tests `standin check` on a real API server with the chart's objects. Kubernetes' controllers create the pods, and this test starts
 * them as a kubelet would: the processes run on this machine. Each test breaks the installation in one way, and repairs it.
 */

const METRICS_PORT = 9090;
const SETTLE_MS_MAX = 60_000;
const LOGIN = { stringData: { username: 'default', password: 'x' } };

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let deployment: Deployment;
let dashboard: ClusterDashboard;
let kubelet: ForwardingKubelet;
let check: () => Promise<readonly Finding[]>;
let close: () => Promise<void>;

const kubectl = async (...args: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await cluster.kubectl(['-n', SYSTEM_NAMESPACE, ...args]);
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
};
const apply = (object: object): Promise<void> => cluster.apply(JSON.stringify(object));

beforeAll(async () => {
  [cluster, clickHouse] = await Promise.all([startCluster(), startClickHouse()]);
  await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM_NAMESPACE } });
  const metadata = { name: 'clickhouse-login', namespace: SYSTEM_NAMESPACE };
  await apply({ apiVersion: 'v1', kind: 'Secret', metadata, ...LOGIN });
  const values = [
    ...['clickhouse.url=http://clickhouse:8123', 'clickhouse.existingSecret=clickhouse-login'],
    ...['operator.replicas=1', 'gateway.replicas=1', 'dashboard.replicas=1'],
  ];
  const place = ['-n', SYSTEM_NAMESPACE, '--kubeconfig', cluster.kubeconfigPath];
  const set = values.flatMap((value) => ['--set', value]);
  const { code, stderr } = await helm(['install', 'standin', path.join(CHARTS, 'standin'), ...place, ...set]);
  expect(code, stderr).toBe(0);
  [deployment, dashboard, kubelet] = await Promise.all([
    deploy({ cluster, clickHouse, operators: 1, gateways: 1, operatorEnv: clickHouse.env }),
    startClusterDashboard({ cluster, clickHouse }),
    startForwardingKubelet(cluster, 'node-1'),
  ]);
  await startPods();
  const client = loadKubeClient({ kubeconfigPath: cluster.kubeconfigPath });
  check = () => runCheck(client, SYSTEM_NAMESPACE);
  close = () => client.close();
}, 240_000);
afterAll(async () => {
  await close();
  await kubelet.close();
  await dashboard.process.kill();
  await deployment.stop();
  await clickHouse.stop();
  await cluster.stop();
});

interface PodObject {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: { readonly nodeName?: string };
}

/** Binds new pods to the node and reports them as ready, until the chart's pods exist and are ready. */
const startPods = (): Promise<unknown> =>
  eventually(
    'the pods of the chart',
    async () => {
      const { items } = JSON.parse(await kubectl('get', 'pods', '-o', 'json')) as { items: readonly PodObject[] };
      for (const { metadata, spec } of items) if (spec.nodeName === undefined) await startPod(metadata);
      return items.filter(({ spec }) => spec.nodeName !== undefined).length;
    },
    { accept: (count) => count === 3, timeoutMs: SETTLE_MS_MAX, intervalMs: 300 },
  );

const startPod = async ({ name, labels }: PodObject['metadata']): Promise<void> => {
  const binding = {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name },
    target: { apiVersion: 'v1', kind: 'Node', name: kubelet.node },
  };
  const url = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/pods/${name}/binding`;
  const { code, stderr } = await cluster.kubectl(['create', '--raw', url, '-f', '-'], {
    input: JSON.stringify(binding),
  });
  if (code !== 0) throw new Error(stderr);
  await setStatus(name, { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] });
  const adminUrls: Readonly<Record<string, string | undefined>> = {
    operator: deployment.operators[0]?.adminUrl,
    gateway: deployment.gateways[0]?.adminUrl,
    dashboard: dashboard.adminUrl,
  };
  kubelet.forward(name, METRICS_PORT, adminUrls[labels['app.kubernetes.io/component'] ?? ''] ?? '');
};

const restartGateway = async (moreEnv?: Readonly<Record<string, string>>): Promise<void> => {
  const [gateway] = deployment.gateways;
  await gateway?.process.restart(moreEnv);
  await gateway?.process.waitForUrl(`${gateway.adminUrl}/metrics`);
};

const setStatus = (pod: string, status: object): Promise<string> =>
  kubectl('patch', 'pod', pod, '--subresource=status', '--type=merge', '-p', JSON.stringify({ status }));

const podName = async (component: string): Promise<string> =>
  (await kubectl('get', 'pods', '-l', `app.kubernetes.io/component=${component}`, '-o', 'name')).trim().split('/')[1] ??
  '';

const failures = async (): Promise<readonly Finding[]> => (await check()).filter(({ status }) => status !== 'Passed');

const untilHealthy = (): Promise<unknown> =>
  eventually('a healthy installation', failures, {
    accept: (found: readonly Finding[]) => found.length === 0,
    timeoutMs: SETTLE_MS_MAX,
    intervalMs: 100,
  });

/** Waits until the check reports the finding. */
const expectFailure = async (name: string, message: string, remedy: string): Promise<void> => {
  const isIt = (finding: Finding): boolean =>
    finding.check === name && finding.status === 'Failed' && finding.message.includes(message);
  const found = await eventually(`the finding ${name}`, check, {
    accept: (findings: readonly Finding[]) => findings.some(isIt),
    timeoutMs: SETTLE_MS_MAX,
    intervalMs: 100,
  });
  expect(found.find(isIt)?.remedy).toContain(remedy);
};

/** Deletes an object, and creates it again afterwards. */
const without = async (kind: string, name: string, during: () => Promise<void>): Promise<void> => {
  const found = JSON.parse(await kubectl('get', kind, name, '-o', 'json')) as { metadata: object };
  const unset = { uid: undefined, resourceVersion: undefined, creationTimestamp: undefined };
  const object = { ...found, metadata: { ...found.metadata, ...unset } };
  await kubectl('delete', kind, name);
  await during();
  await apply(object);
};

/** Changes the gateways' StatefulSet without replacing their pods, and changes it back afterwards. */
const withGateways = async (podSpec: object, during: () => Promise<void>): Promise<void> => {
  const before = JSON.parse(await kubectl('get', 'statefulset', 'standin-gateway', '-o', 'json')) as {
    spec: { template: object; updateStrategy: object };
  };
  const patch = (type: string, spec: object): Promise<string> =>
    kubectl('patch', 'statefulset', 'standin-gateway', `--type=${type}`, '-p', JSON.stringify({ spec }));
  const updateStrategy = { type: 'OnDelete', rollingUpdate: null };
  await patch('strategic', { updateStrategy, template: { spec: podSpec } });
  await during();
  await patch('merge', { template: before.spec.template });
  await patch('merge', { updateStrategy: before.spec.updateStrategy });
};

const PLUGIN = path.join(ROOT, 'cli/plugin/main.ts');
const runPlugin = (kubeconfig: string, ...args: readonly string[]): Promise<CommandResult> => {
  const run = `await (await import(${JSON.stringify(PLUGIN)})).runPlugin()`;
  const env = { ...process.env, KUBECONFIG: kubeconfig };
  return runCommand(process.execPath, ['--input-type=module', '-e', run, '--', ...args], { env });
};

describe('standin status', () => {
  test('shows components with their versions, and objects that are not ready', async () => {
    await untilHealthy();
    const orphan = {
      apiVersion: 'standin.dev/v1alpha1',
      kind: 'Endpoint',
      metadata: { name: 'orphan', namespace: 'default' },
      spec: {
        projectRef: { name: 'none' },
        displayName: 'x',
        method: 'GET',
        slug: '/x',
        action: 'JSON',
        json: { body: '{}' },
      },
    };
    await apply(orphan);
    const { stdout } = await eventually('the status', () => runPlugin(cluster.kubeconfigPath, 'status'), {
      accept: (result) => result.stdout.includes('ProjectNotFound'),
      timeoutMs: SETTLE_MS_MAX,
    });
    for (const component of ['operator', 'gateway', 'dashboard'])
      expect(stdout).toMatch(new RegExp(`^${component} +1/1 +${packageJson.version}\\b`, 'm'));
    expect(stdout).toMatch(/^endpoint +0\/1$/m);
    expect(stdout).toMatch(/^ProjectNotFound Endpoint default\/orphan: /m);
    const { code, stdout: json } = await runPlugin(cluster.kubeconfigPath, 'status', '-o', 'json');
    const { leader, kinds, forbidden } = JSON.parse(json) as InstallationStatus;
    expect({ code, forbidden }).toEqual({ code: 0, forbidden: [] });
    expect(leader).toMatch(/^[\w-]+$/);
    expect(kinds.find(({ kind }) => kind === 'Endpoint')?.notReady).toMatchObject([{ name: 'orphan' }]);
    await cluster.kubectl(['delete', 'mep', 'orphan', '-n', 'default']);
  });

  test('reports a namespace without Standin', async () => {
    const { code, stderr } = await runPlugin(cluster.kubeconfigPath, 'status', '--system-namespace', 'default');
    expect(code).toBe(1);
    expect(stderr).toContain(
      'namespace default has no components of Standin: name its namespace with --system-namespace',
    );
  });

  test('names what a user must not read', async () => {
    await createPerson(cluster, SYSTEM_NAMESPACE, { name: 'reader' });
    const { code, stdout } = await runPlugin(await cluster.tokenKubeconfig(SYSTEM_NAMESPACE, 'reader'), 'status');
    expect(code).toBe(0);
    // The components are read by several requests at once, and the first refusal is shown.
    expect(stdout).toMatch(/^Unknown (deployments\.apps|statefulsets\.apps|pods|services) is forbidden/m);
    expect(stdout).toContain('Unknown mockendpoints.standin.dev is forbidden');
  });
});

describe('standin check', () => {
  test('passes on a healthy installation', async () => {
    await untilHealthy();
    const { code, stdout, stderr } = await runPlugin(cluster.kubeconfigPath, 'check');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('Passed   ClickHouse: All ready pods reach ClickHouse.');
  });

  test('reports a missing CRD, with exit code 1 and as JSON', async () => {
    await kubectl('delete', 'crd', 'mockshares.standin.dev');
    await expectFailure('CustomResourceDefinitions', 'The CRD of Share is missing.', 'helm upgrade');
    const { code, stdout } = await runPlugin(cluster.kubeconfigPath, 'check', '-o', 'json');
    const findings = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Finding);
    expect(code).toBe(1);
    expect(findings.filter(({ status }) => status === 'Failed')).toMatchObject([
      { check: 'CustomResourceDefinitions' },
    ]);
    await cluster.apply(await readFile(path.join(ROOT, 'crds/manifests/standin.dev_mockshares.yaml'), 'utf8'));
    await untilHealthy();
  });

  test('reports the CRD of an earlier version', async () => {
    const field = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/retentionDays';
    const remove = JSON.stringify([{ op: 'remove', path: field }]);
    await kubectl('patch', 'crd', 'mockprojects.standin.dev', '--type=json', '-p', remove);
    await expectFailure('CustomResourceDefinitions', 'It lacks spec.retentionDays', 'kubectl apply --server-side');
    await cluster.apply(await readFile(path.join(ROOT, 'crds/manifests/standin.dev_mockprojects.yaml'), 'utf8'));
    await untilHealthy();
  });

  test('reports an operator without replicas', async () => {
    await kubectl('scale', 'deployment/standin-operator', '--replicas=0');
    await expectFailure('Operator', 'has 0 replicas', 'kubectl scale deployment/standin-operator');
    await kubectl('delete', 'pod', '-l', 'app.kubernetes.io/component=operator', '--force');
    await kubectl('scale', 'deployment/standin-operator', '--replicas=1');
    await startPods();
    await untilHealthy();
  });

  test('reports a gateway whose image cannot be pulled', async () => {
    const pod = await podName('gateway');
    const waiting = { reason: 'ImagePullBackOff', message: 'Back-off pulling image "standin:0"' };
    const container = {
      name: 'gateway',
      image: '',
      imageID: '',
      ready: false,
      restartCount: 0,
      state: { waiting },
    };
    await setStatus(pod, { conditions: [{ type: 'Ready', status: 'False' }], containerStatuses: [container] });
    await expectFailure('Gateways', 'ImagePullBackOff: Back-off pulling image', 'image.repository');
    await setStatus(pod, { conditions: [{ type: 'Ready', status: 'True' }], containerStatuses: [] });
    await untilHealthy();
  });

  test('reports an update whose image cannot be pulled while the earlier pods are ready', async () => {
    const { items: before } = JSON.parse(await kubectl('get', 'pods', '-o', 'json')) as { items: readonly PodObject[] };
    await kubectl('set', 'image', 'deployment/standin-dashboard', '*=nowhere/standin:9');
    const pod = await eventually('the new pod', async () => {
      const { items } = JSON.parse(await kubectl('get', 'pods', '-o', 'json')) as { items: readonly PodObject[] };
      return items.find(({ metadata }) => !before.some((old) => old.metadata.name === metadata.name))?.metadata.name;
    });
    const container = {
      name: 'dashboard',
      image: '',
      imageID: '',
      ready: false,
      restartCount: 0,
      state: { waiting: { reason: 'ErrImagePull', message: 'nowhere' } },
    };
    await setStatus(String(pod), { conditions: [{ type: 'Ready', status: 'False' }], containerStatuses: [container] });
    await expectFailure('Dashboard', 'has 1 of 1 pods ready. Pod', 'image.repository');
    await kubectl('rollout', 'undo', 'deployment/standin-dashboard');
    await untilHealthy();
  });

  test('reports a missing Secret that pods mount', async () => {
    await without('secret', 'clickhouse-login', () =>
      expectFailure('Secrets', `${SYSTEM_NAMESPACE}/clickhouse-login is missing`, 'Create it again'),
    );
    await untilHealthy();
  });

  test('reports a missing Secret whose keys are variables', async () => {
    await withGateways({ containers: [{ name: 'gateway', envFrom: [{ secretRef: { name: 'proxy' } }] }] }, () =>
      expectFailure('Secrets', `${SYSTEM_NAMESPACE}/proxy is missing. The pods of gateway need it.`, 'Create it again'),
    );
    await untilHealthy();
  });

  test('reports a missing Secret with the certificates', async () => {
    await without('secret', 'standin-stream-tls', () =>
      expectFailure('Secrets', 'standin-stream-tls is missing', 'The operator creates it'),
    );
    await untilHealthy();
  });

  test('reports Certificates that cert-manager does not issue', async () => {
    const name = 'standin-gateway-tls';
    const metadata = { name, namespace: SYSTEM_NAMESPACE };
    const certificates = async (): Promise<readonly Finding[]> =>
      (await check()).filter((finding) => finding.check === 'Certificates');
    const ready = (status: string, message: string): Promise<string> => {
      const condition = {
        type: 'Ready',
        status,
        message,
        reason: 'Test',
        lastTransitionTime: new Date().toISOString(),
      };
      const patch = JSON.stringify({ status: { conditions: [condition] } });
      return kubectl('patch', 'certificate', name, '--subresource=status', '--type=merge', '-p', patch);
    };
    await withGateways({ volumes: [{ name: 'stream-tls', secret: { secretName: name, items: null } }] }, async () => {
      await expectFailure('Certificates', `No Certificate of cert-manager exists for Secret`, 'helm upgrade');
      for (const crd of await readForeignCrds()) await cluster.apply(crd);
      await kubectl('wait', '--for=condition=Established', 'crd/certificates.cert-manager.io');
      const spec = { secretName: name, dnsNames: ['standin-gateway'], issuerRef: { name: 'none' } };
      await apply({ apiVersion: 'cert-manager.io/v1', kind: 'Certificate', metadata, spec });
      await expectFailure(
        'Certificates',
        `${name} is not ready: cert-manager has not processed it.`,
        'kubectl describe',
      );
      await ready('False', 'Issuing certificate as Secret does not exist');
      await expectFailure('Certificates', 'Issuing certificate as Secret does not exist.', 'kubectl describe');
      expect((await certificates()).filter(({ status }) => status === 'Passed')).toEqual([]);
      const { cert } = await selfSigned();
      await apply({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { 'tls.crt': cert } });
      await ready('True', 'Certificate is up to date and has not expired');
      expect(await certificates()).toMatchObject([{ status: 'Passed' }]);
    });
    await kubectl('delete', 'certificate,secret', name);
    await untilHealthy();
  });

  test('reports an expired certificate, and one that is about to expire', async () => {
    const secret = JSON.parse(await kubectl('get', 'secret', 'standin-stream-tls', '-o', 'json')) as {
      data: Record<string, string>;
    };
    for (const [offsetMs, message] of [
      [-60_000, 'gateway.crt in Secret standin-system/standin-stream-tls expired at'],
      [120_000, 'gateway.crt in Secret standin-system/standin-stream-tls is about to expire'],
    ] as const) {
      const { cert } = await selfSigned(new Date(Date.now() + offsetMs));
      const data = { 'gateway.crt': Buffer.from(cert).toString('base64') };
      await kubectl('patch', 'secret', 'standin-stream-tls', '--type=merge', '-p', JSON.stringify({ data }));
      await expectFailure('Certificates', message, 'kubectl delete secret standin-stream-tls');
    }
    const { data } = secret;
    await kubectl('patch', 'secret', 'standin-stream-tls', '--type=merge', '-p', JSON.stringify({ data }));
    await untilHealthy();
  });

  test('reports a missing Service', async () => {
    await without('service', 'standin-operator', () =>
      expectFailure('Services', 'Through it, gateways reach the operator.', 'helm upgrade'),
    );
    await untilHealthy();
  });

  test('reports a missing ServiceAccount', async () => {
    await without('serviceaccount', 'standin-gateway', () =>
      expectFailure('ServiceAccounts', 'standin-gateway is missing. The pods of gateway need it.', 'helm upgrade'),
    );
    await untilHealthy();
  });

  test('reports the permissions that the operator lacks', async () => {
    await without('clusterrolebinding', 'standin-operator', () =>
      expectFailure('Permissions', 'list mockaccounts in all namespaces', 'rbac.create=true'),
    );
    await untilHealthy();
  });

  test('reports pods of different versions', async () => {
    const earlier = createServer((_, response) =>
      response.end('standin_build_info{component="dashboard",version="0.0.9"} 1\nstandin_log_store_up 1\n'),
    ).listen(0, '127.0.0.1');
    await once(earlier, 'listening');
    const pod = await podName('dashboard');
    kubelet.forward(pod, METRICS_PORT, `http://127.0.0.1:${(earlier.address() as AddressInfo).port}`);
    await expectFailure('Versions', 'Dashboard 0.0.9', 'finish the upgrade');
    kubelet.forward(pod, METRICS_PORT, dashboard.adminUrl);
    earlier.close();
    await untilHealthy();
  });

  test('reports a gateway whose volume is full', async () => {
    await restartGateway({ STANDIN_SPOOL_RESERVE_BYTES: String(2 ** 50) });
    await expectFailure('Volumes', 'its volume or its spool is full', 'gateway.persistence.size');
    await restartGateway();
    await untilHealthy();
  });

  test('reports a gateway with rows in quarantine', async () => {
    const quarantine = path.join(deployment.gateways[0]?.dataDir ?? '', 'spool/quarantine');
    await mkdir(quarantine, { recursive: true });
    await writeFile(path.join(quarantine, 'row.bin'), 'a row');
    await restartGateway();
    await expectFailure('Quarantine', 'rows that ClickHouse does not accept', '/var/lib/standin-gateway/spool');
    await rm(quarantine, { recursive: true });
    await restartGateway();
    await untilHealthy();
  });

  test('reports what a user without permissions cannot check as unknown', async () => {
    await createPerson(cluster, SYSTEM_NAMESPACE, { name: 'guest' });
    const { code, stdout } = await runPlugin(await cluster.tokenKubeconfig(SYSTEM_NAMESPACE, 'guest'), 'check');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^Unknown {2}Components: (deployments\.apps|statefulsets\.apps|pods|services) is forbidden/m,
    );
  });

  test('reports a namespace without Standin', async () => {
    const { code, stdout } = await runPlugin(cluster.kubeconfigPath, 'check', '--system-namespace', 'default');
    expect(code).toBe(1);
    expect(stdout).toContain('Failed   Operator: Namespace default has no operator.');
  });

  test('reports a ClickHouse that does not respond', async () => {
    await clickHouse.stop();
    await expectFailure('ClickHouse', 'cannot reach ClickHouse', 'clickhouse.url');
  });

  test('reports an operator that does not lead, and the gateways that lost their connection', async () => {
    await deployment.operators[0]?.process.kill('SIGKILL');
    await expectFailure('Leader', 'No operator leads.', 'kubectl logs');
    await expectFailure('Config stream', 'is not connected to an operator', 'NetworkPolicies');
  });
});
