import type { Clock } from '@standin/kube';

/** Limits a replay to a rate (requests per second, evenly spaced, no burst after a pause) and to a number of concurrent requests. */
export class Pace {
  readonly #intervalMs: number;
  readonly #clock: Clock;
  #nextAt = 0;
  #free: number;
  readonly #queue: (() => void)[] = [];

  constructor(ratePerSecond: number, atOnce: number, clock: Clock) {
    this.#intervalMs = 1_000 / ratePerSecond;
    this.#free = atOnce;
    this.#clock = clock;
  }

  /**
   * Resolves when the next request may start, or immediately when `signal` aborts. The caller must call `leave` when the request
   * has ended.
   */
  async enter(signal: AbortSignal): Promise<void> {
    if (this.#free === 0) await new Promise<void>((resolve) => this.#queue.push(resolve));
    else this.#free -= 1;
    const now = this.#clock.now();
    const at = Math.max(now, this.#nextAt);
    this.#nextAt = at + this.#intervalMs;
    if (at > now) await this.#clock.sleep(at - now, signal);
  }

  leave(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
