import type { ServiceListener, ServiceObject } from '@standin/contract';
import type { KubeClient } from '@standin/kube';
import { loadKubeClient } from '@standin/kube/load-kube-client';
import { kubernetesServices } from '@standin/operator';
import pino from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Cluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { OPERATOR_SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../harness/install-standin.ts';
import { useNamespace } from '../harness/namespace.ts';
import { sharedCluster } from '../harness/shared-cluster.ts';

const logger = pino({ level: 'silent' });

let cluster: Cluster;
let client: KubeClient;
const stop = new AbortController();
beforeAll(async () => {
  cluster = await sharedCluster();
  const kubeconfigPath = await cluster.tokenKubeconfig(SYSTEM_NAMESPACE, OPERATOR_SERVICE_ACCOUNT);
  client = loadKubeClient({ kubeconfigPath });
});
afterAll(async () => {
  stop.abort();
  await client.close();
});

/** A listener that records the Services of one namespace. */
class Known implements ServiceListener {
  readonly services = new Map<string, ServiceObject>();
  readonly problems: (string | undefined)[] = [];
  readonly #namespace: string;

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  putService(service: ServiceObject): void {
    if (service.namespace === this.#namespace) this.services.set(service.name, service);
  }

  removeService({ namespace, name }: ServiceObject): void {
    if (namespace === this.#namespace) this.services.delete(name);
  }

  servicesIn(_namespace: string | undefined, problem: string | undefined): void {
    this.problems.push(problem);
  }
}

const applyService = (namespace: string, name: string, spec: object): Promise<void> =>
  cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Service', metadata: { namespace, name }, spec }));

it('reports the state of Services and their changes', async () => {
  const namespace = await useNamespace(cluster);
  const ports = [
    { name: 'http', port: 80 },
    { name: 'dns', port: 53, protocol: 'UDP' },
  ];
  await applyService(namespace, 'pods', { selector: { app: 'a' }, ports });
  await applyService(namespace, 'by-hand', { ports });
  await applyService(namespace, 'alias', { type: 'ExternalName', externalName: 'example.com' });
  await applyService(namespace, 'headless', { clusterIP: 'None', selector: { app: 'a' } });
  const known = new Known(namespace);
  await kubernetesServices({ client, namespaces: [], logger }).start(known, stop.signal);

  const base = { namespace, type: 'ClusterIP', hasSelector: true, isHeadless: false, ports: [80] };
  expect(Object.fromEntries(known.services)).toEqual({
    pods: { ...base, name: 'pods' },
    'by-hand': { ...base, name: 'by-hand', hasSelector: false },
    alias: { ...base, name: 'alias', type: 'ExternalName', hasSelector: false, ports: [] },
    headless: { ...base, name: 'headless', isHeadless: true, ports: [] },
  });
  expect(new Set(known.problems)).toEqual(new Set([undefined]));

  await applyService(namespace, 'pods', { type: 'ExternalName', externalName: 'example.com', selector: null, ports });
  await eventually('the change', () => known.services.get('pods'), { accept: (pods) => pods?.type === 'ExternalName' });
  await cluster.kubectl(['delete', 'service', 'pods', '-n', namespace]);
  await eventually('the removal', () => !known.services.has('pods'));
});

it('reports a missing permission without blocking and reads all Services as soon as it is granted', async () => {
  const namespace = await useNamespace(cluster);
  const metadata = { name: 'newcomer', namespace };
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'ServiceAccount', metadata }));
  await applyService(namespace, 'pods', { selector: { app: 'a' }, ports: [{ port: 80 }] });
  const newcomer = loadKubeClient({ kubeconfigPath: await cluster.tokenKubeconfig(namespace, 'newcomer') });
  const known = new Known(namespace);
  const ended = new AbortController();
  await kubernetesServices({ client: newcomer, namespaces: [namespace], logger }).start(known, ended.signal);
  expect(new Set(known.problems)).toEqual(
    new Set([
      `The operator is not allowed to read Services: its ServiceAccount needs the verbs "list" and "watch" on services in namespace ${namespace}.`,
    ]),
  );

  const rbac = 'rbac.authorization.k8s.io';
  const rules = [{ apiGroups: [''], resources: ['services'], verbs: ['list', 'watch'] }];
  await cluster.apply(JSON.stringify({ apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules }));
  const roleRef = { apiGroup: rbac, kind: 'Role', name: 'newcomer' };
  const subjects = [{ kind: 'ServiceAccount', ...metadata }];
  await cluster.apply(JSON.stringify({ apiVersion: `${rbac}/v1`, kind: 'RoleBinding', metadata, roleRef, subjects }));
  await eventually('the grant to be noticed', () => known.problems.at(-1) === undefined, { timeoutMs: 30_000 });
  expect([...known.services.keys()]).toEqual(['pods']);
  ended.abort();
  await newcomer.close();
});
