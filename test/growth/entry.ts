import type { Generators } from './generators.ts';

/** A function that reads what a stranger wrote. */
export interface GrowthEntry {
  /** `path#name` of the function or class. */
  readonly of: string;
  /** Characters of the largest input that it ever gets. */
  readonly limit: number;
  readonly run: (input: string) => unknown;
  /** What is hostile to this function: near misses of its patterns, its own delimiters. */
  readonly near?: Generators;
  /** `near` alone, without `TEXTS`: another entry has these, or each byte costs the same whatever it is. */
  readonly nearOnly?: true;
  /** For the largest input; without it, `CPU_MS_MAX`. */
  readonly cpuMsMax?: number;
}

/** What an input of the largest size may cost: a delay of this length in a page, a request or a command goes unnoticed. */
export const CPU_MS_MAX = 400;
