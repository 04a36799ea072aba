import process from 'node:process';

/** The sizes of the inputs as fractions of the largest size. */
const SIZES = [1 / 8, 1 / 4, 1 / 2, 1] as const;
/**
 * How much faster than linear the time may grow because of caches, garbage collection and a busy machine. A quadratic function's time grows
 * 8 times as much as a linear one's.
 */
const SLACK = 4;
/** Shorter times cannot be measured reliably and do not block other requests. */
const FLOOR_MS = 5;
/** Measurements per size. The shortest one counts, because other work on the machine only makes them longer. */
const RUNS = 3;

/** CPU time of this thread. It excludes other processes and threads. */
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

/** The time of the shortest of a few runs, or of the first run if that is short enough. */
const time = (check: GrowthCheck, input: string, enoughMs: number): number => {
  let shortest = Infinity;
  for (let run = 0; run < RUNS && shortest > enoughMs; run += 1) shortest = Math.min(shortest, timeOnce(check, input));
  return shortest;
};

/**
 * Runs a function on inputs of doubling size up to its limit. Returns the problem: CPU time that grows faster than the input, or that is
 * too long for the largest input. `undefined` if there is none. It stops at the first size that is too slow, so that the test stays short.
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
