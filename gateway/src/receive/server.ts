import { METHODS as NODE_METHODS, STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import { Socket, type AddressInfo } from 'node:net';
import type { HeaderPair, RejectionCode } from '@standin/contract';
import { Holding, ownMember } from '@standin/contract';
import Fastify, { type FastifyInstance } from 'fastify';
import type { ByteBudget } from '../request/byte-budget.ts';
import { httpDate } from '../request/clock.ts';
import { Exchange, type Arriving, type CallerConnection } from '../request/exchange.ts';
import { rejectionProblem } from '../request/problem.ts';
import { Refusal } from '../request/refusal.ts';
import type { GatewaySettings } from '../settings.ts';
import { HeadScanner, type HeadVerdict } from './head-scanner.ts';

export interface ReceiveOptions {
  readonly settings: GatewaySettings;
  readonly budget: ByteBudget;
  /** For what is received on connections without a valid credential. */
  readonly unauthenticated: ByteBudget;
  /**
   * Called for each request when its head has arrived and the response to the previous request on its connection is sent. Gets the
   * target as received and the scanner's verdict. Must not throw.
   */
  readonly onExchange: (exchange: Exchange, target: string, verdict: HeadVerdict | undefined) => void;
  /** Called for each request that is refused without an exchange, for example because its bytes are not HTTP. */
  readonly onRefused: (code: RejectionCode) => void;
}

/** How often to check for stalled requests. Timeouts may be late by this much. */
const TIMEOUT_CHECK_INTERVAL_MS = 1_000;
/** How long the caller has to read a response that is sent without an exchange, before the connection is cut. */
const FAREWELL_MS = 2_000;

/**
 * A connection is not read while it has sent this much more than the request that is handled. Node may have read as much again by then.
 */
const AHEAD_BYTES_MAX = 64 * 1_024;
/**
 * How often to write nothing to a connection that is not read. A socket that is not read does not report that its peer has left. A write
 * does, if the peer has reset the connection. If the peer has ended it, that is only known after everything before it is read.
 */
const PROBE_INTERVAL_MS = 1_000;
/** A connection that has sent no more than this is not cut, even if there is no room for it. */
const AHEAD_BYTES_KEPT = 4 * 1_024;

/** Returns the rejection for an error from Node's server, which reports a head above its limit as `HPE_HEADER_OVERFLOW`. */
const clientErrorCode = (error: Error, requestLineBytes: number, targetBytesMax: number): RejectionCode => {
  const code = 'code' in error ? error.code : undefined;
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_timeout';
  if (code === 'HPE_HEADER_OVERFLOW') {
    return requestLineBytes > targetBytesMax ? 'target_too_long' : 'headers_too_large';
  }
  return 'bad_request';
};

/** Readable causes of parser errors, where they are more specific than "not HTTP". */
const DETAILS: Readonly<Record<string, string>> = {
  HPE_INVALID_METHOD: 'The method is unknown. Methods are case-sensitive: GET, not get.',
  HPE_INVALID_URL:
    'The request target contains a character that must be percent-encoded, for example as %C3%BC for ü or %20 for a space.',
  HPE_INVALID_HEADER_TOKEN:
    'A header contains a character that is not allowed in headers. Remove or encode it (RFC 9110 section 5).',
  HPE_INVALID_CONTENT_LENGTH: 'The Content-Length is not a number. Send the length of the body in bytes.',
};

const clientErrorDetail = (error: Error): string | undefined =>
  'code' in error && typeof error.code === 'string' ? ownMember(DETAILS, error.code) : undefined;

const NOTHING = Buffer.allocUnsafeSlow(0);
const CR = 0x0d;
const LF = 0x0a;

const LOST = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ECONNABORTED']);
const isLost = (error: Error): boolean => 'code' in error && typeof error.code === 'string' && LOST.has(error.code);

/** Returns a refusal as raw bytes, for errors for which node:http has no response object. */
const farewell = (code: RejectionCode, detail?: string): Buffer => {
  const { status, headers, body } = rejectionProblem(new Refusal(code, detail === undefined ? {} : { detail }));
  const lines: HeaderPair[] = [...headers, ['date', httpDate(Date.now())], ['connection', 'close']];
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${head}\r\n`, 'latin1'),
    body,
  ]);
};

/** Removes the prefix `::ffff:`, which IPv4 addresses have on a dual-stack listener. */
const plainAddress = (address: string): string => (address.startsWith('::ffff:') ? address.slice(7) : address);

/** A caller's connection, including the state that only the receiver needs. */
class Connection implements CallerConnection {
  readonly socket: Socket;
  readonly scanner = new HeadScanner();
  namespace = '';
  place: Holding | undefined;
  /** Stored because a closed socket has no peer address. */
  readonly peerAddress: string;
  arriving: Arriving | undefined;
  readonly onClosed = new Set<() => void>();
  /** The most recent exchange. The next one begins when its response is sent. */
  latest: Exchange | undefined;
  /** Whether the parser rejected the bytes on this connection, a timeout expired, or a body has too many small chunks. */
  isBroken = false;
  readonly #parse: (bytes: Buffer) => void;
  readonly #options: Pick<ReceiveOptions, 'budget' | 'unauthenticated'>;
  readonly #onFragmented: () => void;
  /** What was received after the end of the latest request. */
  #ahead: Buffer = NOTHING;
  #aheadMemory: Holding;
  /** Runs while the connection is not read. */
  #probe: NodeJS.Timeout | undefined;

  constructor(
    socket: Socket,
    options: Pick<ReceiveOptions, 'budget' | 'unauthenticated'>,
    onFragmented: (connection: Connection) => void,
  ) {
    this.socket = socket;
    this.peerAddress = plainAddress(socket.remoteAddress ?? '');
    this.#options = options;
    this.#aheadMemory = new Holding(options.unauthenticated, '');
    this.#onFragmented = () => onFragmented(this);
    // Node has just added its parser as the only listener. It gets the bytes of one request at a time.
    const [parse] = socket.listeners('data');
    this.#parse = parse?.bind(socket) as (bytes: Buffer) => void;
    socket.removeAllListeners('data').on('data', (chunk: Buffer) => {
      if (this.#ahead.length > 0) this.#keep(Buffer.concat([this.#ahead, chunk]));
      else this.#read(chunk);
    });
    socket.once('close', () => {
      clearInterval(this.#probe);
      this.#keep(NOTHING);
      this.place?.[Symbol.dispose]();
      this.arriving?.gone();
      for (const closed of this.onClosed) closed();
    });
  }

  /** Begins the next request if it has been received, in the next turn of the event loop, so that a connection has one in each turn. */
  readNext(): void {
    if (this.#ahead.length === 0) return;
    setImmediate(() => {
      const isPaused = this.#ahead.length >= AHEAD_BYTES_MAX;
      this.#read(this.#ahead);
      if (isPaused && this.#ahead.length < AHEAD_BYTES_MAX) this.#resume();
    });
  }

  #pause(): void {
    this.socket.pause();
    this.#probe ??= setInterval(() => {
      if (this.socket.writable && this.socket.writableLength === 0) this.socket.write('');
    }, PROBE_INTERVAL_MS).unref();
  }

  #resume(): void {
    clearInterval(this.#probe);
    this.#probe = undefined;
    this.socket.resume();
  }

  get #isBusy(): boolean {
    return this.latest?.isSent === false;
  }

  #read(chunk: Buffer): void {
    let at = 0;
    // The socket may be destroyed before it emits `close`. Then nothing more begins, because nothing would end it.
    while (at < chunk.length && !this.isBroken && !this.socket.destroyed) {
      if (this.scanner.isBetweenRequests) {
        // After a response that ends the connection, the bytes may only look like a request.
        if (this.latest?.isClosing === true) break;
        // Empty lines before a request are legal, and some clients send one after a body.
        if (chunk[at] === CR || chunk[at] === LF) {
          at++;
          continue;
        }
        if (this.#isBusy) {
          this.#keep(chunk.subarray(at));
          return;
        }
      }
      const end = this.scanner.push(chunk, at);
      if (this.scanner.isFragmented) this.#onFragmented();
      else this.#parse(at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end));
      at = end;
    }
    this.#keep(NOTHING);
  }

  /** Keeps these bytes, instead of others, for when the response to the latest request is sent. */
  #keep(ahead: Buffer): void {
    if (ahead.length === 0 && this.#aheadMemory.amount === 0) return;
    this.#ahead = this.isBroken || this.socket.destroyed ? NOTHING : compact(ahead);
    const isPaused = this.#ahead.length >= AHEAD_BYTES_MAX;
    if (!this.#count(isPaused ? this.#ahead.buffer.byteLength + AHEAD_BYTES_MAX : this.#ahead.buffer.byteLength)) {
      this.#ahead = NOTHING;
      this.#count(0);
      this.socket.destroy();
    } else if (isPaused) this.#pause();
  }

  /** Counts this much memory for what is ahead. Returns false if there is no room for it. Never takes again what it has. */
  #count(bytes: number): boolean {
    if (this.#aheadMemory.amount === 0) {
      const { budget, unauthenticated } = this.#options;
      this.#aheadMemory = new Holding(this.namespace === '' ? unauthenticated : budget, this.namespace);
    }
    const grown = bytes - this.#aheadMemory.amount;
    if (grown > 0 && bytes > AHEAD_BYTES_KEPT) return this.#aheadMemory.take(grown);
    this.#aheadMemory.add(grown);
    return true;
  }
}

/** Copies bytes that are less than half of their buffer, which they would otherwise keep in memory. */
const compact = (bytes: Buffer): Buffer => {
  if (bytes.length === 0) return NOTHING;
  if (2 * bytes.length >= bytes.buffer.byteLength) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
};

/**
 * The caller's side of the gateway: HTTP/1.1 and HTTP/1.0 on a socket, through Fastify but without its routing. Requests of every
 * target and every method except CONNECT reach one hook as received, before Fastify decodes or parses anything.
 */
export class Receiver {
  readonly #app: FastifyInstance;
  readonly #options: ReceiveOptions;
  readonly #connections = new WeakMap<Socket, Connection>();

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
      requestTimeout: Math.min(limits.requestTimeoutMs, limits.exchangeTimeoutMs),
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      return503OnClosing: false,
      exposeHeadRoutes: false,
      http: {
        maxHeaderSize: limits.requestHeadBytes,
        headersTimeout: Math.min(limits.requestHeadTimeoutMs, limits.requestTimeoutMs, limits.exchangeTimeoutMs),
        connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
        // The receive stage itself requires exactly one Host header, and its response explains the problem.
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

  /** Accepts no new connections and ends idle ones. Resolves when the last connection has ended, by itself or through `cut`. */
  async close(): Promise<void> {
    const { server } = this.#app;
    const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
    server.closeIdleConnections();
    await closed;
    await this.#app.close();
  }

  /** Ends all connections immediately. */
  cut(): void {
    this.#app.server.closeAllConnections();
  }

  #attach(): void {
    const app = this.#app;
    const { server } = app;
    const { settings } = this.#options;
    // CONNECT is not a route, because Node emits a separate event for it.
    const known = new Set<string>([...app.supportedMethods, 'CONNECT']);
    for (const method of NODE_METHODS) if (!known.has(method)) app.addHttpMethod(method);
    app.route({ method: app.supportedMethods, url: '/', handler: () => undefined });
    // The hook never calls `done`, so Fastify does nothing else with the request.
    app.addHook('onRequest', (request, reply) => {
      reply.hijack();
      this.#onRequest(request.raw, reply.raw);
    });
    server.maxConnections = settings.limits.connections;
    const onFragmented = (connection: Connection): void => this.#break(connection, 'chunks_too_small');
    server.on('connection', (socket: Socket) => {
      this.#connections.set(socket, new Connection(socket, this.#options, onFragmented));
    });
    // The stages handle requests with an `Expect` header, for which Node emits these events.
    const pass = (request: IncomingMessage, response: ServerResponse) => void server.emit('request', request, response);
    server.on('checkContinue', pass).on('checkExpectation', pass);
    server.on('connect', (_request, socket) => {
      this.#options.onRefused('target_invalid');
      const connection = socket instanceof Socket ? this.#connections.get(socket) : undefined;
      if (connection !== undefined) connection.isBroken = true;
      // Node has removed its own listeners, so without this listener a reset would be an uncaught exception.
      socket.on('error', () => socket.destroy());
      if (socket instanceof Socket) this.#sayFarewell(socket, farewell('target_invalid'));
    });
  }

  #onRequest(request: IncomingMessage & { originalUrl?: string }, response: ServerResponse): void {
    const connection = this.#connections.get(request.socket);
    // Otherwise, the scanner and the parser disagree about where the previous request ends.
    if (connection === undefined || connection.latest?.isSent === false) {
      request.socket.destroy();
      return;
    }
    const { settings, onExchange } = this.#options;
    const { responseStallTimeoutMs, exchangeTimeoutMs } = settings.limits;
    const exchange = new Exchange(request, response, { connection, responseStallTimeoutMs, exchangeTimeoutMs });
    connection.latest = exchange;
    response.once('finish', () => connection.readNext());
    onExchange(exchange, request.originalUrl ?? '', connection.scanner.take());
  }

  /** Called when the parser rejects the bytes on this connection, when a request times out, or when the socket fails. */
  #onClientError(error: Error, socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined || socket.destroyed || !socket.writable || isLost(error)) {
      socket.destroy();
      return;
    }
    const { requestTargetBytes } = this.#options.settings.limits;
    const code = clientErrorCode(error, connection.scanner.requestLineBytes, requestTargetBytes);
    this.#break(connection, code, clientErrorDetail(error));
  }

  /** Refuses the request that is arriving, or the next one, and ends the connection. */
  #break(connection: Connection, code: RejectionCode, detail?: string): void {
    if (connection.isBroken) return;
    connection.isBroken = true;
    // If a request is partly read, the response to this request reports the error.
    if (connection.arriving !== undefined) {
      connection.arriving.refuse(new Refusal(code, { closes: true }));
      return;
    }
    // The rest of a refused request, whose response ends the connection.
    if (connection.latest?.isClosing === true) return;
    this.#options.onRefused(code);
    const owed = connection.latest?.response;
    const say = (): void => this.#sayFarewell(connection.socket, farewell(code, detail));
    if (owed === undefined || owed.writableFinished) say();
    else owed.once('finish', say);
  }

  #sayFarewell(socket: Socket, response: Buffer): void {
    if (!socket.writable) return;
    socket.end(response);
    socket.resume();
    setTimeout(() => socket.destroy(), FAREWELL_MS).unref();
  }
}
