import { describe, expect, it } from 'vitest';
import { addCounts, countResults, limitRetries, NO_TESTS, type FileResult, type TestCounts } from './results.ts';

type TestResult = FileResult['tests'][number];

const passed = (name: string): TestResult => ({ name, state: 'passed', retries: 0, errors: [] });
const retried = (name: string): TestResult => ({
  name,
  state: 'passed',
  retries: 1,
  errors: [`no ${name} yet`, 'later'],
});

const fileWith = (...tests: TestResult[]): FileResult => ({
  file: 'test/e2e/a.test.ts',
  project: 'integration',
  hasFailed: tests.some(({ state }) => state === 'failed'),
  seconds: 1,
  tests,
});

/** Returns the counts of a run in which this many tests passed only after a retry. */
const withRetries = (count: number): TestCounts =>
  countResults({
    files: [fileWith(passed('x'), ...Array.from({ length: count }, (_, index) => retried(String(index))))],
  });

describe('the results of a run', () => {
  it('count tests by state', () => {
    const failed = { name: 'b', state: 'failed', retries: 1, errors: ['first', 'second'] };
    const skipped = { name: 'c', state: 'skipped', retries: 0, errors: [] };
    expect(countResults({ files: [fileWith(passed('a'), failed, skipped)] })).toEqual({
      passed: 1,
      failed: 1,
      skipped: 1,
      failures: ['test/e2e/a.test.ts > b'],
      retried: [],
    });
  });

  it('count a file that failed itself as one failure', () => {
    const counts = countResults({ files: [{ ...fileWith(passed('a')), hasFailed: true }] });
    expect(counts).toMatchObject({ passed: 1, failed: 1, failures: ['test/e2e/a.test.ts'] });
  });

  it('contain the first failure of a test that passed after a retry', () => {
    expect(countResults({ files: [fileWith(retried('order'))] }).retried).toEqual([
      { name: 'test/e2e/a.test.ts > order', firstFailure: 'no order yet' },
    ]);
  });

  it('are a failure from the fourth test that passed only after a retry', () => {
    expect(limitRetries(NO_TESTS)).toEqual(NO_TESTS);
    expect(limitRetries(withRetries(3))).toEqual(withRetries(3));
    expect(limitRetries(withRetries(4))).toMatchObject({ passed: 5, failed: 1 });
    expect(limitRetries(withRetries(4)).failures[0]).toContain('4 tests passed only after a retry');
  });

  it('of two runs have one limit for retries', () => {
    expect(limitRetries(addCounts(withRetries(2), withRetries(2))).failed).toBe(1);
  });
});
