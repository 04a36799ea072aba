import type { Server } from 'node:net';
import { SharedPool } from '@standin/contract';
import { networkHolder } from './holders.ts';
import type { Pools } from './pools.ts';

/** Each takes 9 kB of memory, and up to 16 KiB more for the head of a request that is incomplete. */
const CONNECTIONS_MAX = 4_096;

/**
 * Limits the connections to a server. Each address has a share of them, because the sender of a connection is not known otherwise before
 * it has sent a request. Connections beyond it are closed.
 */
export const boundConnections = (
  server: Server,
  { connectionsMax = CONNECTIONS_MAX, pools }: { readonly connectionsMax?: number; readonly pools?: Pools } = {},
): void => {
  const connections = new SharedPool(connectionsMax);
  pools?.set('connections', connections);
  server.on('connection', (socket) => {
    const holder = networkHolder(socket.remoteAddress ?? '');
    if (connections.take(holder)) socket.once('close', () => connections.free(holder));
    else socket.destroy();
  });
};
