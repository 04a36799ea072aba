import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { SharedConnectionConfig } from './kube-config.ts';
import { connectToPod, podFetch } from './pod-connection.ts';

const POD = { namespace: 'standin-system', pod: 'dashboard', port: 3000 };
const [DATA, ERROR] = [0, 1];
/** RFC 6455 §1.3. */
const WEBSOCKET_ID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** Returns a binary WebSocket frame of less than 126 bytes. */
const frame = (channel: number, bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from([0x82, bytes.length + 1, channel]), bytes]);

/** Starts an API server whose kubelet accepts the port-forward, and then cannot connect to the pod. */
const startServer = async (): Promise<SharedConnectionConfig> => {
  const port = Buffer.from([POD.port & 0xff, POD.port >> 8]);
  const server = createServer().on('upgrade', (request, socket) => {
    const accepted = createHash('sha1').update(`${request.headers['sec-websocket-key']}${WEBSOCKET_ID}`);
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: ${request.headers['sec-websocket-protocol']?.split(',')[0]}\r\nSec-WebSocket-Accept: ${accepted.digest('base64')}\r\n\r\n`,
    );
    socket.write(Buffer.concat([frame(DATA, port), frame(ERROR, port), frame(ERROR, Buffer.from('refused'))]));
    onTestFinished(() => void socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const config = new SharedConnectionConfig();
  const { port: own } = server.address() as AddressInfo;
  config.loadFromClusterAndUser(
    { name: 'test', server: `http://127.0.0.1:${own}`, skipTLSVerify: true },
    { name: 'test' },
  );
  return config;
};

// An unhandled error would end the process.
it('a connection that the pod refuses ends with an error, even if it is not in use', async () => {
  const connection = await connectToPod(await startServer(), POD);
  await delay(50);
  expect(connection.errored?.message).toBe('the port-forward failed: refused');
});

it('a pod that refuses the connection fails the request', async () => {
  const get = podFetch(await startServer(), POD);
  const failure = (await get(new URL('http://pod/')).catch((error: unknown) => error)) as Error;
  expect((failure.cause as Error).message).toBe('the port-forward failed: refused');
});
