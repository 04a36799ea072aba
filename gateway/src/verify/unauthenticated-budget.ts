import { SharedPool, type Holding } from '@standin/contract';
import { ByteBudget } from '../request/byte-budget.ts';
import type { Exchange } from '../request/exchange.ts';
import { retryLater } from '../request/refusal.ts';

const DISPLACED = retryLater('overloaded', {
  detail:
    "Newer requests to this account's namespace needed the room. Send the body sooner after the head, or send fewer requests at the same time.",
  closes: true,
});

/** What an unauthenticated request has: a place, and memory for its head and body. Disposing of it gives both back. */
interface Room extends Disposable {
  readonly memory: Holding;
}

/**
 * The room for requests whose signature can be verified only when their body has arrived. If a namespace's share is used up, its oldest
 * request is refused instead of the new one. Otherwise, unauthenticated clients that send slowly could occupy all of it, while most
 * senders need it only for milliseconds.
 */
export class UnauthenticatedBudget extends ByteBudget {
  readonly requests: SharedPool;
  /** The requests of each namespace, in the order of arrival. */
  readonly #waiting = new Map<string, Map<Exchange, Room>>();
  #displaced = 0;

  constructor(bytesMax: number, requestsMax: number) {
    super(bytesMax);
    this.requests = new SharedPool(requestsMax);
  }

  /** The number of requests that were refused to make room. */
  get displaced(): number {
    return this.#displaced;
  }

  /** Adds a request to a namespace with the bytes of its head. Returns undefined if there is no room. */
  enter(exchange: Exchange, namespace: string, headerBytes: number): Room | undefined {
    let place: Holding | undefined;
    while ((place = this.requests.hold(namespace)) === undefined)
      if (!this.#displaceOldest(namespace)) return undefined;
    const memory = this.hold(namespace, headerBytes);
    if (memory === undefined) {
      place[Symbol.dispose]();
      return undefined;
    }
    const waiting = this.#waiting.get(namespace) ?? new Map<Exchange, Room>();
    const room: Room = {
      memory,
      [Symbol.dispose]: () => {
        if (waiting.delete(exchange) && waiting.size === 0) this.#waiting.delete(namespace);
        memory[Symbol.dispose]();
        place[Symbol.dispose]();
      },
    };
    this.#waiting.set(namespace, waiting.set(exchange, room));
    return room;
  }

  override take(namespace: string, bytes: number): boolean {
    while (!super.take(namespace, bytes)) if (!this.#displaceOldest(namespace)) return false;
    return true;
  }

  /** Returns false if the namespace has no request. */
  #displaceOldest(namespace: string): boolean {
    const [oldest] = this.#waiting.get(namespace) ?? [];
    if (oldest === undefined) return false;
    const [{ connection }, room] = oldest;
    room[Symbol.dispose]();
    connection.arriving?.refuse(DISPLACED);
    this.#displaced++;
    return true;
  }
}
