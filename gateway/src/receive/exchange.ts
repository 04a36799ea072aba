import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HeaderPair } from '@standin/contract';
import { wallClockUs } from './clock.ts';
import type { Connection } from './connection.ts';
import { httpDate } from './http-date.ts';

/** How long a request's rest is read and thrown away after its answer, so that a reset does not eat the answer. */
const LINGER_MS = 2_000;

const CLOSE: HeaderPair = ['connection', 'close'];

/**
 * One request and its answer on the wire: what the stages need of node:http, and nothing about what they decide. Answers carry
 * the headers they are given, in their order and case, and `connection: close` where the connection ends.
 */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly connection: Connection;
  /** `performance.now()` when the head had arrived. */
  readonly startedMs: number;
  /** Microseconds since the epoch, likewise. */
  readonly receivedAtUs: number;
  /** A body may be on its way that nobody has read to its end. */
  hasUnreadBody = true;
  /** The caller waits for `100 Continue` before it sends its body. */
  awaitsContinue = false;
  readonly #stallTimeoutMs: number;
  #closes = false;
  #ended = false;
  #isDecided = false;
  #onDecided: ((closes: boolean) => void) | undefined;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    { connection, stallTimeoutMs }: { connection: Connection; stallTimeoutMs: number },
  ) {
    this.request = request;
    this.response = response;
    this.connection = connection;
    this.startedMs = performance.now();
    this.receivedAtUs = wallClockUs(this.startedMs);
    this.#stallTimeoutMs = stallTimeoutMs;
    connection.latest = this;
  }

  /**
   * The request is accepted, or refused. With `closes`, or if HTTP demands it, its answer will be the connection's last: HTTP/1.0
   * keeps a connection only if both sides say so; a final answer in place of 100 leaves the body's fate open.
   */
  decide(closes: boolean): void {
    const { request, response } = this;
    this.#closes = closes || this.awaitsContinue || !response.shouldKeepAlive || request.httpVersionMinor === 0;
    this.#isDecided = true;
    this.#onDecided?.(this.#closes);
  }

  get isDecided(): boolean {
    return this.#isDecided;
  }

  /** Calls `next` once it is known whether the connection ends with this request. */
  whenDecided(next: (closes: boolean) => void): void {
    if (this.#isDecided) next(this.#closes);
    else this.#onDecided = next;
  }

  /** Microseconds since the head had arrived. */
  elapsedUs(): number {
    return Math.round((performance.now() - this.startedMs) * 1000);
  }

  /** The caller's end of the connection is gone: no answer reaches it. */
  get isGone(): boolean {
    return this.response.destroyed || this.connection.socket.destroyed;
  }

  /** The value for the `Date` header of an answer to this request. */
  date(): string {
    return httpDate(this.receivedAtUs / 1000);
  }

  askForBody(): void {
    if (!this.awaitsContinue) return;
    this.awaitsContinue = false;
    this.response.writeContinue();
  }

  /** Hands over a whole answer. A string is one byte per character. */
  answer(status: number, headers: readonly HeaderPair[], body: string | Uint8Array): void {
    if (this.isGone) return;
    this.begin(status, headers);
    if (this.hasUnreadBody && this.#closes) this.#endAfterRequest(body);
    else if (typeof body === 'string') this.end(body);
    else this.end(body);
  }

  /** Hands over the head of an answer; `write` and `end` follow. Without a reason phrase the status has its usual one. */
  begin(status: number, headers: readonly HeaderPair[], reason?: string): void {
    if (this.isGone) return;
    const { response } = this;
    response.sendDate = false;
    if (reason !== undefined && reason !== '') response.statusMessage = reason;
    // HTTP/1.1 connections persist without saying so; Node would add `Connection` and `Keep-Alive` to each answer.
    if (!this.#closes) response.removeHeader('connection');
    response.writeHead(status, (this.#closes ? [...headers, CLOSE] : headers) as unknown as string[]);
  }

  /** Sends the head ahead of a body that may take its time. */
  flushHead(): void {
    if (!this.isGone) this.response.flushHeaders();
  }

  /** False: wait for `drained` before writing more. */
  write(chunk: Uint8Array): boolean {
    return this.isGone || this.response.write(chunk);
  }

  /** Resolves when the caller has taken what was written, or is gone, or has taken nothing for too long and is cut off. */
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
    if (connection.socket.writableLength > 0) response.setTimeout(this.#stallTimeoutMs);
  }

  /** Cuts the connection: the caller must not take what it has for a whole answer. */
  destroy(): void {
    this.response.destroy();
    this.#ended = true;
    if (!this.#isDecided) this.decide(true);
  }

  /**
   * Closing a socket that holds unread bytes resets the connection, and a reset can overtake the answer. So the answer goes out
   * whole, and the end of the connection waits for the rest of the request (RFC 9112 section 9.6).
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
