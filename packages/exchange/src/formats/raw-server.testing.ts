import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { headerValue } from './snippet.ts';

/** A request as sent on the wire. */
interface RawRequest {
  /** latin1. */
  readonly requestLine: string;
  /** latin1, without the space after the colon. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The joined chunks. */
  readonly body: Buffer;
}

export interface RawServer {
  /** For example `http://127.0.0.1:41234`. */
  readonly url: string;
  readonly requests: readonly RawRequest[];
  close(): Promise<void>;
}

const HEAD_END = '\r\n\r\n';

const parseHeaders = (lines: readonly string[]): RawRequest['headers'] =>
  lines.map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')] as const;
  });

/** Joins the chunks of a body. Returns `undefined` until the last chunk has arrived. */
const unchunk = (bytes: Buffer): Buffer | undefined => {
  const parts: Buffer[] = [];
  for (let at = 0; ;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const end = lineEnd + 2 + size;
    if (bytes.length < end + 2) return undefined;
    if (size === 0) return Buffer.concat(parts);
    parts.push(bytes.subarray(lineEnd + 2, end));
    at = end + 2;
  }
};

/** Parses a request. Returns `undefined` until the request is complete. */
const parse = (bytes: Buffer): RawRequest | undefined => {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd === -1) return undefined;
  const [requestLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const headers = parseHeaders(lines);
  const rest = bytes.subarray(headEnd + HEAD_END.length);
  const length = Number(headerValue(headers, 'content-length') ?? 0);
  const body = headerValue(headers, 'transfer-encoding') === undefined ? rest : unchunk(rest);
  if (body === undefined || body.length < length) return undefined;
  return { requestLine, headers, body };
};

/** Starts a server that accepts one request per connection and keeps it as sent. */
export const startRawServer = async (): Promise<RawServer> => {
  const requests: RawRequest[] = [];
  const serve = (socket: Socket): void => {
    const chunks: Buffer[] = [];
    let isAsked = false;
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      const bytes = Buffer.concat(chunks);
      const request = parse(bytes);
      if (request !== undefined) {
        requests.push(request);
        // A client that waits for the body of a response to HEAD never gets it.
        if (request.requestLine.startsWith('HEAD '))
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n');
        else socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
      } else if (!isAsked && /\r\nexpect: *100-continue\r\n(?:[^]*\r\n)?\r\n/i.test(bytes.toString('latin1'))) {
        isAsked = true;
        socket.write('HTTP/1.1 100 Continue\r\n\r\n');
      }
    });
  };
  const server = createServer(serve).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: async () => {
      server.close();
      await once(server, 'close');
    },
  };
};
