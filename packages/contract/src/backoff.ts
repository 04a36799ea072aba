export interface BackoffOptions {
  readonly baseMs: number;
  readonly capMs: number;
}

/** The maximum exponent. Delays reach their cap long before this exponent. */
const FAILURES_COUNTED_MAX = 30;

/** Returns the exponential backoff `base × 2^failures`, limited to `cap`. `failures` is 0 for the first failure. */
export const exponentialMs = (failures: number, { baseMs, capMs }: BackoffOptions): number =>
  Math.min(capMs, baseMs * 2 ** Math.min(failures, FAILURES_COUNTED_MAX));

/** Returns between half and all of `exponentialMs`, so that the clients of a failed server do not all retry at the same time. */
export const backoffMs = (failures: number, options: BackoffOptions, random: () => number = Math.random): number =>
  exponentialMs(failures, options) * (0.5 + random() / 2);
