import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Cluster } from '../harness/cluster.ts';
import { selfSigned } from './tls-upstream.ts';

/**
 * A node whose kubelet only forwards ports, for tests of the API server without a real node. The pods are objects without
 * containers. `test/node` tests a real kubelet.
 */
export interface ForwardingKubelet {
  /** The name of the Node, for `spec.nodeName`. */
  readonly node: string;
  /** Leads a port of a pod to a server on this machine. */
  forward(pod: string, port: number, url: string): void;
  close(): Promise<void>;
}

/** A constant of RFC 6455 §1.3. */
const WEBSOCKET_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const PROTOCOL = 'v4.channel.k8s.io';
const [BINARY, CLOSE] = [2, 8];
const DATA = 0;
const ERROR = 1;

export const startForwardingKubelet = async (cluster: Cluster, node: string): Promise<ForwardingKubelet> => {
  const targets = new Map<string, URL>();
  const server = createServer(await selfSigned());
  server.on('upgrade', ({ url = '', headers }, socket: Duplex) => {
    // https://localhost:PORT/portForward/NAMESPACE/POD?port=3000
    const { pathname, searchParams } = new URL(url, 'https://localhost');
    const port = Number(searchParams.get('port'));
    const accept = createHash('sha1').update(`${headers['sec-websocket-key']}${WEBSOCKET_GUID}`).digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: ${PROTOCOL}\r\n\r\n`,
    );
    for (const channel of [DATA, ERROR]) socket.write(frame(channel, Buffer.from([port & 0xff, port >> 8])));
    pump(socket, targets.get(`${pathname.split('/')[3] ?? ''}:${port}`));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: Port } = server.address() as AddressInfo;
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: node } }));
  const status = {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port } },
  };
  const patch = ['patch', 'node', node, '--subresource=status', '--type=merge', '-p', JSON.stringify({ status })];
  const { code, stderr } = await cluster.kubectl(patch);
  if (code !== 0) throw new Error(`the status of node ${node}: ${stderr}`);
  return {
    node,
    forward: (pod, port, url) => void targets.set(`${pod}:${port}`, new URL(url)),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await cluster.kubectl(['delete', 'node', node]);
    },
  };
};

/** Copies bytes between the WebSocket and the target, until one of them ends. */
const pump = (socket: Duplex, target: URL | undefined): void => {
  if (target === undefined) {
    socket.end(frame(ERROR, Buffer.from('connection refused')));
    return;
  }
  const upstream = connect(Number(target.port), target.hostname);
  upstream.on('data', (bytes) => socket.write(frame(DATA, bytes)));
  upstream.on('close', () => socket.end(Buffer.from([0x80 | CLOSE, 0])));
  upstream.on('error', () => socket.destroy());
  socket.on('close', () => upstream.destroy());
  socket.on('error', () => upstream.destroy());
  let rest: Buffer = Buffer.alloc(0);
  socket.on('data', (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes]);
    for (let read = readFrame(rest); read !== undefined; read = readFrame(rest)) {
      rest = rest.subarray(read.length);
      if (read.opcode === BINARY) upstream.write(read.payload.subarray(1));
      if (read.opcode === CLOSE) upstream.end();
    }
  });
};

/** Returns an unmasked binary frame (RFC 6455 §5.2) of a channel. */
const frame = (channel: number, bytes: Buffer): Buffer => {
  const length = Buffer.alloc(8);
  length.writeUInt32BE(bytes.length + 1, 4);
  return Buffer.concat([Buffer.from([0x80 | BINARY, 127]), length, Buffer.from([channel]), bytes]);
};

/** Reads one masked frame. Returns undefined if it is not complete yet. */
const readFrame = (bytes: Buffer): { opcode: number; payload: Buffer; length: number } | undefined => {
  if (bytes.length < 2) return undefined;
  const short = bytes.readUInt8(1) & 0x7f;
  const head = { 126: 4, 127: 10 }[short] ?? 2;
  if (bytes.length < head + 4) return undefined;
  const size = head === 2 ? short : head === 4 ? bytes.readUInt16BE(2) : bytes.readUInt32BE(6);
  const length = head + 4 + size;
  if (bytes.length < length) return undefined;
  const mask = bytes.subarray(head, head + 4);
  const payload = Buffer.from(bytes.subarray(head + 4, length).map((byte, index) => byte ^ (mask[index % 4] ?? 0)));
  return { opcode: bytes.readUInt8(0) & 0x0f, payload, length };
};
