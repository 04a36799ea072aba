import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { CorsConfig, HeaderPair, Holding, ProjectConfig } from '@standin/contract';
import { withCors } from '@standin/responses';
import { httpDate, wallClockUs } from './clock.ts';
import type { Refusal } from './refusal.ts';

/**
 * How long to read and discard the rest of a request after its response, so that a connection reset does not destroy the
 * response.
 */
const LINGER_MS = 2_000;

const CLOSE: HeaderPair = ['connection', 'close'];

/** The reader of a body that is still arriving. */
export interface Arriving {
  /**
   * Called if the parser rejected the body, or if the body took too long, has too many small chunks or must make room for another.
   * The request can still be refused.
   */
  refuse(refusal: Refusal): void;
  /** Called when the connection is closed. */
  gone(): void;
}

/** The part of a caller's connection that the stages use. */
export interface CallerConnection {
  readonly socket: Socket;
  /** Stays the same after the socket is closed. */
  readonly peerAddress: string;
  /** The namespace of the latest request with a valid credential. Empty if there is none. */
  namespace: string;
  /** Its place among the connections of that namespace. */
  place: Holding | undefined;
  /** The reader of the body that is arriving. */
  arriving: Arriving | undefined;
  /** Called when the connection is closed. */
  readonly onClosed: Set<() => void>;
}

export interface ExchangeOptions {
  readonly connection: CallerConnection;
  /** How long the caller may go without reading. */
  readonly responseStallTimeoutMs: number;
  /** The longest time from the arrival of the head to the end of the response. */
  readonly exchangeTimeoutMs: number;
}

