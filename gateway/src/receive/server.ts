import { METHODS as NODE_METHODS, STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import { Socket, type AddressInfo } from 'node:net';
import type { HeaderPair, RejectionCode } from '@standin/contract';
import Fastify, { type FastifyInstance } from 'fastify';
import { rejectionProblem } from '../respond/problem.ts';
import { Refusal } from '../respond/refusal.ts';
import type { GatewaySettings } from '../settings.ts';
import { Connection } from './connection.ts';
import { Exchange } from './exchange.ts';
import { httpDate } from './http-date.ts';

export interface ReceiveOptions {
  readonly settings: GatewaySettings;
  /** Called for each request whose head has arrived. Never throws. */
  readonly onExchange: (exchange: Exchange, target: string) => void;
  /** Called for each request that was refused because its bytes are not HTTP, or came too slowly. */
  readonly onRefused: (code: RejectionCode) => void;
}

/** How often stalled requests are looked for: what the timeouts may be late by. */
const TIMEOUT_CHECK_INTERVAL_MS = 1_000;
/** After a last answer to bytes that were not HTTP, the caller has this long to take it. */
const FAREWELL_MS = 2_000;

/** Requests that may wait for the decision about one before them: each takes some kilobytes, and as few as 18 bytes on the wire. */
const WAITING_PER_CONNECTION_MAX = 1_024;
const WAITING_MAX = 10_000;

/** Node's parser stops at a head that is larger than allowed, and says so by this code. */
const refusalOf = (error: Error, requestLineBytes: number, targetBytesMax: number): RejectionCode => {
  const code = 'code' in error ? error.code : undefined;
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_timeout';
  if (code === 'HPE_HEADER_OVERFLOW') {
    return requestLineBytes > targetBytesMax ? 'target_too_long' : 'headers_too_large';
  }
  return 'bad_request';
};

/** What Node's parser stumbled over, for people, where that is more than «not HTTP». */
const DETAILS: Readonly<Record<string, string>> = {
  HPE_INVALID_METHOD: 'Its method is none that Node.js knows; methods are case-sensitive (GET, not get).',
  HPE_INVALID_URL:
    'Its target has a character that has to be percent-encoded, such as %C3%BC for ü or %20 for a space.',
  HPE_INVALID_HEADER_TOKEN: 'One of its headers has a character that headers may not have.',
  HPE_INVALID_CONTENT_LENGTH: 'Its Content-Length is not a number.',
};

const detailOf = (error: Error): string | undefined =>
  'code' in error && typeof error.code === 'string' ? DETAILS[error.code] : undefined;

const LOST = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ECONNABORTED']);
const isLost = (error: Error): boolean => 'code' in error && typeof error.code === 'string' && LOST.has(error.code);

/** A refusal for which node:http has no response object. */
const farewell = (code: RejectionCode, detail?: string): Buffer => {
  const { status, headers, body } = rejectionProblem(new Refusal(code, detail === undefined ? {} : { detail }));
  const lines: HeaderPair[] = [...headers, ['date', httpDate(Date.now())], ['connection', 'close']];
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${head}\r\n`, 'latin1'),
    body,
  ]);
};

/**
 * The caller's side of the gateway: HTTP/1.1 on a socket, through Fastify. Routing is not Fastify's: every method and every
 * target arrives at one hook, as received, before anything has been decoded or parsed.
 */
export class Receiver {
  readonly #app: FastifyInstance;
  readonly #options: ReceiveOptions;
  readonly #connections = new WeakMap<Socket, Connection>();
  /** Requests that wait for the decision about one before them. */
  #waiting = 0;

  private constructor(app: FastifyInstance, options: ReceiveOptions) {
    this.#app = app;
    this.#options = options;
  }

  static async listen(options: ReceiveOptions): Promise<Receiver> {
    const { host, port, limits } = options.settings;
    const app = Fastify({
      logger: false,
      rewriteUrl: () => '/',
      genReqId: () => '',
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      return503OnClosing: false,
      exposeHeadRoutes: false,
      http: {
        maxHeaderSize: limits.requestHeadBytes,
        headersTimeout: Math.min(limits.requestHeadTimeoutMs, limits.requestTimeoutMs),
        connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
        // Exactly one Host is what receive asks for, with an answer that says so.
        requireHostHeader: false,
      },
      clientErrorHandler: (error, socket) => receiver.#onClientError(error, socket),
    });
    const receiver = new Receiver(app, options);
    receiver.#attach();
    await app.listen({ host, port, backlog: 4_096 });
    return receiver;
  }

  get port(): number {
    return (this.#app.server.address() as AddressInfo).port;
  }

  connectionCount(): Promise<number> {
    return new Promise((resolve) => {
      this.#app.server.getConnections((error, count) => resolve(error === null ? count : 0));
    });
  }

  /** No new connections; those without a request end now. Resolves when the last one has ended, by itself or by `cut`. */
  async close(): Promise<void> {
    const { server } = this.#app;
    const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
    server.closeIdleConnections();
    await closed;
    await this.#app.close();
  }

  /** Ends all connections at once. */
  cut(): void {
    this.#app.server.closeAllConnections();
  }

  #attach(): void {
    const app = this.#app;
    const { server } = app;
    const { settings } = this.#options;
    // CONNECT is an event of its own.
    const known = new Set<string>([...app.supportedMethods, 'CONNECT']);
    for (const method of NODE_METHODS) if (!known.has(method)) app.addHttpMethod(method);
    app.route({ method: app.supportedMethods, url: '/', handler: () => undefined });
    // It never calls `done`: what follows is ours, not Fastify's.
    app.addHook('onRequest', (request, reply) => {
      reply.hijack();
      this.#onRequest(request.raw, reply.raw);
    });
    server.maxConnections = settings.limits.connections;
    server.on('connection', (socket: Socket) => this.#connections.set(socket, new Connection(socket)));
    // The answers to both expectations are the stages' to give.
    const pass = (request: IncomingMessage, response: ServerResponse) => void server.emit('request', request, response);
    server.on('checkContinue', pass).on('checkExpectation', pass);
    server.on('connect', (_request, socket) => {
      this.#options.onRefused('target_invalid');
      // Node has taken its own listeners off: a reset would be an uncaught exception.
      socket.on('error', () => socket.destroy());
      if (socket instanceof Socket) this.#sayFarewell(socket, farewell('target_invalid'));
    });
  }

  #onRequest(request: IncomingMessage & { originalUrl?: string }, response: ServerResponse): void {
    const connection = this.#connections.get(request.socket);
    if (connection === undefined) {
      response.destroy();
      return;
    }
    const stallTimeoutMs = this.#options.settings.limits.responseStallTimeoutMs;
    const before = connection.latest;
    const isFull = connection.waiting >= WAITING_PER_CONNECTION_MAX || this.#waiting >= WAITING_MAX;
    if (before?.isDecided === false && isFull) {
      request.socket.destroy();
      return;
    }
    const exchange = new Exchange(request, response, { connection, stallTimeoutMs });
    const begin = (): void => this.#options.onExchange(exchange, request.originalUrl ?? '');
    if (before === undefined) {
      begin();
      return;
    }
    // The parser announces requests that came together one right after the other. None is served behind a refusal that ends
    // the connection: what looks like a request there may be anything.
    connection.waiting++;
    this.#waiting++;
    before.whenDecided((closes) => {
      connection.waiting--;
      this.#waiting--;
      if (closes) exchange.decide(true);
      else begin();
    });
  }

  /** The parser or a timeout has given up on what this connection sends. */
  #onClientError(error: Error, socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined || socket.destroyed || !socket.writable || isLost(error)) {
      socket.destroy();
      return;
    }
    if (connection.isBroken) return;
    connection.isBroken = true;
    const code = refusalOf(
      error,
      connection.scanner.requestLineBytes,
      this.#options.settings.limits.requestTargetBytes,
    );
    // A request is half here: its own answer says what is wrong with it.
    if (connection.arriving !== undefined) {
      connection.arriving.broken(code);
      return;
    }
    this.#options.onRefused(code);
    const owed = connection.latest?.response;
    const say = (): void => this.#sayFarewell(socket, farewell(code, detailOf(error)));
    if (owed === undefined || owed.writableFinished) say();
    else owed.once('finish', say);
  }

  #sayFarewell(socket: Socket, answer: Buffer): void {
    if (!socket.writable) return;
    socket.end(answer);
    socket.resume();
    setTimeout(() => socket.destroy(), FAREWELL_MS).unref();
  }
}
