export interface BackoffOptions {
  readonly baseMs: number;
  readonly capMs: number;
}

/** Far above every cap, and a number whose power of two is exact. */
const FAILURES_COUNTED_MAX = 30;

/** Exponential backoff: `base × 2^failures` (0 is the first failure), at most `cap`. */
export const exponentialMs = (failures: number, { baseMs, capMs }: BackoffOptions): number =>
  Math.min(capMs, baseMs * 2 ** Math.min(failures, FAILURES_COUNTED_MAX));

/** Between half and all of `exponentialMs`, so that clients of one failed server do not retry together. */
export const backoffMs = (failures: number, options: BackoffOptions, random: () => number = Math.random): number =>
  exponentialMs(failures, options) * (0.5 + random() / 2);
