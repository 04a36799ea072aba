import process from 'node:process';

/** The largest input is so many times as long as the smallest. */
const SIZES = [1 / 8, 1 / 4, 1 / 2, 1] as const;
/** How much more than linear a time may grow: caches, garbage, a busy machine. A quadratic function takes 8 times as long as a linear one. */
const SLACK = 4;
/** Less is not measured reliably, and blocks no request. */
const FLOOR_MS = 5;
/** Measurements of one size, of which the shortest counts: whatever else happens on a machine only makes them longer. */
const RUNS = 3;

/** CPU time of this thread: neither other processes nor other threads count. */
const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

export interface GrowthCheck {
  readonly run: (input: string) => unknown;
  readonly make: (length: number) => string;
  /** Characters of the largest input that the function ever gets. */
  readonly limit: number;
  /** For that input. */
  readonly cpuMsMax: number;
}

const timeOnce = ({ run }: GrowthCheck, input: string): number => {
  const started = cpuMs();
  try {
    run(input);
  } catch {
    // A refusal is an answer, too.
  }
  return cpuMs() - started;
};

/** The shortest of a few runs; of one that is short enough at once, that one. */
const time = (check: GrowthCheck, input: string, enoughMs: number): number => {
  let shortest = Infinity;
  for (let run = 0; run < RUNS && shortest > enoughMs; run += 1) shortest = Math.min(shortest, timeOnce(check, input));
  return shortest;
};

/**
 * Runs a function on inputs of doubling size up to its limit. Returns what is wrong: CPU time that grows faster than the input, or that
 * is too long for the largest. `undefined` where nothing is. A size that is too slow already ends it, so that the test stays short.
 */
export const growthProblem = (check: GrowthCheck): string | undefined => {
  const { make, limit, cpuMsMax } = check;
  let smallest = 0;
  for (const part of SIZES) {
    const input = make(Math.ceil(limit * part));
    // The first runs also compile the function.
    if (part === SIZES[0]) smallest = Math.max(FLOOR_MS, time(check, input, FLOOR_MS));
    const linearMs = part === 1 ? smallest * (1 / SIZES[0]) * SLACK : cpuMsMax;
    const ms = time(check, input, Math.min(linearMs, cpuMsMax));
    if (ms > cpuMsMax) return `${ms.toFixed(0)} ms for ${input.length} characters, more than ${cpuMsMax} ms`;
    if (ms > linearMs)
      return `${ms.toFixed(0)} ms for ${input.length} characters, ${smallest.toFixed(1)} ms for an eighth of them`;
  }
  return undefined;
};
