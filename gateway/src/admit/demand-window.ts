/** With less of a history than this a few requests at once would pass for steady demand. */
const HISTORY_MS_MIN = 1_000;
/** Long enough to see through pauses between requests, short enough that a burst after a quiet hour counts as what it is. */
const HALF_MS = 5_000;

/**
 * How many requests a second come of late: in the last 5 to 10 s, or since the present half of that began, whichever is more; so that
 * growth is seen within a second or two, whatever there was before. Without I/O; times are milliseconds of a clock that is never set.
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

  /** @param waiting requests that are not counted yet */
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
    // What is further back was another time.
    const isRecent = elapsedMs < 2 * HALF_MS;
    this.#countBefore = isRecent ? this.#count : 0;
    this.#msBefore = isRecent ? HALF_MS : 0;
    this.#sinceMs = isRecent ? this.#sinceMs + HALF_MS : nowMs;
    this.#count = 0;
  }
}
