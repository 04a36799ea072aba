import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Exchange } from '../request/exchange.ts';

/** How many waits end at a time when the gateway stops, so that their responses do not block the event loop. */
const ENDED_AT_ONCE = 100;

/** Responses to recorded requests that wait for their delay. */
export class DelayedResponses {
  readonly #ends = new Set<() => void>();
  readonly #responding = new Set<Promise<void>>();
  #isStopping = false;

  /** The number of responses that wait or are being sent. */
  get count(): number {
    return this.#responding.size;
  }

  /** Calls `respond` after `ms` milliseconds, or earlier if the gateway stops or the caller disconnects. Resolves with it. */
  respond(exchange: Exchange, ms: number, respond: () => Promise<void>): Promise<void> {
    const isOver = this.#isStopping || exchange.isGone;
    const responding = (isOver ? respond() : this.#wait(exchange, ms).then(respond)).finally(() =>
      this.#responding.delete(responding),
    );
    this.#responding.add(responding);
    return responding;
  }

  /** Ends all waits, and resolves when their responses are sent. Later responses are not delayed. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    let ended = 0;
    for (const end of this.#ends) {
      end();
      if (++ended % ENDED_AT_ONCE === 0) await nextTurn();
    }
    await Promise.allSettled(this.#responding);
  }

  #wait({ connection }: Exchange, ms: number): Promise<void> {
    const untilMs = performance.now() + ms;
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#ends.delete(end);
        connection.onClosed.delete(end);
        resolve();
      };
      const check = () => {
        const leftMs = untilMs - performance.now();
        if (leftMs <= 0) end();
        // Timers count from the start of the event loop's turn, so they can be early.
        else timer = setTimeout(check, Math.ceil(leftMs));
      };
      let timer = setTimeout(check, Math.ceil(ms));
      this.#ends.add(end);
      connection.onClosed.add(end);
    });
  }
}
