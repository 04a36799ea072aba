import { API_GROUP, API_VERSION } from '@standin/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Cluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { renderChart } from '../harness/helm.ts';
import { createNamespace, deleteNamespace } from '../harness/namespace.ts';
import { sharedCluster } from '../harness/shared-cluster.ts';

/**
 * Tests the chart's deletion protection on the real API server. Its policy selects only the namespaces of this test, because all
 * tests share the cluster.
 */

let cluster: Cluster;
let namespace: string;
let ending: string;
let policy: string;

const apply = (kind: string, name: string, spec: object, where = namespace) =>
  cluster.apply(
    JSON.stringify({ apiVersion: `${API_GROUP}/${API_VERSION}`, kind, metadata: { name, namespace: where }, spec }),
  );
const patchStatus = async (object: string, status: object, where = namespace): Promise<void> => {
  const patch = ['--subresource=status', '--type=merge', '-p', JSON.stringify({ status })];
  const { code, stderr } = await cluster.kubectl(['patch', object, '-n', where, ...patch]);
  expect(code, stderr).toBe(0);
};
const remove = (...args: string[]) => cluster.kubectl(['delete', '-n', namespace, '--wait=false', ...args]);
const existingName = async (object: string): Promise<string> =>
  (await cluster.kubectl(['get', object, '-n', namespace, '-o', 'name', '--ignore-not-found'])).stdout.trim();

beforeAll(async () => {
  cluster = await sharedCluster();
  [namespace, ending] = await Promise.all([createNamespace(cluster, 'protected'), createNamespace(cluster, 'ending')]);
  policy = await renderChart({
    set: [
      ...['deletionProtection.enabled=true', `fullnameOverride=${namespace}`],
      `watch.namespaces={${namespace},${ending}}`,
    ],
    only: ['templates/deletion-protection.yaml'],
  });
  await cluster.apply(policy);
  for (const where of [namespace, ending]) {
    await apply('Account', 'used', { plan: 'Free' }, where);
    await apply('Project', 'busy', { accountRef: { name: 'used' } }, where);
    await patchStatus('mac/used', { projects: 1 }, where);
    await patchStatus('mpr/busy', { lastRequestAt: '2026-11-21T10:00:00Z' }, where);
  }
  // The API server applies a new policy after a short delay.
  await eventually('the policy', () => remove('mac/used', '--dry-run=server'), { accept: ({ code }) => code !== 0 });
});
afterAll(async () => {
  await cluster.kubectl(['delete', '-f', '-', '--ignore-not-found'], { input: policy });
  await Promise.all([deleteNamespace(cluster, namespace), deleteNamespace(cluster, ending)]);
});

test('an Account with Projects, and a Project with requests, cannot be deleted by mistake', async () => {
  const account = await remove('mac/used');
  expect(account.stderr).toContain('the Account used has 1 Project(s)');
  expect(account.stderr).toContain('kubectl annotate mac used standin.dev/allow-deletion=true');
  const project = await remove('mpr/busy');
  expect(project.stderr).toContain('the Project busy received a request at 2026-11-21T10:00:00Z');
  expect(await existingName('mac/used')).not.toBe('');
  expect(await existingName('mpr/busy')).not.toBe('');
});

test('objects that nothing depends on can be deleted', async () => {
  await apply('Account', 'unused', { plan: 'Free' });
  await patchStatus('mac/unused', { projects: 0 });
  await apply('Project', 'new', { accountRef: { name: 'unused' } });
  for (const object of ['mac/unused', 'mpr/new']) {
    expect((await remove(object)).stderr, object).toBe('');
    expect(await existingName(object)).toBe('');
  }
});

test('delete --all and the deletion of a collection keep the protected objects only', async () => {
  await apply('Project', 'first', { accountRef: { name: 'used' } });
  const all = await remove('mpr', '--all');
  expect(all.code).not.toBe(0);
  expect(await existingName('mpr')).toBe('project.standin.dev/busy');
  await apply('Project', 'second', { accountRef: { name: 'used' } });
  const url = `/apis/${API_GROUP}/${API_VERSION}/namespaces/${namespace}/mockprojects`;
  const collection = await cluster.kubectl(['delete', '--raw', url]);
  expect(collection.stderr).toContain('the Project busy received a request');
  expect(await existingName('mpr/busy')).not.toBe('');
});

test('an annotation allows the deletion', async () => {
  await apply('Project', 'old', { accountRef: { name: 'used' } });
  await patchStatus('mpr/old', { lastRequestAt: '2026-11-21T10:00:00Z' });
  const annotate = ['annotate', 'mpr', 'old', '-n', namespace];
  await cluster.kubectl([...annotate, 'standin.dev/allow-deletion=false']);
  expect((await remove('mpr/old')).code).not.toBe(0);
  await cluster.kubectl([...annotate, '--overwrite', 'standin.dev/allow-deletion=true']);
  expect((await remove('mpr/old')).stderr).toBe('');
});

test('a namespace is deleted with its protected objects', async () => {
  await deleteNamespace(cluster, ending);
  const get = ['get', 'namespace', ending, '--ignore-not-found', '-o', 'name'];
  await eventually('the end of the namespace', () => cluster.kubectl(get), {
    accept: ({ stdout }) => stdout === '',
    timeoutMs: 60_000,
  });
});
