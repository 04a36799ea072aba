// client-node's KubeConfig.makeApiClient returns APIs without retries, limits and metrics.

import { KubeClient, type KubeClientOptions } from './kube-client.ts';
import { loadConfig, type LoadOptions } from './kube-config.ts';

interface LoadClientOptions extends LoadOptions, Omit<KubeClientOptions, 'config'> {}

/**
 * Creates a client for the cluster in a kubeconfig, or for the cluster that this process's pod runs in. Connects at the first
 * call.
 */
export const loadKubeClient = (options: LoadClientOptions = {}): KubeClient =>
  new KubeClient({
    config: loadConfig(options),
    registry: options.registry,
    writeRate: options.writeRate,
    clock: options.clock,
  });
