import { inject } from 'vitest';
import './global-setup.ts';
import { connectCluster, type Cluster } from './cluster.ts';
import type { SharedClusterAddress } from './cluster-broker.ts';

/**
 * Returns the cluster of this test run, with Standin's CRDs and RBAC. The cluster starts when the first test requests it, and all
 * tests share it. Each test uses its own namespace (useNamespace). Throws with the reason and what to install if no cluster is
 * possible.
 */
export const sharedCluster = async (): Promise<Cluster> => {
  const response = await fetch(inject('clusterBrokerUrl'));
  const body = await response.text();
  if (!response.ok) throw new Error(`This test needs a Kubernetes cluster. ${body}`);
  const { kubeconfigPath, directory } = JSON.parse(body) as SharedClusterAddress;
  return connectCluster(kubeconfigPath, directory);
};
