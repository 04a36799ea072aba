import { randomBytes } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { Cluster } from './cluster.ts';

/** A namespace with a name that no other test has. Whoever creates it in a beforeAll deletes it in afterAll. */
export const createNamespace = async (cluster: Cluster, prefix = 'test'): Promise<string> => {
  const name = `${prefix}-${randomBytes(5).toString('hex')}`;
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }));
  return name;
};

/** Begins the deletion of a namespace with all that is in it, and does not wait for its end. */
export const deleteNamespace = async (cluster: Cluster, name: string): Promise<void> => {
  await cluster.kubectl(['delete', 'namespace', name, '--wait=false', '--ignore-not-found']);
};

/** A namespace for the test that is running, deleted when it has finished. */
export const useNamespace = async (cluster: Cluster, prefix?: string): Promise<string> => {
  const name = await createNamespace(cluster, prefix);
  onTestFinished(() => deleteNamespace(cluster, name));
  return name;
};
