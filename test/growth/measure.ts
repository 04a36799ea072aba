import { cpuMs } from '@standin/contract/testing';

/**
 * The sizes of the inputs as fractions of the largest size. The first ones are only measured so that a slow function is found before
 * the largest one would take very long.
 */
const SIZES = [1 / 8, 1 / 4, 1] as const;
const [SMALLEST] = SIZES;
/**
 * The factor by which the time may exceed linear growth because of caches, garbage collection and a busy machine. The time of a
 * quadratic function grows 8 times as much as that of a linear function.
 */
const SLACK = 4;
/** The shortest time that counts. Shorter times cannot be measured reliably and do not block other requests. */
const FLOOR_MS = 5;
export interface GrowthCheck {
  readonly run: (input: string) => unknown;
  readonly make: (length: number) => string;
  /** The number of characters of the largest input. */
  readonly limit: number;
  /** The limit for the largest input in milliseconds. */
  readonly cpuMsMax: number;
}

/** Returns the CPU time in milliseconds. Does not measure further times below `enoughMs`. */
const time = ({ run }: GrowthCheck, input: string, enoughMs: number): number => {
  const runOnce = (): void => {
    try {
      run(input);
    } catch {
      // Rejecting the input is also a valid result.
    }
  };
  return cpuMs(runOnce, enoughMs);
};

/**
 * Runs a function on inputs of growing size up to its limit. Returns a problem if the CPU time grows faster than the input or is
 * too long, otherwise `undefined`. Stops at the first size that is too slow, so that the test stays short.
 */
export const growthProblem = (check: GrowthCheck): string | undefined => {
  const { make, limit, cpuMsMax } = check;
  let input = '';
  let ms = 0;
  for (const part of SIZES) {
    input = make(Math.ceil(limit * part));
    ms = time(check, input, cpuMsMax);
    if (ms > cpuMsMax) return `${ms.toFixed(0)} ms for ${input.length} characters, more than ${cpuMsMax} ms`;
  }
  const linearMs = (smallestMs: number): number => (smallestMs / SMALLEST) * SLACK;
  if (ms <= linearMs(FLOOR_MS)) return undefined;
  // Measured last, because V8 has compiled the function by then.
  const smallest = Math.max(FLOOR_MS, time(check, make(Math.ceil(limit * SMALLEST)), FLOOR_MS));
  if (ms > linearMs(smallest)) ms = time(check, input, linearMs(smallest));
  return ms > linearMs(smallest)
    ? `${ms.toFixed(0)} ms for ${input.length} characters, ${smallest.toFixed(1)} ms for an eighth of them`
    : undefined;
};
