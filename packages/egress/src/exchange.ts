import { Readable } from 'node:stream';
import { LIMITS, type HeaderPair } from '@standin/contract';
import type { Dispatcher } from 'undici';
import { brokeOff, EgressError, exchangeError, tooManyLines } from './egress-error.ts';
import { GatheredBytes } from './gathered-bytes.ts';
import { areValidLines, decodeLines } from './headers.ts';
import type { SocketWatch, WatchedConnection } from './socket-watch.ts';

/** An upstream response. Headers and trailers are latin1, in wire order and case. */
export interface UpstreamResponse {
  /** 200 to 599. */
  readonly status: number;
  /** Printable ASCII. Empty if the upstream sent anything else. */
  readonly statusText: string;
  readonly headers: readonly HeaderPair[];
  /**
   * The bytes as sent (never decompressed), with backpressure down to the socket. Fails with an `EgressError`. Destroying the
   * stream cuts the connection.
   */
  readonly body: Readable;
  /** Returns the trailers. Empty until the whole body has been received. */
  trailers(): readonly HeaderPair[];
}

export interface ExchangeEvents {
  /** See `UpstreamRequest.obstacle`. */
  obstacle(): EgressError | undefined;
  responded(response: UpstreamResponse): void;
  /**
   * Called instead of `responded`. `stale` means that a reused connection was closed before the upstream sent any part of the
   * response, and `unsent` that this happened before any part of the request was sent.
   */
  failed(error: EgressError, cause: 'stale' | 'unsent' | 'other'): void;
}

/** The number of bytes buffered per response before the upstream is slowed down. */
const BODY_HIGH_WATER_MARK_BYTES = 64 * 1024;
/**
 * Smaller chunks that arrive together are joined, because each one takes about 200 bytes of memory while it waits, regardless of
 * its size.
 */
const CHUNK_BYTES_MIN = 1024;
const PRINTABLE = /^[\t\x20-\x7e]*$/;

type Controller = Dispatcher.DispatchController;

const headerPairs = (raw: Controller['rawHeaders']): HeaderPair[] => (Array.isArray(raw) ? decodeLines(raw) : []);

/** A handler for undici that passes on the response to one request, with raw headers and trailers, and with backpressure. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #sockets: SocketWatch;
  readonly #events: ExchangeEvents;
  #controller: Controller | undefined;
  #connection: WatchedConnection | undefined;
  #body: Readable | undefined;
  readonly #small = new GatheredBytes();
  #hasSmall = false;
  #trailers: readonly HeaderPair[] = [];
  #responseBegan = false;
  #settled = false;
  #abortedWith: Error | undefined;

  constructor(sockets: SocketWatch, events: ExchangeEvents) {
    this.#sockets = sockets;
    this.#events = events;
  }

  /** Cuts the connection, or drops the request if it is still waiting for one. Only the body reports the reason. */
  abort(reason: Error): void {
    this.#settled = true;
    this.#abortedWith = reason;
    this.#body?.destroy(reason);
    this.#controller?.abort(reason);
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    const reason = this.#abortedWith ?? this.#events.obstacle();
    if (reason) controller.abort(reason);
  }

  onResponseStarted(): void {
    this.#responseBegan = true;
  }

  onResponseStart(controller: Controller, status: number, _headers: unknown, statusText = ''): void {
    this.#connection = this.#sockets.reading;
    this.#connection?.progressed();
    // 103 Early Hints and similar. undici itself rejects 101, which no request asked for.
    if (status >= 100 && status < 200) return;
    const headers = headerPairs(controller.rawHeaders);
    if (headers.length > LIMITS.upstreamHeadLinesMax) throw tooManyLines();
    if (status < 200 || status > 599)
      throw new EgressError(
        'upstream_invalid',
        `The upstream responded with status ${status}, which is not between 200 and 599.`,
      );
    if (!areValidLines(headers)) {
      throw new EgressError(
        'upstream_invalid',
        "The upstream's response has a header with characters that HTTP forbids.",
      );
    }
    const body = new Readable({
      highWaterMark: BODY_HIGH_WATER_MARK_BYTES,
      read: () => controller.resume(),
      destroy: (error, callback) => {
        controller.abort(error ?? new EgressError('upstream_invalid', 'The response was not read to the end.'));
        callback(error);
      },
    });
    // A response that arrives in one piece can fail before its reader has attached a listener.
    body.on('error', () => undefined);
    this.#body = body;
    this.#settled = true;
    this.#events.responded({
      status,
      statusText: PRINTABLE.test(statusText) ? statusText : '',
      headers,
      body,
      trailers: () => this.#trailers,
    });
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    this.#connection?.progressed(chunk);
    if (chunk.length >= CHUNK_BYTES_MIN) {
      this.#pushSmall(controller);
      this.#push(controller, chunk);
      return;
    }
    this.#small.add(chunk);
    if (this.#hasSmall) return;
    this.#hasSmall = true;
    process.nextTick(() => this.#pushSmall(controller));
  }

  #pushSmall(controller: Controller): void {
    if (!this.#hasSmall) return;
    this.#hasSmall = false;
    const bytes = this.#small.bytes();
    this.#small.clear();
    this.#push(controller, bytes);
  }

  #push(controller: Controller, bytes: Buffer): void {
    if (this.#body?.push(bytes) === false) controller.pause();
  }

  onResponseEnd(controller: Controller): void {
    this.#pushSmall(controller);
    this.#connection?.responded();
    const reset = this.#sockets.failing;
    if (reset) {
      this.#body?.destroy(exchangeError(reset, true));
      return;
    }
    const trailers = headerPairs(controller.rawTrailers);
    if (trailers.length > LIMITS.upstreamHeadLinesMax) {
      this.#body?.destroy(tooManyLines());
      return;
    }
    if (!areValidLines(trailers)) {
      this.#body?.destroy(
        new EgressError('upstream_invalid', "The upstream's trailers have characters that HTTP forbids."),
      );
      return;
    }
    this.#trailers = trailers;
    this.#body?.push(null);
  }

  onResponseError(controller: Controller, error: Error): void {
    this.#pushSmall(controller);
    if (this.#body) {
      this.#body.destroy(exchangeError(error, true));
      return;
    }
    if (this.#settled) return;
    this.#settled = true;
    const isStale = !this.#responseBegan && brokeOff(error) && this.#sockets.bytesReadBefore(error) > 0;
    const cause = !isStale ? 'other' : this.#controller === undefined ? 'unsent' : 'stale';
    this.#events.failed(exchangeError(error, false), cause);
  }
}
