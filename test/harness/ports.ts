import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

/**
 * Different TCP ports of an address of this machine that were free a moment ago. Use them only for programs that cannot choose a port
 * themselves (port 0) and report it: with port 0, no other process can take the port in between.
 */
export const freePorts = async (count: number, address = '127.0.0.1'): Promise<readonly number[]> => {
  const servers = Array.from({ length: count }, () => createServer().listen(0, address));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
};

export const freePort = async (address?: string): Promise<number> => {
  const [port] = await freePorts(1, address);
  if (port === undefined) throw new Error('no free port');
  return port;
};
