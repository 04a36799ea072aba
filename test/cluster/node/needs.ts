import { existsSync } from 'node:fs';
import path from 'node:path';
import { installDebianPackages, missingPackages } from '../debian-packages.ts';
import { MissingToolError, type Progress } from '../go-program.ts';
import { hasNodeChains } from './iptables.ts';
import { FOLDER } from './layout.ts';

const PACKAGES = [
  ['containerd', ['/usr/bin/containerd', '/usr/local/bin/containerd']],
  ['runc', ['/usr/sbin/runc', '/usr/bin/runc', '/usr/local/sbin/runc', '/usr/local/bin/runc']],
  ['containernetworking-plugins', ['/usr/lib/cni/ptp', '/opt/cni/bin/ptp', '/usr/libexec/cni/ptp']],
  ['iptables', ['/usr/sbin/iptables-save', '/sbin/iptables-save']],
  ['conntrack', ['/usr/sbin/conntrack', '/sbin/conntrack']],
  ['iproute2', ['/usr/sbin/ip', '/sbin/ip', '/usr/bin/ip']],
] as const;

const NODE_HINT =
  'A real node (kubelet, containerd) needs Linux and root. On Debian and Ubuntu, npm test and npm run cluster -- --node install ' +
  `${PACKAGES.map(([name]) => name).join(' ')} automatically.`;

/** Returns the folder of the CNI programs. Throws MissingToolError if they are not installed. */
export const cniPluginFolder = (): string => {
  const program = PACKAGES.find(([name]) => name === 'containernetworking-plugins')?.[1].find((file) =>
    existsSync(file),
  );
  if (program === undefined) throw new MissingToolError(`CNI plugins are not installed. ${NODE_HINT}`);
  return path.dirname(program);
};

/**
 * Checks the requirements of a node and installs missing Debian packages. Throws MissingToolError with instructions if this machine
 * cannot run a node.
 */
export const prepareNode = async (onProgress: Progress): Promise<void> => {
  if (process.platform !== 'linux') throw new MissingToolError(`This machine runs ${process.platform}. ${NODE_HINT}`);
  if (process.getuid?.() !== 0) throw new MissingToolError(`Only root can start a node. ${NODE_HINT}`);
  const missing = missingPackages(PACKAGES);
  if (missing.length > 0) await installDebianPackages(missing, onProgress);
  // If the folder does not exist, the chains belong to another node and must not be removed.
  if (existsSync(FOLDER) || !(await hasNodeChains())) return;
  throw new MissingToolError(
    'This machine is already a node of a Kubernetes cluster (iptables has KUBE-SERVICES). Use a different machine for tests with a real node.',
  );
};
