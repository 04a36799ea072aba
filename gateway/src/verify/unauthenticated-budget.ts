import { ByteBudget } from '../request/byte-budget.ts';
import type { Exchange } from '../request/exchange.ts';
import { retryLater } from '../request/refusal.ts';

const DISPLACED = retryLater('overloaded', { closes: true });

/**
 * The room for requests whose signature can be verified only when their body has arrived. If it is full, the oldest request is refused
 * instead of the new one. Otherwise, unauthenticated clients that send slowly could occupy all of it, while most senders need it
 * only for milliseconds.
 */
export class UnauthenticatedBudget extends ByteBudget {
  readonly #requestsMax: number;
  /** The size of each request's head in bytes, in the order of arrival. */
  readonly #waiting = new Map<Exchange, number>();
  #displaced = 0;

  constructor(bytesMax: number, requestsMax: number) {
    super(bytesMax);
    this.#requestsMax = requestsMax;
  }

  /** The number of requests whose bodies are arriving. */
  get requests(): number {
    return this.#waiting.size;
  }

  /** The number of requests that were refused to make room. */
  get displaced(): number {
    return this.#displaced;
  }

  /** Adds a request with the bytes of its head. Returns false if there is no room. */
  enter(exchange: Exchange, headerBytes: number): boolean {
    if (this.#waiting.size >= this.#requestsMax) this.#displaceOldest();
    if (!this.takeForBody(headerBytes)) return false;
    this.#waiting.set(exchange, headerBytes);
    return true;
  }

  /** Removes a request, unless it was displaced. */
  leave(exchange: Exchange): void {
    this.freeBody(this.#waiting.get(exchange) ?? 0);
    this.#waiting.delete(exchange);
  }

  override takeForBody(bytes: number): boolean {
    while (!super.takeForBody(bytes)) if (!this.#displaceOldest()) return false;
    return true;
  }

  /** Returns false if there is no request. */
  #displaceOldest(): boolean {
    const [oldest] = this.#waiting.keys();
    if (oldest === undefined) return false;
    this.leave(oldest);
    oldest.connection.arriving?.refuse(DISPLACED);
    this.#displaced++;
    return true;
  }
}
