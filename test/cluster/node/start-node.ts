import type { ChildProcess } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { eventually } from '../../harness/eventually.ts';
import { hasEnded, readLogTail, startInBackground } from '../background-process.ts';
import { startControlPlane, type ControlPlane } from '../control-plane.ts';
import { buildGoProgram, type Progress } from '../go-program.ts';
import { findKubectl } from '../kubectl.ts';
import { acquireLock } from '../lock-file.ts';
import { runCommand } from '../run-command.ts';
import { cleanNode, saveSysctls } from './clean-node.ts';
import {
  API_SERVER_ARGS,
  CONTAINERD_ARGS,
  DNS_ARGS,
  DNS_OBJECTS,
  KUBELET_ARGS,
  PROXY_ARGS,
  PROXY_HEALTH_ADDRESS,
  SCHEDULER_ARGS,
  writeConfigFiles,
} from './config-files.ts';
import { dropUnserved } from './iptables.ts';
import { writeKubeletClientCertificate } from './kubelet-certificate.ts';
import {
  CLUSTER_DOMAIN,
  CONTAINERD_SOCKET,
  CONTROL_PLANE_FOLDER,
  FOLDER,
  KUBECONFIG,
  LOCK_FILE,
  LOG_FOLDER,
  NODE_ADDRESS,
  NODE_NAME,
  SERVICE_RANGE,
} from './layout.ts';
import { cniPluginFolder, prepareNode } from './needs.ts';
import { provideVolumes } from './provide-volumes.ts';

/** A cluster of one real node, with pods, Services, DNS and volumes. */
export interface ClusterNode {
  readonly controlPlane: ControlPlane;
  /** The kubeconfig of a user in system:masters. */
  readonly kubeconfigPath: string;
  /** The folder with the logs of kubelet, containerd and the other programs. */
  readonly logFolder: string;
  /** Imports images from a file written by `docker save`. */
  importImage(tarFile: string): Promise<void>;
  /** Kills the processes of a pod's containers, like a power failure. The kubelet then restarts the containers. */
  killPod(namespace: string, name: string): Promise<void>;
  /** Removes all pods, objects and volumes, and the node's changes to the machine. */
  stop(): Promise<void>;
}

export interface StartNodeOptions {
  readonly onProgress: Progress;
  /** Files written by `docker save`: PAUSE_IMAGE, and all other images that the node needs from the start. */
  readonly images: readonly string[];
}

const LOCK_TIMEOUT_MS = 20 * 60_000;
const READY_TIMEOUT_MS = 90_000;
const IMPORT_TIMEOUT_MS = 5 * 60_000;

/**
 * Starts a real Kubernetes node on this machine, as root (about 15 s once its programs are built and installed). Only one node runs
 * at a time, so the function waits for another process's node and removes the leftovers of a killed node. Throws MissingToolError
 * with instructions if the machine cannot run a node.
 */
export const startNode = async ({ onProgress, images }: StartNodeOptions): Promise<ClusterNode> => {
  await prepareNode(onProgress);
  const programs = {
    cluster: await buildGoProgram('cluster', onProgress),
    dns: await buildGoProgram('dns', onProgress),
  };
  const release = await acquireLock(LOCK_FILE, {
    onWait: (owner) => onProgress(`waiting for the node of process ${owner}`),
    timeoutMs: LOCK_TIMEOUT_MS,
  });
  let stopVolumes = (): Promise<void> => Promise.resolve();
  let stopping: Promise<void> | undefined;
  const cleanUp = async (): Promise<void> => {
    await stopVolumes();
    await cleanNode();
    await release();
  };
  // Runs only once, because the machine may afterwards run another process's node.
  const stop = (): Promise<void> => (stopping ??= cleanUp());
  try {
    await cleanNode();
    await setUpMachine();
    await startRuntime(images);
    const options = { address: NODE_ADDRESS, serviceRange: SERVICE_RANGE, apiServerArgs: API_SERVER_ARGS };
    const controlPlane = await startControlPlane(programs.cluster, CONTROL_PLANE_FOLDER, options);
    await startPrograms(programs, onProgress);
    stopVolumes = provideVolumes();
    return { controlPlane, kubeconfigPath: KUBECONFIG, logFolder: LOG_FOLDER, importImage, killPod, stop };
  } catch (error) {
    await stop();
    throw error;
  }
};

