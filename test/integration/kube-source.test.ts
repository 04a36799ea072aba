import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import 'reflect-metadata';
import { X509CertificateGenerator } from '@peculiar/x509';
import { GROUP_VERSION, type ResourceObject } from '@standin/contract';
import type { KubeClient } from '@standin/kube';
import { loadKubeClient } from '@standin/kube/load-kube-client';
import { kubernetesSource, ledgerConfigMaps } from '@standin/operator';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Cluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { OPERATOR_SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../harness/install-standin.ts';
import { useNamespace } from '../harness/namespace.ts';
import { sharedCluster } from '../harness/shared-cluster.ts';

/** Tests behavior that only the Kubernetes source has. source-conformance.test.ts covers the behavior that both sources share. */

const silent = pino({ level: 'silent' });

describe('the Kubernetes source', () => {
  let cluster: Cluster;
  let client: KubeClient;

  beforeAll(async () => {
    cluster = await sharedCluster();
    client = loadKubeClient({
      kubeconfigPath: await cluster.tokenKubeconfig(SYSTEM_NAMESPACE, OPERATOR_SERVICE_ACCOUNT),
    });
  });
  afterAll(() => client.close());

  const applyAccount = async (namespace: string, name: string): Promise<void> => {
    const object = {
      apiVersion: GROUP_VERSION,
      kind: 'Account',
      metadata: { name, namespace },
      spec: { plan: 'Free' },
    };
    await cluster.apply(JSON.stringify(object));
  };

  it('increases the count of a repeated event instead of adding another', async () => {
    const namespace = await useNamespace(cluster);
    await applyAccount(namespace, 'a');
    const source = kubernetesSource({ client, namespaces: [], logger: silent });
    const object = await source.objects.get({ kind: 'Account', namespace, name: 'a' });
    if (object === undefined) throw new Error('no object');
    for (let time = 0; time < 2; time++) {
      await source.events.record(object, { type: 'Warning', reason: 'Invalid', message: 'spec.plan: no' });
    }
    await source.events.record(object, { type: 'Normal', reason: 'Accepted', message: 'fine' });
    const { stdout } = await cluster.kubectl(['get', 'events.events.k8s.io', '-n', namespace, '-o', 'json']);
    const { items } = JSON.parse(stdout) as { items: { reason: string; note: string; series?: { count: number } }[] };
    expect(items.map(({ reason, note, series }) => [reason, note, series?.count]).sort()).toEqual([
      ['Accepted', 'fine', undefined],
      ['Invalid', 'spec.plan: no', 2],
    ]);
    const described = await cluster.kubectl(['describe', 'mac', 'a', '-n', namespace]);
    expect(described.stdout).toContain('spec.plan: no');
  });

  it('increases the count of an event that another operator recorded', async () => {
    const namespace = await useNamespace(cluster);
    await applyAccount(namespace, 'a');
    for (let operator = 0; operator < 2; operator++) {
      const source = kubernetesSource({ client, namespaces: [], logger: silent });
      const object = await source.objects.get({ kind: 'Account', namespace, name: 'a' });
      if (object === undefined) throw new Error('no object');
      await source.events.record(object, { type: 'Warning', reason: 'NoGateway', message: 'no gateway' });
    }
    const { stdout } = await cluster.kubectl(['get', 'events.events.k8s.io', '-n', namespace, '-o', 'json']);
    const { items } = JSON.parse(stdout) as { items: { reason: string; series?: { count: number } }[] };
    expect(items.map(({ reason, series }) => [reason, series?.count])).toEqual([['NoGateway', 2]]);
  });

  it('logs a missing permission and continues when it is granted', async () => {
    const namespace = await useNamespace(cluster);
    const metadata = { name: 'newcomer', namespace };
    await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'ServiceAccount', metadata }));
    await applyAccount(namespace, 'a');
    const kubeconfigPath = await cluster.tokenKubeconfig(namespace, 'newcomer');
    const newcomer = loadKubeClient({ kubeconfigPath });
    const lines: string[] = [];
    const logger = pino(
      { level: 'error' },
      { write: (line: string) => lines.push((JSON.parse(line) as { msg: string }).msg) },
    );
    const stop = new AbortController();
    const put: ResourceObject[] = [];
    const problems = new Set<string | undefined>();
    const started = kubernetesSource({ client: newcomer, namespaces: [namespace], logger }).objects.start(
      {
        put: (object) => put.push(object),
        remove: () => undefined,
        problems: () => undefined,
        configMaps: {
          put: () => undefined,
          remove: () => undefined,
          readable: (_, problem) => problems.add(problem),
        },
      },
      stop.signal,
    );
    const missing = `forbidden: the operator's ServiceAccount needs the verbs "list" and "watch" on mockaccounts.standin.dev in namespace "${namespace}"; retrying`;
    await eventually('the line', () => lines.includes(missing));
    const rules = [{ apiGroups: ['standin.dev'], resources: ['*'], verbs: ['list', 'watch'] }];
    const rbac = 'rbac.authorization.k8s.io';
    const subjects = [{ kind: 'ServiceAccount', ...metadata }];
    await cluster.apply(JSON.stringify({ apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules }));
    const roleRef = { apiGroup: rbac, kind: 'Role', name: 'newcomer' };
    await cluster.apply(JSON.stringify({ apiVersion: `${rbac}/v1`, kind: 'RoleBinding', metadata, roleRef, subjects }));
    await started;
    expect(put.map(({ metadata: { name } }) => name)).toEqual(['a']);
    // Only Endpoints with private authorities need ConfigMaps.
    expect([...problems]).toEqual([
      `The operator is not allowed to read ConfigMaps: its ServiceAccount needs the verbs "list" and "watch" on configmaps in namespace ${namespace}.`,
    ]);
    // The line is logged once, not at every attempt.
    expect(lines.filter((line) => line === missing)).toHaveLength(1);
    stop.abort();
    await newcomer.close();
  });

  it('creates Secrets without an owner, so that they outlive it', async () => {
    const namespace = await useNamespace(cluster);
    await applyAccount(namespace, 'a');
    const source = kubernetesSource({ client, namespaces: [], logger: silent });
    const object = await source.objects.get({ kind: 'Account', namespace, name: 'a' });
    if (object === undefined) throw new Error('no object');
    await source.secrets.create(object, 'a-api-key', { 'api-key': 'x' });
    const ownerReferences = async (): Promise<string> => {
      const jsonpath = 'jsonpath={.metadata.ownerReferences}';
      return (await cluster.kubectl(['get', 'secret', 'a-api-key', '-n', namespace, '-o', jsonpath])).stdout;
    };
    expect(await ownerReferences()).toBe('');
  });

  it('replaces and removes only the version of a ledger that was read', async () => {
    const namespace = await useNamespace(cluster);
    const admin = loadKubeClient({ kubeconfigPath: cluster.kubeconfigPath });
    const ledgers = ledgerConfigMaps(admin, namespace);
    const ledger = (used: number) => ({ period: '2026-11', used, blocks: [] });
    const first = await ledgers.write('u', ledger(1), undefined);
    const second = await ledgers.write('u', ledger(2), first);
    await ledgers.remove('u', first);
    await expect(ledgers.read('u')).resolves.toEqual({ ledger: ledger(2), version: second });
    await cluster.kubectl(['delete', 'configmap', 'standin-quota-u', '-n', namespace]);
    const third = await ledgers.write('u', ledger(3), undefined);
    await ledgers.remove('u', second);
    await expect(ledgers.write('u', ledger(4), second)).rejects.toMatchObject({ status: 409 });
    await expect(ledgers.list(() => undefined)).resolves.toEqual([['u', { ledger: ledger(3), version: third }]]);
    for (let time = 0; time < 2; time++) await ledgers.remove('u', third);
    await expect(ledgers.read('u')).resolves.toBeUndefined();
    await admin.close();
  });

  it("keeps kubectl's last-applied annotation", async () => {
    const namespace = await useNamespace(cluster);
    await applyAccount(namespace, 'a');
    const admin = loadKubeClient({ kubeconfigPath: cluster.kubeconfigPath });
    const source = kubernetesSource({ client: admin, namespaces: [], logger: silent });
    const seen = await source.objects.get({ kind: 'Account', namespace, name: 'a' });
    expect(seen?.metadata.annotations).toEqual({});
    const desired = {
      apiVersion: GROUP_VERSION,
      kind: 'Account' as const,
      metadata: { name: 'a', namespace },
      spec: { plan: 'Pro' },
    };
    await source.objects.apply(desired);
    const { stdout } = await cluster.kubectl([
      'get',
      'mac',
      'a',
      '-n',
      namespace,
      '-o',
      'jsonpath={.metadata.annotations}',
    ]);
    expect(stdout).toContain('last-applied-configuration');
    await admin.close();
  });
});

