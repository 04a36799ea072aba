/**
 * `npm test` checks the requirements on this machine, builds missing programs and the images, and runs all static checks and all
 * tests. Arguments go to vitest. For example, `npm test -- gateway` runs the test files with `gateway` in their path. With
 * `--containers`, Kubernetes and ClickHouse run from Docker images instead of this repository's programs. With `--changed [BASE]`,
 * only the tests run that depend on a file that differs from BASE, which is `main` by default.
 */
import { CONTAINERS_VARIABLE } from '../harness/environment.ts';
import { describeSelection, findChanged } from './changed.ts';
import {
  filesThatWait,
  findNeeds,
  prepareDashboard,
  preparePrograms,
  takesMinutes,
  type NotRun,
} from './preparation.ts';
import { runStaticChecks, type CheckOutcome } from './static-checks.ts';
import { addCounts, limitRetries, NO_TESTS, type TestCounts } from './results.ts';
import { runVitest } from './vitest-run.ts';

const FAILURES_SHOWN = 20;
/** Flags of vitest whose value is a separate argument and not a file filter. */
const FLAGS_WITH_VALUE: readonly string[] = [
  ...['-t', '--testNamePattern', '--project', '--exclude', '--bail', '--retry', '--shard', '--changed'],
];
/** The branch with which `--changed` compares if no commit is given. */
const DEFAULT_BASE = 'main';
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

interface Choice {
  /** Parts of the paths of test files. Without filters, all files are selected. */
  readonly filters: readonly string[];
  /** All other arguments for vitest. */
  readonly flags: readonly string[];
  readonly useContainers: boolean;
  /** The value of `--changed`, which is empty if no commit is given. */
  readonly changed: string | undefined;
  /** The number of the shard, from 1. */
  readonly shard: number | undefined;
}

const parseArgs = (args: readonly string[]): Choice => {
  const isFilter = (arg: string, index: number): boolean =>
    !arg.startsWith('-') && !FLAGS_WITH_VALUE.includes(args[index - 1] ?? '');
  const isOwn = (arg: string, index: number): boolean =>
    /^--(containers|changed)(=|$)/.test(arg) || (args[index - 1] === '--changed' && !arg.startsWith('-'));
  const shard = flagValue(args, '--shard');
  return {
    filters: args.filter(isFilter),
    flags: args.filter((arg, index) => !isFilter(arg, index) && !isOwn(arg, index)),
    useContainers: args.includes('--containers'),
    changed: flagValue(args, '--changed'),
    shard: shard === undefined ? undefined : Number.parseInt(shard, 10),
  };
};

/** Returns the value of `--flag=VALUE` or `--flag VALUE`, which is empty for `--flag` alone. */
const flagValue = (args: readonly string[], flag: string): string | undefined => {
  const index = args.findIndex((arg) => arg === flag || arg.startsWith(`${flag}=`));
  if (index === -1) return undefined;
  const next = args[index + 1] ?? '';
  return args[index] === flag ? next.replace(/^-.*/, '') : args[index]?.slice(flag.length + 1);
};

/** Returns the test files that `--changed` and the filters select. Without either, returns no filters, which select all files. */
const selectFiles = async ({ changed, filters }: Choice): Promise<readonly string[]> => {
  if (changed === undefined) return filters;
  const found = await findChanged(changed === '' ? DEFAULT_BASE : changed);
  for (const line of describeSelection(found)) console.log(line);
  const files = [...found.selection.keys()];
  return filters.length === 0 ? files : files.filter((file) => filters.some((filter) => file.includes(filter)));
};

const main = async (): Promise<number> => {
  const started = performance.now();
  const choice = parseArgs(process.argv.slice(2));
  if (choice.useContainers) process.env[CONTAINERS_VARIABLE] = '1';

  const filters = await selectFiles(choice);
  const { checks, notRun, ...outcome } = await runEverything(choice, filters);
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
  if (passed + failed + skipped === 0 && choice.filters.length > 0)
    console.log(`no test file has ${choice.filters.join(' or ')} in its path`);
  console.log(`tests: ${passed} passed, ${failed} failed, ${skipped} skipped`);

  const isCi = process.env['CI'] === 'true';
  return failed > 0 || passed === 0 || (isCi && skipped > 0) ? 1 : 0;
};

interface Outcome {
  readonly checks: readonly CheckOutcome[];
  readonly tests: TestCounts;
  readonly notRun: readonly NotRun[];
}

/**
 * Runs all checks beside the selected tests. If programs must be built first, tests that do not need them run in the meantime. A
 * shard waits, because vitest divides the files of each run: two machines must pass the same files to it.
 */
const runEverything = async (choice: Choice, filters: readonly string[]): Promise<Outcome> => {
  const { flags, useContainers, changed, shard } = choice;
  if (changed !== undefined && filters.length === 0)
    return { checks: await runChecks(choice), tests: NO_TESTS, notRun: [] };

  const needs = await findNeeds(filters);
  const withoutBrowser = await prepareDashboard(needs);
  const waiting = filesThatWait(needs);
  const meanwhile = shard === undefined && (await takesMinutes(needs, useContainers));
  const preparing = preparePrograms(needs, useContainers, meanwhile ? reportStepsOnly : console.log);
  // The error is reported when the promise is awaited below.
  preparing.catch(() => undefined);
  if (!meanwhile) await preparing;

  // The tests wait most of the time. The checks use the CPU then.
  const checking = runChecks(choice);
  // The error is reported when the promise is awaited below.
  checking.catch(() => undefined);
  let tests = NO_TESTS;
  if (meanwhile) {
    console.log('Tests that do not need these programs run while they are built.');
    const stopped = new AbortController();
    for (const signal of STOP_SIGNALS) process.once(signal, () => stopped.abort());
    tests = await runVitest({ args: [...filters, ...flags, ...exclude([...waiting, ...notRunFiles(withoutBrowser)])] });
    if (stopped.signal.aborted) return { checks: [], tests, notRun: withoutBrowser };
    console.log('Waiting for the programs that the other tests need …');
  }
  const { notRun: unprepared, engine } = await preparing;
  const notRun = [...withoutBrowser, ...unprepared];
  // Filters come first, because a flag with an optional value, such as -u, would take the first filter as its value.
  const args = [...(meanwhile ? waiting : filters), ...flags, ...exclude(notRunFiles(notRun))];
  tests = addCounts(tests, await runVitest({ args }).finally(() => engine?.stop()));
  return { checks: await checking, tests, notRun };
};

/** Runs the static checks, unless the user selects files. The first shard runs them for all. */
const runChecks = async ({ filters, shard = 1 }: Choice): Promise<readonly CheckOutcome[]> => {
  if (filters.length > 0) console.log('Static checks are skipped because files are selected.');
  return filters.length > 0 || shard !== 1 ? [] : runStaticChecks({ nice: true });
};

const notRunFiles = (notRun: readonly NotRun[]): readonly string[] => notRun.flatMap(({ files }) => files);

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
