import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startCluster, type Cluster, type OwnCluster } from '../harness/cluster.ts';
import {
  DASHBOARD_SERVICE_ACCOUNT,
  GATEWAY_SERVICE_ACCOUNT,
  OPERATOR_SERVICE_ACCOUNT,
  SYSTEM_NAMESPACE,
} from '../harness/install-standin.ts';
import { useNamespace } from '../harness/namespace.ts';
import { sharedCluster } from '../harness/shared-cluster.ts';

/** The namespace `*` means all namespaces. */
type Permission = readonly [verb: string, resource: string, namespace: string];

const OPERATOR_MAY: readonly Permission[] = [
  ['list', 'mockendpoints.standin.dev', '*'],
  ['watch', 'mockaccounts.standin.dev', '*'],
  ['patch', 'mockprojects.standin.dev/status', '*'],
  ['delete', 'mockreplays.standin.dev', '*'],
  ['patch', 'mockreplays.standin.dev/status', '*'],
  ['delete', 'mockshares.standin.dev', '*'],
  ['get', 'secrets', '*'],
  ['create', 'secrets', '*'],
  ['update', 'secrets', '*'],
  ['create', 'events.events.k8s.io', '*'],
  ['patch', 'events.events.k8s.io', '*'],
  ['update', 'leases.coordination.k8s.io', SYSTEM_NAMESPACE],
  ['create', 'jobs.batch', SYSTEM_NAMESPACE],
  ['patch', 'persistentvolumeclaims', SYSTEM_NAMESPACE],
];

const OPERATOR_MAY_NOT: readonly Permission[] = [
  ['list', 'secrets', '*'],
  ['watch', 'secrets', SYSTEM_NAMESPACE],
  ['delete', 'secrets', '*'],
  ['update', 'mockendpoints.standin.dev', '*'],
  ['patch', 'mockaccounts.standin.dev', '*'],
  ['create', 'mockprojects.standin.dev', '*'],
  ['create', 'mockreplays.standin.dev', '*'],
  ['create', 'mockshares.standin.dev', '*'],
  ['update', 'leases.coordination.k8s.io', 'default'],
  ['list', 'namespaces', '*'],
  ['list', 'pods', '*'],
  ['create', 'pods', SYSTEM_NAMESPACE],
  ['create', 'jobs.batch', 'default'],
  ['delete', 'persistentvolumeclaims', SYSTEM_NAMESPACE],
  ['list', 'statefulsets.apps', SYSTEM_NAMESPACE],
  ['create', 'events', '*'],
];

const GATEWAY_MAY_NOT: readonly Permission[] = [
  ['get', 'secrets', SYSTEM_NAMESPACE],
  ['list', 'mockendpoints.standin.dev', '*'],
  ['get', 'leases.coordination.k8s.io', SYSTEM_NAMESPACE],
  ['create', 'events', SYSTEM_NAMESPACE],
];

const DASHBOARD_MAY: readonly Permission[] = [
  ['list', 'mockprojects.standin.dev', '*'],
  ['watch', 'mockaccounts.standin.dev', '*'],
  ['watch', 'mockshares.standin.dev', '*'],
  ['get', 'mockshares.standin.dev', '*'],
];

const DASHBOARD_MAY_NOT: readonly Permission[] = [
  ['list', 'mockendpoints.standin.dev', '*'],
  ['get', 'mockprojects.standin.dev', '*'],
  ['get', 'mockprojects.standin.dev/logs', '*'],
  ['get', 'secrets', '*'],
  ['impersonate', 'users', '*'],
  ...['mockaccounts', 'mockprojects', 'mockendpoints', 'mockreplays', 'mockshares'].flatMap((resource) =>
    ['create', 'update', 'patch', 'delete'].map((verb): Permission => [verb, `${resource}.standin.dev`, '*']),
  ),
];

