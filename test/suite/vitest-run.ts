import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { countResults, RESULTS_FILE, resultsSchema, withFailure, type TestCounts } from './results.ts';
import { ROOT } from './source-files.ts';

export interface VitestOptions {
  /** File filters and flags, as on vitest's command line. */
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly quiet?: boolean;
}

const REPORTER = 'test/suite/results-reporter.ts';
/**
 * The folder of Node's cache of compiled sources. Tests start hundreds of processes, and the cache more than halves the CPU time
 * of a command.
 */
const COMPILE_CACHE = path.join(ROOT, 'node_modules/.cache/standin-tests');
/** CI ends a run after 90 minutes. A run that takes longer than this has hung, or the machine is much slower than usual. */
const TIMEOUT_MS = 80 * 60_000;
const KILL_AFTER_MS = 10_000;

/** Runs vitest, passes its output through, and counts the results. */
export const runVitest = async ({ args, env = process.env, quiet = false }: VitestOptions): Promise<TestCounts> => {
  await mkdir(path.dirname(RESULTS_FILE), { recursive: true });
  await rm(RESULTS_FILE, { force: true });
  const reporters = [`--reporter=${quiet ? 'minimal' : 'default'}`, `--reporter=${path.join(ROOT, REPORTER)}`];
  const command = ['node_modules/vitest/vitest.mjs', 'run', '--passWithNoTests', ...reporters, ...args];
  // Uses a separate process group, so that a hung run can be ended with all its workers.
  const child = spawn(process.execPath, command, {
    cwd: ROOT,
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...env },
    stdio: 'inherit',
    detached: true,
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

  const text = await readFile(RESULTS_FILE, 'utf8').catch(() => '{"files":[]}');
  const counts = countResults(resultsSchema.parse(JSON.parse(text)));
  if (limit.signal.aborted) return withFailure(counts, `vitest did not finish within ${TIMEOUT_MS / 60_000} minutes`);
  // Unhandled errors and failed teardowns belong to no test.
  if (code !== 0 && counts.failed === 0)
    return withFailure(counts, `vitest ended with ${code ?? 'a signal'}; see above`);
  return counts;
};
