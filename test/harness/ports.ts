import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * The lowest port of a range below the ports that the kernel assigns to connections and to servers on port 0. The kernel therefore
 * assigns none of these ports.
 */
const LOWEST = 10_000;
const RANGE_PORTS = 1_000;
const RANGES = 20;

/**
 * The test files of one run that are in progress at the same time have different ranges, because a free port may be taken before
 * its program listens. Outside of a test file, the range is the first.
 */
const rangeStart = LOWEST + (Number(process.env.VITEST_POOL_ID ?? 0) % RANGES) * RANGE_PORTS;
/** The ports that this process returned before. Their programs may not listen yet. */
const returned = new Set<number>();

/**
 * Returns distinct TCP ports that were free a moment ago on an address of this machine. Use them only for programs that cannot
 * choose a port themselves (port 0) and report it. The ports are random, because more than one run may be in progress.
 */
export const freePorts = async (count: number, address = '127.0.0.1'): Promise<readonly number[]> => {
  const ports = new Set<number>();
  while (ports.size < count) {
    if (returned.size === RANGE_PORTS) throw new Error(`this process has used all of its ${RANGE_PORTS} ports`);
    const port = rangeStart + randomInt(RANGE_PORTS);
    if (returned.has(port) || !(await isFree(port, address))) continue;
    returned.add(port);
    ports.add(port);
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
