import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { KubeLogger } from '../src/logger.ts';
import { KubeClient, type KubeClientOptions } from '../src/kube-client.ts';
import { SharedConnectionConfig } from '../src/kube-config.ts';

/** One request as the server received it. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

export type Script = (request: SeenRequest, response: ServerResponse) => void | Promise<void>;

const parsedBody = async (request: IncomingMessage): Promise<unknown> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString());
};

/** A scripted API server, for behavior that is rare on a real one and cannot be triggered on demand. */
export class FakeApiServer {
  readonly requests: SeenRequest[] = [];
  connections = 0;
  script: Script;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #port = 0;

  constructor(script: Script) {
    this.script = script;
    this.#server = createServer((request, response) => {
      void this.#respond(request, response);
    });
    this.#server.on('connection', (socket: Socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Starts listening. After a stop, uses the same port again. */
  async start(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#port, '127.0.0.1', resolve);
    });
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Cuts all connections, as when the process is killed. */
  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  count(method: string, filter: (request: SeenRequest) => boolean = () => true): number {
    return this.requests.filter((request) => request.method === method && filter(request)).length;
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://fake');
    const seen = {
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: await parsedBody(request).catch(() => undefined),
    };
    this.requests.push(seen);
    await this.script(seen, response);
  }
}

export const json = (
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
};

/** Responds with an error in the form of a Kubernetes `Status`. */
export const fail = (
  response: ServerResponse,
  code: number,
  reason: string,
  headers: Record<string, string> = {},
): void =>
  json(response, code, { kind: 'Status', status: 'Failure', code, reason, message: `scripted: ${reason}` }, headers);

const configFor = (server: string): SharedConnectionConfig => {
  const config = new SharedConnectionConfig();
  config.loadFromClusterAndUser({ name: 'fake', server, skipTLSVerify: true }, { name: 'tester' });
  return config;
};

export const clientFor = (server: FakeApiServer, options: Partial<KubeClientOptions> = {}): KubeClient =>
  new KubeClient({ config: configFor(server.url), ...options });

/** Returns a logger that keeps its lines in `lines`. */
export const recordingLogger = (): KubeLogger & { readonly lines: { level: string; message: string }[] } => {
  const lines: { level: string; message: string }[] = [];
  const log = (level: string) => (_: object, message: string) => void lines.push({ level, message });
  return { lines, debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
};
