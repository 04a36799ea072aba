import type { Generators } from './generators.ts';

/** A function that reads third-party input. */
export interface GrowthEntry {
  /** `path#name` of the function or class. */
  readonly of: string;
  /** The number of characters of the largest input. */
  readonly limit: number;
  readonly run: (input: string) => unknown;
  /** Inputs that are hostile to this function, such as near misses of its patterns, or its own delimiters. */
  readonly near?: Generators;
  /** Uses only `near` without `TEXTS`, because another entry covers `TEXTS`, or because every byte takes the same time. */
  readonly nearOnly?: true;
  /** The limit for the largest input in milliseconds. By default, `CPU_MS_MAX`. */
  readonly cpuMsMax?: number;
}

/** The default CPU time limit for an input of the largest size. Such a delay is acceptable in a page, a request or a command. */
export const CPU_MS_MAX = 400;