/**
 * One request and its response on the wire. Wraps the parts of node:http that the stages need. Sends response headers as given,
 * with their order and case preserved, and adds `connection: close` if the connection ends.
 */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly connection: CallerConnection;
  /** `performance.now()` at the arrival of the head, or when the response to the previous request on the connection was sent. */
  readonly startedMs: number;
  /** The same time in microseconds since the epoch. */
  readonly receivedAtUs: number;
  /** The namespace whose shares the request counts towards. Empty until the request is matched. */
  namespace = '';
  /** Its place among the requests of the namespace, until its response is sent. */
  place: Holding | undefined;
  /** The memory of the head and the response, until the response is sent. */
  memory: Holding | undefined;
  /** Whether part of the body may be unread. */
  hasUnreadBody = true;
  /** Whether the caller waits for `100 Continue` before it sends its body. */
  awaitsContinue = false;
  /** The project that the request is for. Undefined until it is matched. */
  project: Pick<ProjectConfig, 'uid' | 'namespace'> | undefined;
  /** What pages of other origins may do in the project whose URI the target contains. Undefined if CORS is not configured. */
  cors: CorsConfig | undefined;
  /** Whether the request is recorded, so that it was accepted. */
  isRecorded = false;
  /** The position among the running requests. */
  runningIndex = -1;
  readonly timeoutMs: number;
  readonly #stallTimeoutMs: number;
  #closes = false;
  #ended = false;
  #isDecided = false;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    { connection, responseStallTimeoutMs, exchangeTimeoutMs }: ExchangeOptions,
  ) {
    this.request = request;
    this.response = response;
    this.connection = connection;
    this.startedMs = performance.now();
    this.receivedAtUs = wallClockUs(this.startedMs);
    this.timeoutMs = exchangeTimeoutMs;
    this.#stallTimeoutMs = responseStallTimeoutMs;
  }

  /**
   * Records that the request is accepted or refused. With `closes`, or if HTTP requires it, the response ends the connection. HTTP
   * requires this in three cases: the caller asked for it, the request is HTTP/1.0 (which keeps a connection only if both sides ask
   * for that), or the response takes the place of `100 Continue`, which leaves unclear whether the body follows.
   */
  decide(closes: boolean): void {
    const { request, response } = this;
    this.#closes = closes || this.awaitsContinue || !response.shouldKeepAlive || request.httpVersionMinor === 0;
    this.#isDecided = true;
  }

  /** Whether the connection ends with this request. False before `decide`. */
  get isClosing(): boolean {
    return this.#closes;
  }

  /** Whether the system has taken over the whole response, or nothing can reach the caller. */
  get isSent(): boolean {
    return this.response.writableFinished || this.isGone;
  }

  /** Calls `next` when the system has taken over the whole response, or when the connection is closed. */
  whenSent(next: () => void): void {
    const { response, connection } = this;
    const sent = () => {
      response.off('finish', sent);
      connection.onClosed.delete(sent);
      next();
    };
    response.once('finish', sent);
    connection.onClosed.add(sent);
  }

  /** Returns the microseconds since `startedMs`. */
  elapsedUs(): number {
    return Math.round((performance.now() - this.startedMs) * 1000);
  }

  /** How many milliseconds are left until the exchange must have ended. Below 0 if it should have ended. */
  get leftMs(): number {
    return this.startedMs + this.timeoutMs - performance.now();
  }

  /** Whether the connection or the response is destroyed, so that nothing can reach the caller. */
  get isGone(): boolean {
    return this.response.destroyed || this.connection.socket.destroyed;
  }

  /** Returns the `Date` header value for the response, which is `receivedAtUs`. */
  date(): string {
    return httpDate(this.receivedAtUs / 1000);
  }

  /** Returns the headers of a response as they are sent. */
  responseHeaders(headers: readonly HeaderPair[]): readonly HeaderPair[] {
    return this.cors === undefined ? headers : withCors(headers, this.cors, this.request.rawHeaders);
  }

  askForBody(): void {
    if (!this.awaitsContinue) return;
    this.awaitsContinue = false;
    this.response.writeContinue();
  }

  /** Sends a complete response. A string has one byte per character. */
  respond(status: number, headers: readonly HeaderPair[], body: string | Uint8Array): void {
    if (this.isGone) return;
    this.begin(status, headers);
    if (this.hasUnreadBody && this.#closes) this.#endAfterRequest(body);
    else if (typeof body === 'string') this.end(body);
    else this.end(body);
  }

  /** Sends a response head. `write` and `end` follow. Without a reason phrase, the status gets its usual phrase. */
  begin(status: number, headers: readonly HeaderPair[], reason?: string): void {
    if (this.isGone) return;
    const { response } = this;
    response.sendDate = false;
    if (reason !== undefined && reason !== '') response.statusMessage = reason;
    // HTTP/1.1 connections persist by default, but Node would add `Connection` and `Keep-Alive` to each response.
    if (!this.#closes) response.removeHeader('connection');
    const sent = this.responseHeaders(headers);
    response.writeHead(status, (this.#closes ? [...sent, CLOSE] : sent) as unknown as string[]);
  }

  /** Sends the head immediately, for a body that may take time. */
  flushHead(): void {
    // Node's `flushHeaders` would encode the head as UTF-8.
    if (!this.isGone) this.response.write('', 'latin1');
  }

  /** Returns false if the caller should wait for `drained` before writing more. */
  write(chunk: Uint8Array): boolean {
    return this.isGone || this.response.write(chunk);
  }

  /**
   * Resolves when the response accepts more bytes, or when the connection is closed. Disconnects a caller that does not read for
   * too long.
   */
  drained(): Promise<void> {
    const { response } = this;
    if (this.isGone) return Promise.resolve();
    return new Promise((resolve) => {
      const settle = () => {
        response.off('drain', settle).off('close', settle);
        response.setTimeout(0);
        resolve();
      };
      response.once('drain', settle).once('close', settle);
      response.setTimeout(this.#stallTimeoutMs);
    });
  }

  end(lastBytes?: string | Uint8Array, trailers: readonly HeaderPair[] = []): void {
    this.#ended = true;
    if (this.isGone) return;
    const { response, connection } = this;
    if (trailers.length > 0) response.addTrailers(trailers as [string, string][]);
    if (typeof lastBytes === 'string') response.end(lastBytes, 'latin1');
    else response.end(lastBytes);
    if (connection.socket.writableLength === 0) return;
    response.setTimeout(this.#stallTimeoutMs);
    // The next response on the connection may be delayed for longer. Node's own listener then sets the time to keep it open.
    response.prependOnceListener('finish', () => connection.socket.setTimeout(0));
    // The response is recorded, so a caller that reads it too slowly changes nothing in the log.
    const timer = setTimeout(() => this.destroy(), Math.max(this.leftMs, this.#stallTimeoutMs)).unref();
    response.once('close', () => clearTimeout(timer));
  }

  /** Cuts the connection, so that the caller cannot mistake a partial response for a complete one. */
  destroy(): void {
    const { response } = this;
    response.destroy();
    this.#ended = true;
    if (!this.#isDecided) this.decide(true);
  }

  /**
   * Closing a socket with unread bytes resets the connection, and a reset can overtake the response. This method therefore sends
   * the whole response first and ends the connection after the rest of the request (RFC 9112 section 9.6).
   */
  #endAfterRequest(body: string | Uint8Array): void {
    const { request, response } = this;
    if (typeof body === 'string') response.write(body, 'latin1');
    else response.write(body);
    const finish = () => {
      clearTimeout(timer);
      if (!this.#ended) this.end();
    };
    const timer = setTimeout(finish, LINGER_MS).unref();
    request.once('close', finish).once('end', finish).resume();
  }
}