describe('the permissions of the ServiceAccounts', () => {
  let cluster: Cluster;
  let operator: string;
  let gateway: string;
  let dashboard: string;

  beforeAll(async () => {
    cluster = await sharedCluster();
    operator = await cluster.tokenKubeconfig(SYSTEM_NAMESPACE, OPERATOR_SERVICE_ACCOUNT);
    gateway = await cluster.tokenKubeconfig(SYSTEM_NAMESPACE, GATEWAY_SERVICE_ACCOUNT);
    dashboard = await cluster.tokenKubeconfig(SYSTEM_NAMESPACE, DASHBOARD_SERVICE_ACCOUNT);
  });

  const canI = async (as: string, [verb, resource, namespace]: Permission): Promise<string> => {
    const where = namespace === '*' ? ['--all-namespaces'] : ['--namespace', namespace];
    const [name = '', subresource] = resource.split('/');
    const which = subresource === undefined ? [name] : [name, `--subresource=${subresource}`];
    const { stdout } = await cluster.kubectl(['auth', 'can-i', verb, ...which, ...where], { as });
    return stdout.trim();
  };

  it.for(OPERATOR_MAY)('the operator can %s %s (namespace %s)', async (permission) => {
    expect(await canI(operator, permission)).toBe('yes');
  });

  it.for(OPERATOR_MAY_NOT)('the operator cannot %s %s (namespace %s)', async (permission) => {
    expect(await canI(operator, permission)).toBe('no');
  });

  it.for(GATEWAY_MAY_NOT)('the gateway cannot %s %s (namespace %s)', async (permission) => {
    expect(await canI(gateway, permission)).toBe('no');
  });

  it.for(DASHBOARD_MAY)('the dashboard can %s %s (namespace %s)', async (permission) => {
    expect(await canI(dashboard, permission)).toBe('yes');
  });

  it.for(DASHBOARD_MAY_NOT)('the dashboard cannot %s %s (namespace %s)', async (permission) => {
    expect(await canI(dashboard, permission)).toBe('no');
  });

  it('lets the operator get a Secret by name but not list Secrets', async () => {
    const namespace = await useNamespace(cluster);
    const create = ['create', 'secret', 'generic', 'team-a-api-key', '--from-literal=api-key=x', '-n', namespace];
    expect((await cluster.kubectl(create, { as: operator })).code).toBe(0);

    const one = await cluster.kubectl(['get', 'secret', 'team-a-api-key', '-n', namespace], { as: operator });
    expect(one.code).toBe(0);
    const all = await cluster.kubectl(['get', 'secrets', '-n', namespace], { as: operator });
    expect(all.code).not.toBe(0);
    expect(all.stderr).toContain('cannot list resource "secrets"');
  });

  it('serves the custom resources under their category', async () => {
    const { stdout, code } = await cluster.kubectl(['get', 'standin', '--all-namespaces', '-o', 'name'], {
      as: operator,
    });
    expect({ stdout, code }).toMatchObject({ code: 0 });
  });
});

describe.for(['SIGTERM', 'SIGKILL'] as const)('an API server that is stopped with %s and restarted', (signal) => {
  let cluster: OwnCluster;

  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.stop());

  it('keeps its objects and its address', async () => {
    const metadata = { name: 'kept', namespace: 'default' };
    await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: '1' } }));
    await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'ServiceAccount', metadata }));
    const kubeconfig = await cluster.tokenKubeconfig('default', 'kept');

    await cluster.stopApiServer(signal);
    expect((await cluster.kubectl(['get', '--raw=/readyz', '--request-timeout=2s'])).code).not.toBe(0);
    await cluster.startApiServer();

    const kept = await cluster.kubectl(['get', 'configmap', 'kept', '-n', 'default', '-o', 'jsonpath={.data.a}']);
    expect(kept).toMatchObject({ code: 0, stdout: '1' });
    // Tokens stay valid, because the signing key is kept.
    expect((await cluster.kubectl(['get', '--raw=/api'], { as: kubeconfig })).code).toBe(0);
  });
});
