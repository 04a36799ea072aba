import { KubeClient, type KubeClientOptions } from './kube-client.ts';
import { loadConfig, type LoadOptions } from './kube-config.ts';

interface LoadClientOptions extends LoadOptions, Omit<KubeClientOptions, 'config'> {}

/** Creates a client for the cluster of a kubeconfig, or of the pod that this process runs in. Connects at the first call. */
export const loadKubeClient = (options: LoadClientOptions = {}): KubeClient =>
  new KubeClient({
    config: loadConfig(options),
    registry: options.registry,
    writeRate: options.writeRate,
    clock: options.clock,
  });
