import { SharedPool } from '@standin/contract';
import { ByteBudget } from '../request/byte-budget.ts';
import type { Exchange } from '../request/exchange.ts';
import { retryLater } from '../request/refusal.ts';

const DISPLACED = retryLater('overloaded', {
  detail:
    "Newer requests to this account's namespace needed the room. Send the body sooner after the head, or send fewer requests at the same time.",
  closes: true,
});

/**
 * The room for requests whose signature can be verified only when their body has arrived. If a namespace's share is used up, its oldest
 * request is refused instead of the new one. Otherwise, unauthenticated clients that send slowly could occupy all of it, while most
 * senders need it only for milliseconds.
 */
export class UnauthenticatedBudget extends ByteBudget {
  readonly requests: SharedPool;
  /** The size of each request's head in bytes, by namespace, in the order of arrival. */
  readonly #waiting = new Map<string, Map<Exchange, number>>();
  #displaced = 0;

  constructor(bytesMax: number, requestsMax: number) {
    super(bytesMax);
    this.requests = new SharedPool(requestsMax);
  }

  /** The number of requests that were refused to make room. */
  get displaced(): number {
    return this.#displaced;
  }

  /** Adds a request to a namespace with the bytes of its head. Returns false if there is no room. */
  enter(exchange: Exchange, namespace: string, headerBytes: number): boolean {
    while (!this.requests.take(namespace)) if (!this.#displaceOldest(namespace)) return false;
    if (!this.take(namespace, headerBytes)) {
      this.requests.free(namespace);
      return false;
    }
    const waiting = this.#waiting.get(namespace) ?? new Map<Exchange, number>();
    this.#waiting.set(namespace, waiting.set(exchange, headerBytes));
    return true;
  }

  /** Removes a request, unless it was displaced. */
  leave(exchange: Exchange, namespace: string): void {
    const waiting = this.#waiting.get(namespace);
    const headerBytes = waiting?.get(exchange);
    if (waiting === undefined || headerBytes === undefined) return;
    waiting.delete(exchange);
    if (waiting.size === 0) this.#waiting.delete(namespace);
    this.free(namespace, headerBytes);
    this.requests.free(namespace);
  }

  override take(namespace: string, bytes: number): boolean {
    while (!super.take(namespace, bytes)) if (!this.#displaceOldest(namespace)) return false;
    return true;
  }

  /** Returns false if the namespace has no request. */
  #displaceOldest(namespace: string): boolean {
    const [oldest] = this.#waiting.get(namespace)?.keys() ?? [];
    if (oldest === undefined) return false;
    this.leave(oldest, namespace);
    oldest.connection.arriving?.refuse(DISPLACED);
    this.#displaced++;
    return true;
  }
}
