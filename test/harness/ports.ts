import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * The lowest port of a range below the ports that the kernel assigns to connections and to servers on port 0. The kernel therefore
 * assigns none of these ports.
 */
const LOWEST = 10_000;
const HIGHEST = 29_999;

/**
 * Returns distinct TCP ports that were free a moment ago on an address of this machine. Use them only for programs that cannot
 * choose a port themselves (port 0) and report it. The ports are random, because test files run in parallel.
 */
export const freePorts = async (count: number, address = '127.0.0.1'): Promise<readonly number[]> => {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(LOWEST, HIGHEST + 1);
    if (await isFree(port, address)) ports.add(port);
  }
  return [...ports];
};

export const freePort = async (address?: string): Promise<number> => {
  const [port] = await freePorts(1, address);
  if (port === undefined) throw new Error('no free port');
  return port;
};

const isFree = async (port: number, address: string): Promise<boolean> => {
  const server = createServer().listen(port, address);
  try {
    await once(server, 'listening');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return false;
    throw error;
  }
  await once(server.close(), 'close');
  return true;
};
