import path from 'node:path';

/**
 * Where a node keeps everything, and what it takes of the machine. There is one node at a time: its addresses and its chains are
 * the machine's. Not in the folder for temporary files, which may be memory, and is too long a name for sockets on some machines.
 */
export const FOLDER = '/var/lib/standin-node';
/** Held while a node runs, beside the folder because that is removed. */
export const LOCK_FILE = `${FOLDER}.lock`;

export const NODE_NAME = 'node1';
/** Of the node, the API server and the DNS: on the loopback interface, where every pod finds it, and nobody outside. */
export const NODE_ADDRESS = '10.245.0.1';
export const POD_RANGE = '10.244.0.0/24';
export const SERVICE_RANGE = '10.246.0.0/24';
export const DNS_ADDRESS = '10.246.0.10';
export const CLUSTER_DOMAIN = 'cluster.local';

export const inFolder = (...names: readonly string[]): string => path.join(FOLDER, ...names);

export const CONTROL_PLANE_FOLDER = inFolder('control-plane');
export const KUBECONFIG = path.join(CONTROL_PLANE_FOLDER, 'kubeconfig');
export const LOG_FOLDER = inFolder('logs');
export const VOLUME_FOLDER = inFolder('volumes');
export const CONTAINERD_SOCKET = inFolder('containerd.sock');
