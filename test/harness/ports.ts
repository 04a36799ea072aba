import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

/**
 * Different TCP ports of an address of this machine that were free a moment ago. For programs that cannot be told to pick one themselves (port 0,
 * and say which): those are safe from somebody else taking it in between.
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
