import { randomBytes } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { Cluster } from './cluster.ts';

/** Creates a namespace with a unique name. A file that calls this function in beforeAll must delete the namespace in afterAll. */
export const createNamespace = async (cluster: Cluster, prefix = 'test'): Promise<string> => {
  const name = `${prefix}-${randomBytes(5).toString('hex')}`;
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }));
  return name;
};

/** Starts the deletion of a namespace with all its objects. Does not wait until the deletion has ended. */
export const deleteNamespace = async (cluster: Cluster, name: string): Promise<void> => {
  await cluster.kubectl(['delete', 'namespace', name, '--wait=false', '--ignore-not-found']);
};

/** Creates a namespace for the running test and deletes it when the test has finished. */
export const useNamespace = async (cluster: Cluster, prefix?: string): Promise<string> => {
  const name = await createNamespace(cluster, prefix);
  onTestFinished(() => deleteNamespace(cluster, name));
  return name;
};
