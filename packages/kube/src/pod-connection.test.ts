import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SharedConnectionConfig } from './kube-config.ts';
import { connectToPod, podFetch } from './pod-connection.ts';

const POD = { namespace: 'standin-system', pod: 'dashboard', port: 3000 };
const [DATA, ERROR] = [0, 1];
/** RFC 6455 §1.3. */
const WEBSOCKET_ID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

const CLOSE = 0x88;

/** Returns a binary WebSocket frame of less than 126 bytes. */
const frame = (channel: number, bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from([0x82, bytes.length + 1, channel]), bytes]);

const PORT = Buffer.from([POD.port & 0xff, POD.port >> 8]);
const STARTED = [frame(DATA, PORT), frame(ERROR, PORT)];
const REFUSED = frame(ERROR, Buffer.from('refused'));

interface TestServer {
  readonly config: SharedConnectionConfig;
  /** Resolves when the client has closed a WebSocket, which frees it in the API server. */
  readonly closed: Promise<unknown>;
}

interface ServerOptions {
  /** What the kubelet sends at once. */
  readonly first?: readonly Buffer[];
  /** Whether the first bytes arrive together with the acceptance of the WebSocket. */
  readonly isTogether?: boolean;
  /** Responds to each frame of the client. */
  readonly respond?: (socket: Duplex) => void;
}

/** Starts an API server whose kubelet accepts the port-forward. */
const startServer = async ({
  first = STARTED,
  isTogether = false,
  respond,
}: ServerOptions = {}): Promise<TestServer> => {
  const closed = Promise.withResolvers<undefined>();
  const server = createServer().on('upgrade', (request, socket: Duplex) => {
    const accepted = createHash('sha1').update(`${request.headers['sec-websocket-key']}${WEBSOCKET_ID}`);
    const head = Buffer.from(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: ${request.headers['sec-websocket-protocol']?.split(',')[0]}\r\nSec-WebSocket-Accept: ${accepted.digest('base64')}\r\n\r\n`,
    );
    for (const bytes of isTogether ? [Buffer.concat([head, ...first])] : [head, Buffer.concat(first)])
      socket.write(bytes);
    socket.on('data', (bytes: Buffer) => {
      // Each write of the client is one frame.
      if (bytes[0] === CLOSE) {
        closed.resolve(undefined);
        socket.end(Buffer.from([CLOSE, 0]));
      } else respond?.(socket);
    });
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
  return { config, closed: closed.promise };
};

const connect = async (options?: ServerOptions) => {
  const { config, closed } = await startServer(options);
  return { connection: await connectToPod(config, POD), closed };
};

const REFUSALS: readonly [string, ServerOptions][] = [
  ['after the connection', { first: [...STARTED, REFUSED] }],
  ['together with the connection', { first: [...STARTED, REFUSED], isTogether: true }],
];

// An unhandled error would end the process.
it.each(REFUSALS)('a refusal of the pod %s ends it with an error, even if it is not in use', async (_, options) => {
  const { connection, closed } = await connect(options);
  await closed;
  expect(connection.errored?.message).toBe('the port-forward failed: refused');
});

it.each(REFUSALS)('a refusal of the pod %s fails the request', async (_, options) => {
  const { config, closed } = await startServer(options);
  const failure = (await podFetch(config, POD)(new URL('http://pod/')).catch((error: unknown) => error)) as Error;
  expect((failure.cause as Error).message).toBe('the port-forward failed: refused');
  await closed;
});

describe('the WebSocket is closed', () => {
  it('when its user ends the connection', async () => {
    const { connection, closed } = await connect();
    connection.end();
    await closed;
    connection.resume();
    await finished(connection);
  });

  it('when its user destroys the connection', async () => {
    const { connection, closed } = await connect();
    connection.destroy();
    await closed;
  });

  it('when the response to a request is complete', async () => {
    const response = Buffer.from('HTTP/1.1 200 OK\r\nKeep-Alive: timeout=600\r\nContent-Length: 2\r\n\r\nok');
    const { config, closed } = await startServer({ respond: (socket) => void socket.write(frame(DATA, response)) });
    const fetched = await podFetch(config, POD)(new URL('http://pod/'));
    expect(await fetched.text()).toBe('ok');
    await closed;
  });

  it('when a request is cancelled', async () => {
    const cancel = new AbortController();
    const { config, closed } = await startServer({ respond: () => cancel.abort() });
    await expect(podFetch(config, POD)(new URL('http://pod/'), { signal: cancel.signal })).rejects.toThrow();
    await closed;
  });
});
