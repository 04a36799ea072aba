import { createServer, type AddressInfo, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { parseRequest, type SeenRequest } from './parse-request.ts';

/** What the upstream does when it has received a complete request. */
export type Behavior = (socket: Socket, request: SeenRequest) => void;

export interface Upstream extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** Requests in the order received, each framed by its Content-Length, as by a strict server. */
  readonly requests: readonly SeenRequest[];
  /**
   * Returns the bytes that belong to no complete request. If there are any, the gateway and this server disagree about where a
   * request ends.
   */
  leftovers(): Buffer;
  /** Returns the number of connections accepted so far. */
  connections(): number;
  /** Returns the number of connections that are open now. */
  open(): number;
}

/** Starts a server that sends exactly the bytes that the behavior writes, without an HTTP library. */
export const startUpstream = async (
  behavior: Behavior | string,
  tls?: { readonly cert: string; readonly key: string },
): Promise<Upstream> => {
  const sockets = new Set<Socket>();
  const pending = new Map<Socket, Buffer>();
  const requests: SeenRequest[] = [];
  let count = 0;
  const onConnection = (socket: Socket) => {
    count += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk: Buffer) => {
      let bytes = Buffer.concat([pending.get(socket) ?? Buffer.alloc(0), chunk]);
      for (let parsed = parseRequest(bytes); parsed; parsed = parseRequest(bytes)) {
        bytes = bytes.subarray(parsed.end);
        requests.push(parsed.request);
        if (typeof behavior === 'string') socket.write(behavior, 'latin1');
        else behavior(socket, parsed.request);
      }
      pending.set(socket, bytes);
    });
  };
  const server = tls ? createTlsServer(tls, onConnection) : createServer(onConnection);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    requests,
    leftovers: () => Buffer.concat([...pending.values()]),
    connections: () => count,
    open: () => sockets.size,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

/** Returns a complete response with status 200. `head` contains additional header lines. */
export const responseText = (body: string, head = ''): string =>
  `HTTP/1.1 200 OK\r\n${head}content-length: ${Buffer.byteLength(body, 'latin1')}\r\n\r\n${body}`;
