/** The CPU time of `reference` in milliseconds, on an idle core of the machine that the limits in tests are meant for. */
const REFERENCE_MS = 50;
const RUNS = 5;

const VALUES = Array.from({ length: 5_000 }, (_, index) => ({ id: `value-${index}`, parts: [index, index / 3] }));

const reference = (): void => {
  for (let turn = 0; turn < 20; turn += 1) {
    const sums = new Map<string, number>();
    for (const { id, parts } of JSON.parse(JSON.stringify(VALUES)) as typeof VALUES)
      for (const part of parts) sums.set(id, (sums.get(id) ?? 0) + part);
  }
};

/** Returns the shortest of several CPU times of this thread. Stops at the first one below `enoughMs`. */
const shortestMs = (work: () => unknown, enoughMs: number): number => {
  let shortest = Infinity;
  for (let run = 0; run < RUNS && shortest >= enoughMs; run += 1) {
    const before = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(before);
    shortest = Math.min(shortest, (user + system) / 1_000);
  }
  return shortest;
};

/**
 * Returns the CPU time that a call needs in milliseconds, as the shortest of several calls, because V8 has not compiled the code at
 * first. Stops at the first call that takes less than `maxMs`. If none does, the result is corrected by how much slower than usual the
 * machine is, for example because other work shares its cores.
 */
export const cpuMs = (work: () => unknown, maxMs: number): number => {
  const ms = shortestMs(work, maxMs);
  return ms < maxMs ? ms : ms / Math.max(1, shortestMs(reference, 0) / REFERENCE_MS);
};
