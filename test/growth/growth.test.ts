import { describe, expect, it } from 'vitest';
import { CPU_MS_MAX } from './entry.ts';
import { TEXTS } from './generators.ts';
import { growthProblem } from './measure.ts';
import { GROWTH_ENTRIES } from './registry.ts';

/** The limit in wall-clock time, which is a multiple of the measured CPU time on a busy machine. */
const TIMEOUT_MS = 10 * 60_000;

describe('the growth check', { timeout: TIMEOUT_MS }, () => {
  const quadratic = (text: string): number => {
    let found = 0;
    for (let at = 0; at < text.length; at += 50) found += text.slice(at).split('').length;
    return found;
  };

  // Without this test, all tests below could pass because the check never reports a slow function.
  it('detects a function that takes quadratic time and a function that exceeds its time limit', () => {
    const make = (length: number): string => 'a'.repeat(length);
    expect(growthProblem({ run: quadratic, make, limit: 100_000, cpuMsMax: 60_000 })).toMatch(/an eighth of them$/);
    expect(growthProblem({ run: quadratic, make, limit: 32_000, cpuMsMax: 1 })).toMatch(/more than 1 ms$/);
    expect(growthProblem({ run: (text) => text.split(''), make, limit: 32_000, cpuMsMax: 1_000 })).toBeUndefined();
  });
});

describe('CPU time grows at most linearly with the size of hostile input in', { timeout: TIMEOUT_MS }, () => {
  it.each(GROWTH_ENTRIES.map((entry) => [entry.of, entry] as const))('%s', (_, entry) => {
    const { run, limit, near = {}, nearOnly = false, cpuMsMax = CPU_MS_MAX } = entry;
    const problems = Object.entries({ ...(nearOnly ? {} : TEXTS), ...near }).flatMap(([name, make]) => {
      const problem = growthProblem({ run, make, limit, cpuMsMax });
      return problem === undefined ? [] : [`${name}: ${problem}`];
    });
    expect(problems).toEqual([]);
  });
});
