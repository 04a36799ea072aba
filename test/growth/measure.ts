import process from 'node:process';

/** The sizes of the inputs as fractions of the largest size. */
const SIZES = [1 / 8, 1 / 4, 1 / 2, 1] as const;
/**
 * The factor by which the time may exceed linear growth because of caches, garbage collection and a busy machine. The time of a
 * quadratic function grows 8 times as much as that of a linear function.
 */
const SLACK = 4;
/** The shortest time that counts. Shorter times cannot be measured reliably and do not block other requests. */
const FLOOR_MS = 5;
/**
 * The number of measurements per size. The shortest measurement counts, because other work on the machine only makes measurements
 * longer.
 */
const RUNS = 3;

/** Returns the CPU time of this thread, which excludes other processes and threads. */
const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

export interface GrowthCheck {
  readonly run: (input: string) => unknown;
  readonly make: (length: number) => string;
  /** The number of characters of the largest input. */
  readonly limit: number;
  /** The limit for the largest input in milliseconds. */
  readonly cpuMsMax: number;
}

const timeOnce = ({ run }: GrowthCheck, input: string): number => {
  const started = cpuMs();
  try {
    run(input);
  } catch {
    // Rejecting the input is also a valid result.
  }
  return cpuMs() - started;
};

/** Returns the shortest time of a few runs in milliseconds. Stops at the first run that takes no more than `enoughMs`. */
const time = (check: GrowthCheck, input: string, enoughMs: number): number => {
  let shortest = Infinity;
  for (let run = 0; run < RUNS && shortest > enoughMs; run += 1) shortest = Math.min(shortest, timeOnce(check, input));
  return shortest;
};

/**
 * Runs a function on inputs of doubling size up to its limit. Returns a problem if the CPU time grows faster than the input or is
 * too long for the largest input, otherwise `undefined`. Stops at the first size that is too slow, so that the test stays short.
 */
export const growthProblem = (check: GrowthCheck): string | undefined => {
  const { make, limit, cpuMsMax } = check;
  let smallest = 0;
  for (const part of SIZES) {
    const input = make(Math.ceil(limit * part));
    // The first runs also include the time to compile the function.
    if (part === SIZES[0]) smallest = Math.max(FLOOR_MS, time(check, input, FLOOR_MS));
    const linearMs = part === 1 ? smallest * (1 / SIZES[0]) * SLACK : cpuMsMax;
    const ms = time(check, input, Math.min(linearMs, cpuMsMax));
    if (ms > cpuMsMax) return `${ms.toFixed(0)} ms for ${input.length} characters, more than ${cpuMsMax} ms`;
    if (ms > linearMs)
      return `${ms.toFixed(0)} ms for ${input.length} characters, ${smallest.toFixed(1)} ms for an eighth of them`;
  }
  return undefined;
};
