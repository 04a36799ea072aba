import type { Server, Socket } from 'node:net';
import { SharedPool } from '@standin/contract';
import { plainAddress } from './client-address.ts';
import { networkHolder } from './holders.ts';
import type { Pools } from './pools.ts';

/** Each takes 9 kB of memory, and up to 16 KiB more for the head of a request that is incomplete. */
const CONNECTIONS_MAX = 4_096;

interface BoundConnectionsOptions {
  readonly connectionsMax?: number;
  readonly pools?: Pools;
  /** Whether the connections of this address are those of many clients. */
  readonly isProxy?: (address: string) => boolean;
}

/**
 * Limits the connections to a server. Each address has a share of them, because the sender of a connection is not known otherwise before
 * it has sent a request. A proxy can have all that are free. Connections beyond it are closed.
 */
export const boundConnections = (
  server: Server,
  { connectionsMax = CONNECTIONS_MAX, pools, isProxy = () => false }: BoundConnectionsOptions = {},
): void => {
  const holderFor = ({ remoteAddress = '', remotePort = 0 }: Socket): string => {
    const address = plainAddress(remoteAddress);
    return isProxy(address) ? `${address} ${remotePort}` : networkHolder(address);
  };
  const connections = new SharedPool(connectionsMax);
  pools?.set('connections', connections);
  server.on('connection', (socket) => {
    const holder = holderFor(socket);
    if (connections.take(holder)) socket.once('close', () => connections.free(holder));
    else socket.destroy();
  });
};