describe("a cluster's new CA", () => {
  let folder: string;
  let server: Server | undefined;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'standin-ca-'));
  });
  afterAll(async () => {
    server?.closeAllConnections();
    server?.close();
    await rm(folder, { recursive: true });
  });

  /** Serves HTTPS with a self-signed certificate, which is also the CA. */
  const serve = async (port: number): Promise<{ port: number; ca: string }> => {
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
    const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const certificate = await X509CertificateGenerator.createSelfSigned({
      name: 'CN=localhost',
      keys,
      signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    });
    const key = Buffer.from(await crypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
    const pem = `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----\n`;
    const next = createServer({ cert: certificate.toString('pem'), key: pem }, (_, response) => response.end('{}'));
    await new Promise<void>((resolve) => next.listen(port, '127.0.0.1', resolve));
    server = next;
    return { port: (next.address() as AddressInfo).port, ca: certificate.toString('pem') };
  };

  it('is trusted as soon as the CA file contains it', async () => {
    const { port, ca } = await serve(0);
    const caFile = path.join(folder, 'ca.crt');
    await writeFile(caFile, ca);
    const kubeconfigPath = path.join(folder, 'config');
    const cluster = {
      server: `https://127.0.0.1:${port}`,
      'certificate-authority': caFile,
      'tls-server-name': 'localhost',
    };
    const kubeconfig = {
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: { token: 't' } }],
    };
    await writeFile(kubeconfigPath, JSON.stringify(kubeconfig));
    const client = loadKubeClient({ kubeconfigPath });
    await client.get('/x', { once: true });

    server?.closeAllConnections();
    await new Promise((resolve) => server?.close(resolve));
    const replaced = await serve(port);
    await expect(client.get('/x', { once: true })).rejects.toMatchObject({ reason: 'Unreachable' });
    await writeFile(caFile, replaced.ca);
    expect(await readFile(caFile, 'utf8')).not.toBe(ca);
    await client.get('/x', { once: true });
    await client.close();
  });
});
