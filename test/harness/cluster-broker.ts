import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { connectCluster, startCluster, type OwnCluster } from './cluster.ts';
import { CONTAINERS_VARIABLE, KUBECONFIG_VARIABLE } from './environment.ts';
import { installStandin } from './install-standin.ts';
import { createTempFolder } from './temp-folder.ts';

const K3S_IMAGE = 'rancher/k3s:v1.35.3-k3s1';

/** The address of the cluster that all tests of a run share. */
export interface SharedClusterAddress {
  readonly kubeconfigPath: string;
  /** The folder for files of the cluster, which is removed with the cluster. */
  readonly directory: string;
}

interface StartedCluster extends SharedClusterAddress {
  stop(): Promise<void>;
}

export interface ClusterBroker {
  /** Responds to GET with a SharedClusterAddress, or with status 500 and the reason as text. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts a broker, which starts the shared cluster when the first test requests it, so that a run without cluster tests does not
 * need Go. The broker runs in vitest's main process and the tests run in workers, so they communicate over HTTP.
 */
export const startClusterBroker = async (): Promise<ClusterBroker> => {
  let cluster: Promise<StartedCluster> | undefined;
  const server = createServer((_request, response) => {
    cluster ??= startSharedCluster();
    cluster.then(
      ({ kubeconfigPath, directory }) => response.end(JSON.stringify({ kubeconfigPath, directory })),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await cluster?.then(
        (started) => started.stop(),
        () => undefined,
      );
    },
  };
};

const startSharedCluster = async (): Promise<StartedCluster> => {
  const started = await chooseCluster();
  try {
    await installStandin(await connectCluster(started.kubeconfigPath, started.directory));
    return started;
  } catch (error) {
    await started.stop();
    throw error;
  }
};

/**
 * Chooses a cluster, and starts it unless it is the user's own. The order of preference is the user's own cluster, k3s in Docker if
 * requested, and this repository's program.
 */
const chooseCluster = async (): Promise<StartedCluster> => {
  const directory = await createTempFolder('shared-cluster');
  const removeDirectory = (): Promise<void> => rm(directory, { recursive: true, force: true });
  const given = process.env[KUBECONFIG_VARIABLE];
  if (given !== undefined && given !== '') {
    // The kubeconfig is copied, because tests may change it, and the user's file must stay unchanged.
    const kubeconfigPath = path.join(directory, 'kubeconfig');
    await writeFile(kubeconfigPath, await readFile(given), { mode: 0o600 });
    return { kubeconfigPath, directory, stop: removeDirectory };
  }
  if (process.env[CONTAINERS_VARIABLE] === '1') {
    const { K3sContainer } = await import('@testcontainers/k3s');
    const container = await new K3sContainer(K3S_IMAGE).start();
    const kubeconfigPath = path.join(directory, 'kubeconfig');
    await writeFile(kubeconfigPath, container.getKubeConfig(), { mode: 0o600 });
    const stop = async (): Promise<void> => {
      await container.stop();
      await removeDirectory();
    };
    return { kubeconfigPath, directory, stop };
  }
  const own: OwnCluster = await startCluster();
  const stop = async (): Promise<void> => {
    await own.stop();
    await removeDirectory();
  };
  return { kubeconfigPath: own.kubeconfigPath, directory, stop };
};
