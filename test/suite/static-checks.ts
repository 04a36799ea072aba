import { existsSync } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../cluster/run-command.ts';
import { checkCaches } from './passed-inputs.ts';

/** A check that only reads files. It counts as one test. */
interface StaticCheck {
  readonly name: string;
  /** Arguments for Node, which are a script, relative to the checkout's root, and its arguments. */
  readonly command: readonly string[];
  /** The name of its file in `checkCaches`, if the command itself does not copy it. */
  readonly kept?: string;
}

export interface CheckOutcome {
  readonly name: string;
  readonly passed: boolean;
  readonly durationMs: number;
  /** The output of the tool, which is shown if the check fails. */
  readonly output: string;
}

const ROOT = path.join(import.meta.dirname, '../..');
const TIMEOUT_MS = 20 * 60_000;

/** Some tools keep what they found here. All compare the content of files, and not their times. */
const CACHE = 'node_modules/.cache';
const typeCheck = (project: string, kept: string): Pick<StaticCheck, 'command' | 'kept'> => ({
  command: [
    ...['node_modules/typescript/bin/tsc', '-p', project],
    ...['--incremental', '--tsBuildInfoFile', `${CACHE}/standin-${kept}`],
  ],
  kept,
});

/** `lint` comes first, because it takes as long as all others in total. */
const STATIC_CHECKS: readonly StaticCheck[] = [
  { name: 'lint', command: ['test/suite/lint.ts'] },
  { name: 'generated files are current', command: ['test/suite/generated-files.ts'] },
  { name: 'types', ...typeCheck('.', 'types') },
  { name: 'types of the dashboard', ...typeCheck('dashboard', 'dashboard-types') },
  { name: 'unused code and dependencies', command: ['node_modules/knip/bin/knip.js', '--no-progress'] },
  {
    name: 'production dependencies',
    command: ['node_modules/knip/bin/knip.js', '--no-progress', '--production', '--dependencies'],
  },
  { name: 'documentation site', command: ['test/suite/build-site.ts'] },
  {
    name: 'format',
    command: [
      ...['node_modules/prettier/bin/prettier.cjs', '--check', '--log-level=warn', '.'],
      ...['--cache', '--cache-strategy=content', `--cache-location=${CACHE}/standin-format`],
    ],
  },
];

/**
 * Runs all checks, two at a time, and prints the result of each one. With `nice`, they only get CPU time that nothing else needs, so that
 * they do not disturb tests that run at the same time.
 */
export const runStaticChecks = async ({ nice = false } = {}): Promise<readonly CheckOutcome[]> => {
  const waiting = [...STATIC_CHECKS];
  const outcomes: CheckOutcome[] = [];
  const runWaiting = async (): Promise<void> => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift())
      outcomes.push(await runStaticCheck(check, nice));
  };
  await Promise.all([runWaiting(), runWaiting()]);
  return outcomes;
};

/** Runs a check and prints its line, and its complete output if it fails. */
const runStaticCheck = async ({ name, command, kept }: StaticCheck, nice: boolean): Promise<CheckOutcome> => {
  const started = performance.now();
  const { own, next } = checkCaches(kept ?? '');
  if (kept !== undefined && !existsSync(own)) await copyCache(next, own);
  const [program = '', ...args] = [...(nice ? ['nice', '-n', '19'] : []), process.execPath, ...command];
  const { code, stdout, stderr } = await runCommand(program, args, { cwd: ROOT, timeoutMs: TIMEOUT_MS });
  const outcome = {
    name,
    passed: code === 0,
    durationMs: performance.now() - started,
    output: `${stdout}${stderr}`.trim(),
  };
  if (kept !== undefined && outcome.passed) await copyCache(own, next);
  console.log(checkLine(outcome));
  if (!outcome.passed) console.log(outcome.output === '' ? `  ended with ${code}` : outcome.output);
  return outcome;
};

const copyCache = async (from: string, to: string): Promise<void> => {
  if (!existsSync(from)) return;
  await mkdir(path.dirname(to), { recursive: true });
  await copyFile(from, to);
};

export const checkLine = ({ name, passed, durationMs }: CheckOutcome): string =>
  `${passed ? '✓' : '✗'} ${name.padEnd(30)} ${(durationMs / 1000).toFixed(1)} s`;