const setUpMachine = async (): Promise<void> => {
  await mkdir(FOLDER, { recursive: true, mode: 0o700 });
  await saveSysctls();
  await writeConfigFiles(cniPluginFolder());
  await writeKubeletClientCertificate();
  await run('ip', ['address', 'add', `${NODE_ADDRESS}/32`, 'dev', 'lo']);
  await dropUnserved(SERVICE_RANGE);
};

const startRuntime = async (images: readonly string[]): Promise<void> => {
  const containerd = start('containerd', 'containerd', CONTAINERD_ARGS);
  await untilReady('containerd', containerd, async () => {
    await run('ctr', ['--address', CONTAINERD_SOCKET, 'version']);
    return existsSync(CONTAINERD_SOCKET);
  });
  for (const image of images) await importImage(image);
};

const startPrograms = async (
  programs: { readonly cluster: string; readonly dns: string },
  onProgress: Progress,
): Promise<void> => {
  const kubectl = await findKubectl(onProgress);
  const ask = (args: readonly string[], input = ''): Promise<string> =>
    run(kubectl, [`--kubeconfig=${KUBECONFIG}`, ...args], { input });
  const kubelet = start('kubelet', programs.cluster, KUBELET_ARGS);
  const scheduler = start('scheduler', programs.cluster, SCHEDULER_ARGS);
  const proxy = start('kube-proxy', programs.cluster, PROXY_ARGS);
  const dns = start('dns', programs.dns, DNS_ARGS);
  await ask(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: DNS_OBJECTS }));
  const isReady = ['wait', '--for=condition=Ready', `node/${NODE_NAME}`, '--timeout=5s'];
  await Promise.all([
    untilReady('kubelet', kubelet, async () => (await ask(isReady)) !== ''),
    untilReady('kube-proxy', proxy, async () => (await fetch(`http://${PROXY_HEALTH_ADDRESS}/healthz`)).ok),
    untilReady(
      'dns',
      dns,
      async () => (await resolver().resolve4(`kubernetes.default.svc.${CLUSTER_DOMAIN}`)).length > 0,
    ),
  ]);
  if (hasEnded(scheduler))
    throw new Error(`the scheduler ended:\n${await readLogTail({ name: 'scheduler', directory: LOG_FOLDER })}`);
};

/** Returns a resolver that queries the cluster's DNS, as pods do. */
const resolver = (): Resolver => {
  const own = new Resolver({ timeout: 1_000, tries: 1 });
  own.setServers([NODE_ADDRESS]);
  return own;
};

const start = (name: string, program: string, args: readonly string[]): ChildProcess =>
  startInBackground({ name, program, args, directory: LOG_FOLDER });

const untilReady = async (name: string, child: ChildProcess, probe: () => Promise<boolean>): Promise<void> => {
  const ask = async (): Promise<boolean> => hasEnded(child) || (await probe());
  const report = async (what: unknown): Promise<Error> =>
    new Error(`${name}: ${String(what)}. Its log ends with:\n${await readLogTail({ name, directory: LOG_FOLDER })}`);
  await eventually(`${name} to be ready`, ask, { timeoutMs: READY_TIMEOUT_MS }).catch(async (error: unknown) => {
    throw await report(error);
  });
  if (hasEnded(child)) throw await report('the process ended');
};

const importImage = async (tarFile: string): Promise<void> => {
  await run('ctr', [...CTR, 'images', 'import', tarFile], { timeoutMs: IMPORT_TIMEOUT_MS });
};

const killPod = async (namespace: string, name: string): Promise<void> => {
  const filter = `labels."io.kubernetes.pod.namespace"==${namespace},labels."io.kubernetes.pod.name"==${name},labels."io.cri-containerd.kind"==container`;
  const ids = (await run('ctr', [...CTR, 'containers', 'list', '--quiet', filter])).split('\n').filter(Boolean);
  if (ids.length === 0) throw new Error(`no container of ${namespace}/${name} is running`);
  for (const id of ids) await runCommand('ctr', [...CTR, 'tasks', 'kill', '--signal', 'SIGKILL', id]);
};

const CTR = ['--address', CONTAINERD_SOCKET, '--namespace', 'k8s.io'];

const run = async (
  command: string,
  args: readonly string[],
  options: { readonly input?: string; readonly timeoutMs?: number } = {},
): Promise<string> => {
  const { code, stdout, stderr } = await runCommand(command, args, options);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}: ${stderr}${stdout}`);
  return stdout;
};
