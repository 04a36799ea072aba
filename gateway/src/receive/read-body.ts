import type { Holding } from '@standin/contract';
import { GatheredBytes } from '@standin/egress';
import type { ByteBudget } from '../request/byte-budget.ts';
import type { Arriving, Exchange } from '../request/exchange.ts';
import { Refusal, retryLater } from '../request/refusal.ts';
import type { RequestHead } from '../request/request-head.ts';

export interface ReadBodyOptions {
  readonly bodyBytesMax: number;
  readonly budget: ByteBudget;
  /** What the request has of the budget. The caller disposes of it. */
  readonly memory: Holding;
  /**
   * Whether the bytes are reserved when the head declares them (by default), or as they are received. The head of an unauthenticated
   * request must not be enough to exhaust a budget.
   */
  readonly reserves?: 'declared' | 'received';
  /** Called with each part of the body as it is received. */
  readonly onBytes?: (bytes: Uint8Array) => void;
  /** The body, if it has been read. */
  readonly received?: Uint8Array | undefined;
}

/** Returned if the caller closed the connection before its request was complete, so that no response is possible. */
export const GONE = Symbol('gone');

const NOTHING = new Uint8Array(0);

const SHARE_USED =
  "Other requests to this account's namespace use its share of the gateway's memory for requests and responses. Wait for their responses, or send fewer or smaller requests at the same time.";

/** Refuses a request because its namespace's share of the budget is used up. */
export const noRoom = (budget: ByteBudget, closes = false): Refusal =>
  budget.isFullOfRows
    ? retryLater('log_unavailable', { closes })
    : retryLater('overloaded', { detail: SHARE_USED, closes });

const tooLarge = (bodyBytesMax: number): Refusal =>
  new Refusal('body_too_large', {
    detail: `Send at most ${bodyBytesMax} bytes, or ask an administrator to raise limits.requestBodyBytes.`,
    closes: true,
  });

/**
 * Reads the whole body as bytes, regardless of the method and content type. Adds them to `memory`.
 */
export const readBody = (
  exchange: Exchange,
  head: RequestHead,
  options: ReadBodyOptions,
): Promise<Uint8Array | Refusal | typeof GONE> | Uint8Array | Refusal => {
  const { contentLength, isChunked } = head;
  const { bodyBytesMax, budget, memory, reserves = 'declared', received } = options;
  if (received !== undefined) return memory.take(received.length) ? received : noRoom(budget);
  if (contentLength === 0 && !isChunked) return NOTHING;
  if (contentLength > bodyBytesMax) return tooLarge(bodyBytesMax);
  const takenBytes = reserves === 'declared' ? contentLength : 0;
  if (!memory.take(takenBytes)) return noRoom(budget);
  exchange.askForBody();
  return new Promise((resolve) => {
    new BodyReader(exchange, { ...options, takenBytes, resolve }).start();
  });
};

interface BodyReaderOptions extends ReadBodyOptions {
  readonly takenBytes: number;
  readonly resolve: (result: Uint8Array | Refusal | typeof GONE) => void;
}

class BodyReader implements Arriving {
  readonly #exchange: Exchange;
  readonly #options: BodyReaderOptions;
  readonly #gathered = new GatheredBytes();
  #bytes = 0;
  #takenBytes: number;
  #isSettled = false;

  constructor(exchange: Exchange, options: BodyReaderOptions) {
    this.#exchange = exchange;
    this.#options = options;
    this.#takenBytes = options.takenBytes;
  }

  start(): void {
    const { request, connection } = this.#exchange;
    connection.arriving = this;
    request.on('data', (chunk: Buffer) => this.#add(chunk)).on('end', () => this.#finish());
  }

  refuse(refusal: Refusal): void {
    this.#settle(refusal);
  }

  gone(): void {
    this.#settle(GONE);
  }

  #add(chunk: Buffer): void {
    if (this.#isSettled) return;
    const { bodyBytesMax, onBytes } = this.#options;
    this.#bytes += chunk.length;
    if (this.#bytes > bodyBytesMax) {
      this.#settle(tooLarge(bodyBytesMax));
      return;
    }
    if (!this.#reserve()) return;
    this.#gathered.add(chunk);
    onBytes?.(chunk);
  }

  /** Reserves the bytes that have arrived. Returns false if the request is refused. */
  #reserve(): boolean {
    const { budget, memory } = this.#options;
    const missingBytes = this.#bytes - this.#takenBytes;
    if (missingBytes <= 0) return true;
    if (memory.take(missingBytes)) this.#takenBytes = this.#bytes;
    else this.#settle(noRoom(budget, true));
    // The budget may have refused this request to make room.
    return !this.#isSettled;
  }

  #finish(): void {
    this.#exchange.hasUnreadBody = false;
    this.#settle(this.#gathered.bytes());
  }

  #settle(result: Uint8Array | Refusal | typeof GONE): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#gathered.clear();
    this.#exchange.connection.arriving = undefined;
    this.#options.resolve(result);
  }
}
