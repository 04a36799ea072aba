/**
 * `npm test` checks the requirements on this machine, builds missing programs and the images, and runs all static checks and all
 * tests. Arguments go to vitest. For example, `npm test -- gateway` runs the test files with `gateway` in their path. With
 * `--containers`, Kubernetes and ClickHouse run from Docker images instead of this repository's programs.
 */
import { CONTAINERS_VARIABLE } from '../harness/environment.ts';
import {
  filesThatWait,
  findNeeds,
  prepareDashboard,
  preparePrograms,
  takesMinutes,
  type Needs,
  type NotRun,
} from './preparation.ts';
import { addCounts, limitRetries, NO_TESTS, type TestCounts } from './results.ts';
import { runStaticChecks, type CheckOutcome } from './static-checks.ts';
import { runVitest } from './vitest-run.ts';

const FAILURES_SHOWN = 20;
/** Flags of vitest whose value is a separate argument and not a file filter. */
const FLAGS_WITH_VALUE: readonly string[] = ['-t', '--testNamePattern', '--project', '--exclude', '--bail', '--retry'];
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

interface Choice {
  /** Parts of the paths of test files. Without filters, all files are selected. */
  readonly filters: readonly string[];
  /** All other arguments for vitest. */
  readonly flags: readonly string[];
  readonly useContainers: boolean;
}

const parseArgs = (args: readonly string[]): Choice => {
  const isFilter = (arg: string, index: number): boolean =>
    !arg.startsWith('-') && !FLAGS_WITH_VALUE.includes(args[index - 1] ?? '');
  return {
    filters: args.filter(isFilter),
    flags: args.filter((arg, index) => !isFilter(arg, index) && arg !== '--containers'),
    useContainers: args.includes('--containers'),
  };
};

const main = async (): Promise<number> => {
  const started = performance.now();
  const choice = parseArgs(process.argv.slice(2));
  if (choice.useContainers) process.env[CONTAINERS_VARIABLE] = '1';

  const needs = await findNeeds(choice.filters);
  const withoutBrowser = await prepareDashboard(needs);
  const { checks, notRun, ...outcome } = await runEverything(choice, needs, withoutBrowser);
  const tests = limitRetries(outcome.tests);

  const failedChecks = checks.filter(({ passed }) => !passed);
  const failures = [...failedChecks.map(({ name }) => name), ...tests.failures];
  const passed = checks.length - failedChecks.length + tests.passed;
  const failed = failedChecks.length + tests.failed;
  const skipped = tests.skipped + notRun.reduce((sum, { files }) => sum + files.length, 0);

  console.log(`\n── npm test, ${Math.round((performance.now() - started) / 1000)} s ──`);
  for (const failure of failures.slice(0, FAILURES_SHOWN)) console.log(`✗ ${failure}`);
  if (failures.length > FAILURES_SHOWN) console.log(`✗ … and ${failures.length - FAILURES_SHOWN} more`);
  for (const { name, firstFailure } of tests.retried)
    console.log(`passed only after a retry: ${name}\n  ${firstFailure.replaceAll('\n', '\n  ')}`);
  for (const { files, reason } of notRun) console.log(`not run on this machine: ${files.join(', ')}\n  ${reason}`);
  if (passed + failed + skipped === 0) console.log(`no test file has ${choice.filters.join(' or ')} in its path`);
  console.log(`tests: ${passed} passed, ${failed} failed, ${skipped} skipped`);

  const isCi = process.env['CI'] === 'true';
  return failed > 0 || passed === 0 || (isCi && skipped > 0) ? 1 : 0;
};

interface Outcome {
  readonly checks: readonly CheckOutcome[];
  readonly tests: TestCounts;
  readonly notRun: readonly NotRun[];
}

/** Runs all checks and tests. If programs must be built first, tests that do not need them run in the meantime. */
const runEverything = async (choice: Choice, needs: Needs, withoutBrowser: readonly NotRun[]): Promise<Outcome> => {
  const { filters, flags, useContainers } = choice;
  const waiting = filesThatWait(needs);
  const meanwhile = await takesMinutes(needs, useContainers);
  const preparing = preparePrograms(needs, useContainers, meanwhile ? reportStepsOnly : console.log);
  // The error is reported when the promise is awaited below.
  preparing.catch(() => undefined);
  if (!meanwhile) await preparing;

  if (filters.length > 0) console.log('Static checks are skipped because files are selected.');
  const checks = filters.length > 0 ? [] : await runStaticChecks();

  let tests = NO_TESTS;
  if (meanwhile) {
    console.log('Tests that do not need these programs run while they are built.');
    const stopped = new AbortController();
    for (const signal of STOP_SIGNALS) process.once(signal, () => stopped.abort());
    tests = await runVitest({ args: [...filters, ...flags, ...exclude([...waiting, ...filesOf(withoutBrowser)])] });
    if (stopped.signal.aborted) return { checks, tests, notRun: withoutBrowser };
    console.log('Waiting for the programs that the other tests need …');
  }
  const { notRun: unprepared, engine } = await preparing;
  const notRun = [...withoutBrowser, ...unprepared];
  // Filters come first, because a flag with an optional value, such as -u, would take the first filter as its value.
  const args = [...(meanwhile ? waiting : filters), ...flags, ...exclude(filesOf(notRun))];
  tests = addCounts(tests, await runVitest({ args }).finally(() => engine?.stop()));
  return { checks, tests, notRun };
};

const filesOf = (notRun: readonly NotRun[]): readonly string[] => notRun.flatMap(({ files }) => files);

const exclude = (files: readonly string[]): readonly string[] => files.flatMap((file) => ['--exclude', file]);

/** Prints a line unless it is an indented progress line of a step, because vitest already shows progress. */
const reportStepsOnly = (line: string): void => {
  if (!line.startsWith(' ')) console.log(line);
};

main().then(
  // Exits without waiting for unfinished builds, which are no longer needed.
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    console.log('tests: 0 passed, 1 failed, 0 skipped');
    process.exit(1);
  },
);
