import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { startControlPlane } from '../cluster/control-plane.ts';
import { buildGoProgram } from '../cluster/go-program.ts';
import { kubeconfigYaml } from '../cluster/kubeconfig.ts';
import { findKubectl } from '../cluster/kubectl.ts';
import { runCommand, type CommandResult } from '../cluster/run-command.ts';
import { createTempFolder } from './temp-folder.ts';

interface KubectlOptions {
  /** kubectl's stdin, for `-f -`. */
  readonly input?: string;
  /** A kubeconfig from `tokenKubeconfig` to use instead of the administrator's. */
  readonly as?: string;
  readonly timeoutMs?: number;
}

/** A real Kubernetes API server, used as its administrator. RBAC is enabled. */
export interface Cluster {
  readonly server: string;
  /** The administrator's kubeconfig. */
  readonly kubeconfigPath: string;
  /** Runs kubectl and waits until it exits. A failure is a nonzero `code`, not an exception. */
  kubectl(args: readonly string[], options?: KubectlOptions): Promise<CommandResult>;
  /** Runs `kubectl apply` with one or more YAML documents. If it fails, rejects with kubectl's output. */
  apply(yaml: string, options?: Pick<KubectlOptions, 'as'>): Promise<void>;
  /** Writes a kubeconfig with a token of the ServiceAccount that is valid for a day. Resolves with the path of the file. */
  tokenKubeconfig(namespace: string, serviceAccount: string): Promise<string>;
}

/** A cluster for one test file, which can stop and start its API server. The objects survive a restart. */
export interface OwnCluster extends Cluster {
  /** Stops the API server. SIGKILL simulates a crash. */
  stopApiServer(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  startApiServer(): Promise<void>;
  stop(): Promise<void>;
}

export interface StartClusterOptions {
  readonly onProgress?: (line: string) => void;
  /** kube-apiserver flags in addition to those of every cluster. */
  readonly apiServerArgs?: readonly string[];
}

/**
 * Starts a cluster with the program of this repository (about 3 s once it is built). The cluster is empty except for the objects
 * that Kubernetes itself creates (see installStandin). This function is for tests that need their own API server, for example to
 * stop it. All other tests share one cluster (see sharedCluster). Throws MissingToolError without Go.
 */
export const startCluster = async ({
  onProgress = console.log,
  apiServerArgs = [],
}: StartClusterOptions = {}): Promise<OwnCluster> => {
  const program = await buildGoProgram('cluster', onProgress);
  const directory = await createTempFolder('cluster');
  const controlPlane = await startControlPlane(program, directory, { apiServerArgs });
  const stop = async (): Promise<void> => {
    await controlPlane.stop();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const cluster = await connectCluster(controlPlane.kubeconfigPath, directory);
    return {
      ...cluster,
      stopApiServer: (signal) => controlPlane.stopApiServer(signal),
      startApiServer: () => controlPlane.startApiServer(),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
};

interface ClusterEntry {
  readonly server: string;
  readonly 'certificate-authority-data': string;
}

/** Connects to a running cluster. Stores files (kubeconfigs of ServiceAccounts, kubectl's cache) in `directory`. */
export const connectCluster = async (kubeconfigPath: string, directory: string): Promise<Cluster> => {
  const binary = await findKubectl(console.log);
  const cache = `--cache-dir=${path.join(directory, 'kubectl-cache')}`;
  const kubectl = (args: readonly string[], options: KubectlOptions = {}): Promise<CommandResult> =>
    runCommand(binary, [`--kubeconfig=${options.as ?? kubeconfigPath}`, cache, ...args], options);
  const kubectlOrThrow = async (args: readonly string[], options?: KubectlOptions): Promise<string> => {
    const { stdout, stderr, code } = await kubectl(args, options);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${code}:\n${stderr}${stdout}`);
    return stdout;
  };
  const view = await kubectlOrThrow(['config', 'view', '--raw', '--flatten', '--minify', '-o', 'json']);
  const entry = (JSON.parse(view) as { clusters: { cluster: ClusterEntry }[] }).clusters[0]?.cluster;
  if (entry === undefined) throw new Error(`${kubeconfigPath} contains no cluster`);

  return {
    server: entry.server,
    kubeconfigPath,
    kubectl,
    apply: async (yaml, options) => {
      await kubectlOrThrow(['apply', '-f', '-'], { ...options, input: yaml });
    },
    tokenKubeconfig: async (namespace, serviceAccount) => {
      const create = ['create', 'token', serviceAccount, '-n', namespace, '--duration=24h'];
      const token = (await kubectlOrThrow(create)).trim();
      const certificate = Buffer.from(entry['certificate-authority-data'], 'base64');
      const file = path.join(directory, `${namespace}-${serviceAccount}.kubeconfig`);
      const yaml = kubeconfigYaml({ server: entry.server, certificate, token, user: serviceAccount, namespace });
      await writeFile(file, yaml, { mode: 0o600 });
      return file;
    },
  };
};
