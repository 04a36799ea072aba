export interface BackoffOptions {
  readonly baseMs: number;
  readonly capMs: number;
}

/**
 * Exponential backoff with half its width as jitter. After `failures` failures (0 is the first), the delay is between half and
 * all of `base × 2^failures`, at most `cap`. The jitter keeps clients of one failed server from retrying together.
 */
export const backoffMs = (failures: number, options: BackoffOptions, random: () => number): number => {
  const full = Math.min(options.capMs, options.baseMs * 2 ** Math.min(failures, 30));
  return full * (0.5 + random() / 2);
};
