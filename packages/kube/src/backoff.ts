export interface BackoffOptions {
  readonly baseMs: number;
  readonly capMs: number;
}

/**
 * Exponential with half its width as jitter: after `failures` failures (0 is the first), between one half and the whole of
 * `base × 2^failures`, at most `cap`. The jitter keeps many clients of one failed server from coming back together.
 */
export const backoffMs = (failures: number, options: BackoffOptions, random: () => number): number => {
  const full = Math.min(options.capMs, options.baseMs * 2 ** Math.min(failures, 30));
  return full * (0.5 + random() / 2);
};
