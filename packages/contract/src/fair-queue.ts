import { SharedPool } from './shared-pool.ts';

export interface FairQueueOptions {
  /** Maximum number of calls that run at the same time. */
  readonly runningMax: number;
  /** Maximum number of calls that run or wait. */
  readonly callsMax: number;
  /** Maximum time that a call waits for its turn, in milliseconds. Without it, a call waits until its signal aborts. */
  readonly waitMs?: number;
  /** Creates the error of a call that cannot run. */
  readonly refusal: () => Error;
}

/**
 * Runs a limited number of calls at the same time. Each holder has a share of the running calls and of all calls (see `SharedPool`), and
 * waiting calls of different holders take turns.
 */
export class FairQueue {
  /** The calls that run. */
  readonly running: SharedPool;
  /** The calls that run or wait. */
  readonly calls: SharedPool;
  readonly #options: FairQueueOptions;
  /** The waiting calls of each holder, in order. The first holder with a share left is next. */
  readonly #lines = new Map<string, Set<() => void>>();

  constructor(options: FairQueueOptions) {
    this.#options = options;
    this.running = new SharedPool(options.runningMax);
    this.calls = new SharedPool(options.callsMax);
  }

  /** Returns whether a call of the holder would begin without waiting. */
  hasRoomFor(holder: string): boolean {
    return this.running.hasRoomFor(holder) && this.calls.hasRoomFor(holder);
  }

  /**
   * Returns the result of `work`. Rejects with a refusal, without calling `work`, if the holder's share of all calls is used up or it
   * is not the call's turn in time. Rejects with the signal's reason if it aborts before `work` is called, which is never within this
   * call.
   */
  async run<T>(holder: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    using place = this.calls.hold(holder);
    if (place === undefined) throw this.#options.refusal();
    await this.#turn(holder, signal);
    try {
      return await work();
    } finally {
      this.running.free(holder);
      this.#begin();
    }
  }

  async #turn(holder: string, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const { waitMs } = this.#options;
    const begin = (): void => resolve(undefined);
    const leave = (reason: Error): void => {
      this.#removeFromLine(holder, begin);
      reject(reason);
    };
    const timer = waitMs === undefined ? undefined : setTimeout(() => leave(this.#options.refusal()), waitMs);
    const stop = (): void => leave(signal?.reason as Error);
    signal?.addEventListener('abort', stop, { once: true });
    this.#lines.set(holder, (this.#lines.get(holder) ?? new Set()).add(begin));
    this.#begin();
    await promise.finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    });
  }

  /** Begins a call of each holder that has a share left. A holder then has its next turn after the others. */
  #begin(): void {
    for (const [holder, line] of this.#lines) {
      const [first] = line;
      // A call that waits is not refused.
      if (first === undefined || !this.running.hasRoomFor(holder)) continue;
      this.running.add(holder, 1);
      this.#removeFromLine(holder, first);
      if (line.size > 0) {
        this.#lines.delete(holder);
        this.#lines.set(holder, line);
      }
      first();
    }
  }

  #removeFromLine(holder: string, begin: () => void): void {
    const line = this.#lines.get(holder);
    line?.delete(begin);
    if (line?.size === 0) this.#lines.delete(holder);
  }
}
