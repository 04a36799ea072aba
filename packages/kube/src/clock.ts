// client-node's delays cannot be controlled by tests.

/** Time and randomness, so that tests can control them. */
export interface Clock {
  /**
   * Returns monotonic milliseconds, for durations and deadlines, which must not be affected by corrections of the system clock.
   */
  now(): number;
  /** Returns the time of day, for timestamps that others read. */
  date(): Date;
  /** Returns a number from 0 up to, but not including, 1. */
  random(): number;
  /** Resolves after `ms`, or immediately when `signal` aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  random: () => Math.random(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener('abort', done, { once: true });
    }),
};
