import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';

export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** `FILE > NAME` of each failed test, or only FILE if the file itself failed. */
  readonly failures: readonly string[];
  /** `FILE > NAME` of each test that passed only after a retry. */
  readonly flaky: readonly string[];
}

export interface VitestOptions {
  /** File filters and flags, as on vitest's command line. */
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly quiet?: boolean;
}

const ROOT = path.join(import.meta.dirname, '../..');
const RESULTS_FILE = path.join(ROOT, 'test/.results/vitest.json');
/**
 * The folder of Node's cache of compiled sources. Tests start hundreds of processes, and the cache more than halves the CPU time
 * of a command.
 */
const COMPILE_CACHE = path.join(ROOT, 'node_modules/.cache/standin-tests');
/** About twice the time that the whole suite takes. A run that takes longer has hung. */
const TIMEOUT_MS = 60 * 60_000;
const KILL_AFTER_MS = 10_000;

/** The part of vitest's JSON report (Jest's format) that is used for the counts. */
const report = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      assertionResults: z.array(
        z.object({
          fullName: z.string(),
          status: z.string(),
          meta: z.object({ retryCount: z.number().optional() }).default({}),
        }),
      ),
    }),
  ),
});

export const NO_TESTS: TestCounts = { passed: 0, failed: 0, skipped: 0, failures: [], flaky: [] };

/** Returns the sum of the counts of two runs with different files. */
export const addCounts = (one: TestCounts, other: TestCounts): TestCounts => ({
  passed: one.passed + other.passed,
  failed: one.failed + other.failed,
  skipped: one.skipped + other.skipped,
  failures: [...one.failures, ...other.failures],
  flaky: [...one.flaky, ...other.flaky],
});

/** Runs vitest, passes its output through, and counts the results. A file that itself failed counts as one failure. */
export const runVitest = async ({ args, env = process.env, quiet = false }: VitestOptions): Promise<TestCounts> => {
  await mkdir(path.dirname(RESULTS_FILE), { recursive: true });
  await rm(RESULTS_FILE, { force: true });
  const reporters = [
    `--reporter=${quiet ? 'minimal' : 'default'}`,
    '--reporter=json',
    `--outputFile.json=${RESULTS_FILE}`,
  ];
  const command = ['node_modules/vitest/vitest.mjs', 'run', '--passWithNoTests', ...reporters, ...args];
  // Uses a separate process group, so that a hung run can be ended with all its workers.
  const child = spawn(process.execPath, command, {
    cwd: ROOT,
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...env },
    ...{ stdio: 'inherit', detached: true },
  });
  const signalGroup = (signal: NodeJS.Signals): void => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, signal);
  };
  const limit = new AbortController();
  const timer = setTimeout(() => {
    limit.abort();
    signalGroup('SIGTERM');
    setTimeout(() => signalGroup('SIGKILL'), KILL_AFTER_MS).unref();
  }, TIMEOUT_MS);
  const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of stopSignals) process.on(signal, signalGroup);
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(timer);
  for (const signal of stopSignals) process.off(signal, signalGroup);

  const counts = await countResults();
  if (limit.signal.aborted) return withFailure(counts, `vitest did not finish within ${TIMEOUT_MS / 60_000} minutes`);
  // Unhandled errors and failed teardowns belong to no test.
  if (code !== 0 && counts.failed === 0)
    return withFailure(counts, `vitest ended with ${code ?? 'a signal'}; see above`);
  return counts;
};

const withFailure = (counts: TestCounts, failure: string): TestCounts => ({
  ...counts,
  failed: counts.failed + 1,
  failures: [...counts.failures, failure],
});

const countResults = async (): Promise<TestCounts> => {
  const text = await readFile(RESULTS_FILE, 'utf8').catch(() => '{"testResults":[]}');
  const files = report.parse(JSON.parse(text)).testResults;
  const tests = files.flatMap((file) =>
    file.assertionResults.map((test) => ({ ...test, name: `${path.relative(ROOT, file.name)} > ${test.fullName}` })),
  );
  const failures = [
    ...tests.filter((test) => test.status === 'failed').map((test) => test.name),
    ...files
      .filter((file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'))
      .map((file) => path.relative(ROOT, file.name)),
  ];
  const passed = tests.filter((test) => test.status === 'passed').length;
  const flaky = tests.filter(({ status, meta }) => status === 'passed' && (meta.retryCount ?? 0) > 0);
  const skipped = tests.filter((test) => test.status !== 'passed' && test.status !== 'failed').length;
  return { passed, failed: failures.length, skipped, failures, flaky: flaky.map(({ name }) => name) };
};
