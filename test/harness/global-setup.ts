import type { TestProject } from 'vitest/node';
import { startClusterBroker } from './cluster-broker.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The URL of the cluster broker, which sharedCluster calls. */
    readonly clusterBrokerUrl: string;
  }
}

/** vitest's globalSetup, which runs once in vitest's main process. Returns the teardown. */
export const setup = async (project: TestProject): Promise<() => Promise<void>> => {
  const broker = await startClusterBroker();
  project.provide('clusterBrokerUrl', broker.url);
  return () => broker.close();
};
