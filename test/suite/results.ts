import path from 'node:path';
import { z } from 'zod';
import { ROOT } from './source-files.ts';

export const RESULTS_FILE = path.join(ROOT, 'test/.results/vitest.json');

const fileResultSchema = z.object({
  /** The path relative to the checkout. */
  file: z.string(),
  /** The project in `vitest.config.ts`. */
  project: z.string(),
  /** Whether the file itself or one of its tests failed. */
  hasFailed: z.boolean(),
  seconds: z.number(),
  /** The CPU time of the file and of the processes that it started, except those of the browser's pages. Absent for unit tests. */
  cpuSeconds: z.number().optional(),
  tests: z.array(
    z.object({
      name: z.string(),
      state: z.string(),
      retries: z.number(),
      /** The messages of all attempts, also of those before a retry that passed. */
      errors: z.array(z.string()),
    }),
  ),
});
/** The results of a run of vitest. */
export const resultsSchema = z.object({ files: z.array(fileResultSchema) });

export type FileResult = z.infer<typeof fileResultSchema>;
export type Results = z.infer<typeof resultsSchema>;

export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** `FILE > NAME` of each failed test, or only FILE if the file itself failed. */
  readonly failures: readonly string[];
  /** `FILE > NAME` of each test that passed only after a retry, and the message of its first attempt. */
  readonly retried: readonly { readonly name: string; readonly firstFailure: string }[];
}

/** A machine can be too busy for a test now and then. More retries than these in one run are a fault of the tests or the code. */
const RETRIED_MAX = 3;

export const NO_TESTS: TestCounts = { passed: 0, failed: 0, skipped: 0, failures: [], retried: [] };

/** Returns the sum of the counts of two runs with different files. */
export const addCounts = (one: TestCounts, other: TestCounts): TestCounts => ({
  passed: one.passed + other.passed,
  failed: one.failed + other.failed,
  skipped: one.skipped + other.skipped,
  failures: [...one.failures, ...other.failures],
  retried: [...one.retried, ...other.retried],
});

export const withFailure = (counts: TestCounts, failure: string): TestCounts => ({
  ...counts,
  failed: counts.failed + 1,
  failures: [...counts.failures, failure],
});

/** Counts the tests of a run. A file that itself failed counts as one failure. */
export const countResults = ({ files }: Results): TestCounts => {
  const tests = files.flatMap(({ file, tests: inFile }) =>
    inFile.map((test) => ({ ...test, name: `${file} > ${test.name}` })),
  );
  const failures = [
    ...tests.filter(({ state }) => state === 'failed').map(({ name }) => name),
    ...files
      .filter((file) => file.hasFailed && !file.tests.some(({ state }) => state === 'failed'))
      .map(({ file }) => file),
  ];
  const passed = tests.filter(({ state }) => state === 'passed');
  return {
    passed: passed.length,
    failed: failures.length,
    skipped: tests.filter(({ state }) => state !== 'passed' && state !== 'failed').length,
    failures,
    retried: passed
      .filter(({ retries }) => retries > 0)
      .map(({ name, errors: [firstFailure = 'The failure has no message.'] }) => ({ name, firstFailure })),
  };
};

/** Adds a failure if more tests passed only after a retry than a run may have. */
export const limitRetries = (counts: TestCounts): TestCounts =>
  counts.retried.length <= RETRIED_MAX
    ? counts
    : withFailure(
        counts,
        `${counts.retried.length} tests passed only after a retry, and at most ${RETRIED_MAX} may: fix the causes of their first failures, listed below`,
      );
