import path from 'node:path';

/**
 * The folder of the node's files. Only one node runs at a time, because its addresses and chains belong to the machine. The folder
 * for temporary files is unsuitable, because it may be in memory, and on some machines its name is too long for sockets.
 */
export const FOLDER = '/var/lib/standin-node';
/** The lock that a running node holds. The file is next to the folder, because the folder is removed. */
export const LOCK_FILE = `${FOLDER}.lock`;

export const NODE_NAME = 'node1';
/**
 * The address of the node, the API server and the DNS server. The address is on the loopback interface, which every pod but no
 * other machine can reach.
 */
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
