import { existsSync } from 'node:fs';
import path from 'node:path';
import { installDebianPackages } from '../debian-packages.ts';
import { MissingToolError, type Progress } from '../go-program.ts';
import { hasNodeChains } from './iptables.ts';
import { FOLDER } from './layout.ts';

/** Debian's packages, each with a file that exists if the package, or an equivalent one, is installed. */
const PACKAGES = [
  ['containerd', ['/usr/bin/containerd', '/usr/local/bin/containerd']],
  ['runc', ['/usr/sbin/runc', '/usr/bin/runc', '/usr/local/sbin/runc', '/usr/local/bin/runc']],
  ['containernetworking-plugins', ['/usr/lib/cni/ptp', '/opt/cni/bin/ptp', '/usr/libexec/cni/ptp']],
  ['iptables', ['/usr/sbin/iptables-save', '/sbin/iptables-save']],
  ['conntrack', ['/usr/sbin/conntrack', '/sbin/conntrack']],
  ['iproute2', ['/usr/sbin/ip', '/sbin/ip', '/usr/bin/ip']],
] as const;

const NODE_HINT =
  'A real node (kubelet, containerd) needs Linux, root, and on Debian or Ubuntu nothing else: npm test and npm run cluster -- --node install ' +
  `${PACKAGES.map(([name]) => name).join(' ')} themselves.`;

/** Names of the Debian packages that a node needs and this machine lacks. */
const missingPackages = (): readonly string[] =>
  PACKAGES.filter(([, files]) => !files.some((file) => existsSync(file))).map(([name]) => name);

/** The folder of the CNI's programs. */
export const cniPluginFolder = (): string => {
  const program = PACKAGES.find(([name]) => name === 'containernetworking-plugins')?.[1].find((file) =>
    existsSync(file),
  );
  if (program === undefined) throw new MissingToolError(`There are no CNI plugins here. ${NODE_HINT}`);
  return path.dirname(program);
};

/** Checks the requirements of a node, and installs missing Debian packages. Throws MissingToolError with instructions. */
export const prepareNode = async (onProgress: Progress): Promise<void> => {
  if (process.platform !== 'linux') throw new MissingToolError(`This is ${process.platform}. ${NODE_HINT}`);
  if (process.getuid?.() !== 0) throw new MissingToolError(`Only root may start a node. ${NODE_HINT}`);
  const missing = missingPackages();
  if (missing.length > 0) await installDebianPackages(missing, onProgress);
  // If our folder does not exist, the chains belong to another node and must not be removed.
  if (existsSync(FOLDER) || !(await hasNodeChains())) return;
  throw new MissingToolError(
    'This machine is a node of a Kubernetes cluster already (iptables has KUBE-SERVICES): take another one for tests on a real node.',
  );
};
