import type { Clock } from '@standin/kube';

/** So many requests a second, evenly spaced, without a burst after a pause; and so many at a time. */
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

  /** Resolves when the next request may go, at once when `signal` aborts; `leave` is to be called when it has ended. */
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
