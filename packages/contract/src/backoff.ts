export interface BackoffOptions {
  readonly baseMs: number;
  readonly capMs: number;
}

/** Far above the number of failures at which any cap is reached, and small enough for an exact power of two. */
const FAILURES_COUNTED_MAX = 30;

/** Returns the exponential backoff `base × 2^failures` (0 is the first failure), limited to `cap`. */
export const exponentialMs = (failures: number, { baseMs, capMs }: BackoffOptions): number =>
  Math.min(capMs, baseMs * 2 ** Math.min(failures, FAILURES_COUNTED_MAX));

/** Returns between half and all of `exponentialMs`, so that the clients of a failed server do not all retry at once. */
export const backoffMs = (failures: number, options: BackoffOptions, random: () => number = Math.random): number =>
  exponentialMs(failures, options) * (0.5 + random() / 2);
