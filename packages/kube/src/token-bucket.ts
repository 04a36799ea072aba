// client-node does not limit the rate of calls.

import type { Clock } from './clock.ts';

export interface RateLimit {
  /** Average calls per second. */
  readonly qps: number;
  /** The number of calls that may start at once after a pause. */
  readonly burst: number;
}

/** A token bucket. Callers wait for a token in order of arrival. */
export class TokenBucket {
  readonly #limit: RateLimit;
  readonly #clock: Clock;
  /** Can be negative, because waiting callers have reserved tokens. */
  #tokens: number;
  #refilledAt: number;

  constructor(limit: RateLimit, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
    this.#tokens = limit.burst;
    this.#refilledAt = clock.now();
  }

  /** Resolves when the caller may proceed, or immediately when `signal` aborts, which the caller must check. */
  async take(signal?: AbortSignal): Promise<void> {
    const now = this.#clock.now();
    this.#tokens = Math.min(this.#limit.burst, this.#tokens + ((now - this.#refilledAt) / 1_000) * this.#limit.qps);
    this.#refilledAt = now;
    this.#tokens -= 1;
    if (this.#tokens < 0) await this.#clock.sleep((-this.#tokens / this.#limit.qps) * 1_000, signal);
  }
}
