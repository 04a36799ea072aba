import { existsSync, globSync } from 'node:fs';
import { readdir, readFile, readlink, rm, rmdir, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../run-command.ts';
import { CONTAINERD_CONFIG } from './config-files.ts';
import { removeNodeChains } from './iptables.ts';
import { FOLDER, inFolder, NODE_ADDRESS } from './layout.ts';
import { killProcesses, listProcesses, ownProcesses, type FoundProcess } from './own-processes.ts';

/** Settings of the machine that kubelet, kube-proxy and the CNI plugins change. */
const SYSCTLS = [
  'net/ipv4/ip_forward',
  'net/ipv4/conf/all/route_localnet',
  'vm/overcommit_memory',
  'vm/panic_on_oom',
  'kernel/panic',
  'kernel/panic_on_oops',
  'kernel/keys/root_maxkeys',
  'kernel/keys/root_maxbytes',
];
const SYSCTL_FILE = inFolder('sysctls.json');
/** The folders in which the kubelet keeps links to logs and a socket, regardless of its configuration. */
const CONTAINER_LOGS = '/var/log/containers';
const DEVICE_PLUGINS = '/var/lib/kubelet/device-plugins';
const CNI_RESULTS = '/var/lib/cni/results';

/** Records the machine's settings, which `cleanNode` restores. */
export const saveSysctls = async (): Promise<void> => {
  const entries = await Promise.all(
    SYSCTLS.map(async (name) => [name, await readFile(`/proc/sys/${name}`, 'utf8').catch(() => undefined)] as const),
  );
  await writeFile(SYSCTL_FILE, JSON.stringify(Object.fromEntries(entries)));
};

/**
 * Removes everything that a node has left on the machine: processes (in an order in which none restarts a killed container),
 * mounts, chains, an address, cgroups and files. Restores the machine's settings. A node calls this function to stop, and the next
 * node calls it to clean up after a killed node. Does nothing if there is no node.
 */
export const cleanNode = async (): Promise<void> => {
  if (!existsSync(FOLDER)) return;
  await killAll(/^cluster-/, ([command]) => command === 'kubelet');
  await killAll(/^(cluster|dns)-/, ([command]) => command !== 'api');
  await killAll(/^containerd$/, (args) => args.includes(CONTAINERD_CONFIG));
  await killContainers();
  await killAll(/^cluster-/, () => true);
  await unmountAll();
  await removeNodeChains();
  await runCommand('ip', ['address', 'delete', `${NODE_ADDRESS}/32`, 'dev', 'lo']);
  await restoreSysctls();
  await removeCgroups();
  await removeTraces();
  await rm(FOLDER, { recursive: true, force: true });
};

const killAll = async (programs: RegExp, matches: (args: readonly string[]) => boolean): Promise<void> => {
  const own = ownProcesses(await listProcesses(), FOLDER, programs).filter(({ args }) => matches(args.slice(1)));
  await killProcesses(processIds(own));
};

const processIds = (processes: readonly FoundProcess[]): readonly number[] => processes.map(({ pid }) => pid);

/** Kills the first process of each container, which is a child of its shim. The container's other processes end with it. */
const killContainers = async (): Promise<void> => {
  const all = await listProcesses();
  const shims = ownProcesses(all, FOLDER, /^containerd-shim/);
  const parents = new Set(processIds(shims));
  const containers = all.filter(({ parent }) => parents.has(parent));
  await killProcesses(processIds(containers));
  await killProcesses(processIds(shims));
};

const unmountAll = async (): Promise<void> => {
  const mounts = (await readFile('/proc/self/mountinfo', 'utf8'))
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((target) => target.startsWith(`${FOLDER}/`))
    .reverse();
  if (mounts.length === 0) return;
  const { code, stderr } = await runCommand('umount', ['--lazy', ...mounts]);
  if (code !== 0) throw new Error(`umount ended with ${code}: ${stderr}`);
};

const restoreSysctls = async (): Promise<void> => {
  const text = await readFile(SYSCTL_FILE, 'utf8').catch(() => '{}');
  for (const [name, value] of Object.entries(JSON.parse(text) as Record<string, string>)) {
    await writeFile(`/proc/sys/${name}`, value);
  }
};

/** Removes the cgroups of all pods, which are in one hierarchy (cgroup v2) or in one hierarchy per controller (cgroup v1). */
const removeCgroups = async (): Promise<void> => {
  for (const root of globSync('/sys/fs/cgroup/{kubepods,*/kubepods}')) await removeCgroup(root);
};

const removeCgroup = async (folder: string): Promise<void> => {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await removeCgroup(path.join(folder, entry.name));
  }
  await rmdir(folder);
};

/** Removes files outside the folder, such as links to logs, sockets of shims, and the CNI's records of pods. */
const removeTraces = async (): Promise<void> => {
  for (const name of globSync('*', { cwd: CONTAINER_LOGS })) {
    const link = path.join(CONTAINER_LOGS, name);
    const target = await readlink(link).catch(() => '');
    if (target.startsWith(`${FOLDER}/`)) await unlink(link);
  }
  await rm(`${DEVICE_PLUGINS}/kubelet.sock`, { force: true });
  for (const folder of [CONTAINER_LOGS, DEVICE_PLUGINS, path.dirname(DEVICE_PLUGINS)]) {
    // Fails if the folder contains files of other programs.
    await rmdir(folder).catch(() => undefined);
  }
  for (const file of globSync('containerd-state/io.containerd.runtime.v2.task/*/*/address', { cwd: FOLDER })) {
    const socket = (await readFile(inFolder(file), 'utf8')).replace('unix://', '');
    await rm(socket, { force: true });
  }
  for (const name of globSync('standin-*-eth0', { cwd: CNI_RESULTS })) {
    const [, pod = ''] = name.split('-');
    for (const file of globSync(`*-${pod}-*`, { cwd: CNI_RESULTS })) await unlink(path.join(CNI_RESULTS, file));
  }
};
