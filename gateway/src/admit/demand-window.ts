/** With a shorter history, a few requests at once would look like steady demand. */
const HISTORY_MS_MIN = 1_000;
/**
 * Half of the longest time over which demand is measured. Long enough to span pauses between requests, and short enough to measure
 * a burst after a quiet hour correctly.
 */
const HALF_MS = 5_000;

/**
 * The current rate of requests, which is the larger of two rates: over the last 5 to 10 s, and over the current half of that time.
 * The second rate makes growth visible within a second or two, regardless of the earlier rate. Does no I/O. Times are milliseconds
 * on a monotonic clock.
 */
export class DemandWindow {
  #sinceMs: number;
  #count = 0;
  #countBefore = 0;
  #msBefore = 0;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  add(nowMs: number): void {
    this.#moveTo(nowMs);
    this.#count++;
  }

  /**
   * Returns the requests per millisecond.
   *
   * @param waiting the number of requests that have not been added yet
   */
  perMs(waiting: number, nowMs: number): number {
    this.#moveTo(nowMs);
    const elapsedMs = nowMs - this.#sinceMs;
    const count = this.#count + waiting;
    return Math.max(
      count / Math.max(HISTORY_MS_MIN, elapsedMs),
      (this.#countBefore + count) / Math.max(HISTORY_MS_MIN, this.#msBefore + elapsedMs),
    );
  }

  #moveTo(nowMs: number): void {
    const elapsedMs = nowMs - this.#sinceMs;
    if (elapsedMs < HALF_MS) return;
    // Older counts no longer describe the current demand.
    const isRecent = elapsedMs < 2 * HALF_MS;
    this.#countBefore = isRecent ? this.#count : 0;
    this.#msBefore = isRecent ? HALF_MS : 0;
    this.#sinceMs = isRecent ? this.#sinceMs + HALF_MS : nowMs;
    this.#count = 0;
  }
}
