import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A proxy between a client and a server on this machine. Tests can cut the connection. */
export interface TcpProxy {
  readonly port: number;
  /** Closes all connections and refuses new connections. */
  cut(): Promise<void>;
  /** Listens again on the same port. */
  restore(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a proxy that forwards connections to `port` on the loopback address. */
export const startTcpProxy = async (port: number): Promise<TcpProxy> => {
  const sockets = new Set<Socket>();
  const track = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy());
  };
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    track(client);
    track(upstream);
    client.pipe(upstream).pipe(client);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  const listen = async (wanted: number): Promise<void> => {
    server.listen(wanted, '127.0.0.1');
    await once(server, 'listening');
  };
  const cut = async (): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await listen(0);
  const chosen = (server.address() as AddressInfo).port;
  return {
    port: chosen,
    cut,
    restore: () => listen(chosen),
    stop: async () => {
      if (server.listening) await cut();
    },
  };
};
