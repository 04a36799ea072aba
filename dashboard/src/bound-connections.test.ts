import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { SharedPool } from '@standin/contract';
import { expect, onTestFinished, test, vi } from 'vitest';
import { boundConnections } from './bound-connections.ts';

const PROXY = '127.0.0.9';

/** Starts a server for four connections. `open` returns a connection from this address, and whether the server has closed it. */
const startServer = async () => {
  const pools = new Map<string, SharedPool>();
  const server = createServer().listen(0, '127.0.0.1');
  boundConnections(server, { connectionsMax: 4, pools, isProxy: (address) => address === PROXY });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const open = async (localAddress: string) => {
    const socket = connect({ host: '127.0.0.1', port, localAddress }).on('error', () => undefined);
    sockets.push(socket.resume());
    await once(socket, 'connect');
    return socket;
  };
  return { open, pool: pools.get('connections') };
};

test('idle connections of one address leave room for another, and a closed one for the next', async () => {
  const { open, pool } = await startServer();
  const [first] = [await open('127.0.0.1'), await open('127.0.0.1')];
  const refused = await open('127.0.0.1');
  await vi.waitFor(() => expect(refused.destroyed).toBe(true));
  const other = await open('127.0.0.2');
  await vi.waitFor(() => expect(pool?.used).toBe(3));
  expect(other.destroyed).toBe(false);
  first.destroy();
  await vi.waitFor(() => expect(pool?.used).toBe(2));
  const next = await open('127.0.0.2');
  await vi.waitFor(() => expect(pool?.used).toBe(3));
  expect(next.destroyed).toBe(false);
});

test('a proxy can have all connections that are free', async () => {
  const { open, pool } = await startServer();
  const all = [await open(PROXY), await open(PROXY), await open(PROXY), await open(PROXY)];
  await vi.waitFor(() => expect(pool?.used).toBe(4));
  const refused = await open(PROXY);
  await vi.waitFor(() => expect(refused.destroyed).toBe(true));
  expect(all.some(({ destroyed }) => destroyed)).toBe(false);
});
