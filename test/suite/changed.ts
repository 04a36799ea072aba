import path from 'node:path';
import { runCommand } from '../cluster/run-command.ts';
import { findReferences, foldersAbove, type References } from './references.ts';
import { ROOT, sourceFiles, type SourceFile } from './source-files.ts';

/** Maps each test file that a change can reach to the path from the change to the test: the changed file first, the test last. */
export type Selection = ReadonlyMap<string, readonly string[]>;

/** Maps what reads the whole checkout to the files that it reads. */
const READ_EVERYTHING: ReadonlyMap<string, RegExp> = new Map([
  ['test/suite/source-files.ts', /./],
  // See .dockerignore.
  [
    'Dockerfile',
    /^(packages|crds\/src|crds\/examples|operator|gateway|dashboard|cli)\/(?!(.*\/)?testdata\/).*(?<!\.test|\.testing)\.(?!md$)\w+$/,
  ],
]);

/** Every test depends on these. */
const READ_BY_EVERY_TEST: readonly string[] = [
  ...['vitest.config.ts', 'test/harness/setup.ts'],
  ...['package.json', 'package-lock.json', 'tsconfig.json'],
];

/** Only the static checks read these. */
const FOR_STATIC_CHECKS = /^(eslint|prettier|knip)\.config\.[jt]s$|^\.(prettierignore|gitignore)$/;

/** `npm test` runs none of these. */
const REHEARSAL = 'test/rehearsal/';

const isTest = (file: string): boolean => file.endsWith('.test.ts');

/**
 * Returns the test files that can depend on the changed files. A file that nothing imports or names may be read by everything that
 * uses its workspace, or in the root by every test. Pages that no test names are the exception.
 *
 * @param known The paths of all files, including deleted ones.
 */
export const selectTests = (
  changed: readonly string[],
  files: readonly SourceFile[],
  known: ReadonlySet<string>,
): Selection => {
  const { byPath, byName } = findReferences(files, known);
  const commands = commandFiles(files);
  const ways = new Map<string, readonly string[]>(changed.map((file) => [file, [file]]));
  for (const [reader, isRead] of READ_EVERYTHING) {
    const file = changed.find((candidate) => isRead.test(candidate));
    if (file !== undefined && !ways.has(reader)) ways.set(reader, [file, reader]);
  }
  // The loop also visits the files that it adds.
  for (const [file, way] of ways) {
    // Only another test can depend on the text of a test, and nothing on its result.
    if (isTest(file) && way.length > 1) continue;
    const targets = [file, ...foldersAbove(file)].filter((target) => byPath.has(target));
    const readers = targets
      .flatMap((target) => [...(byPath.get(target) ?? [])])
      .filter((reader) => (isTest(file) ? isTest(reader) : !isMention(file, reader)));
    if (READ_BY_EVERY_TEST.includes(file)) readers.push(...known);
    if (targets.length === 0 && !isTest(file) && !commands.has(file))
      readers.push(...possibleReaders(file, known, byName));
    for (const reader of readers) if (!ways.has(reader)) ways.set(reader, [...way, reader]);
  }
  const tests = files.map(({ path: file }) => file).filter((file) => isTest(file) && !file.startsWith(REHEARSAL));
  return new Map(tests.map((file) => [file, ways.get(file) ?? []] as const).filter(([, way]) => way.length > 0));
};

/** Returns whether a file only refers its users to a page. No process reads pages. */
const isMention = (file: string, reader: string): boolean =>
  file.endsWith('.md') && /\/(src|app)\//.test(reader) && !isTest(reader);

/** Returns what may read a file that nothing imports and whose path no string contains. */
const possibleReaders = (file: string, known: ReadonlySet<string>, byName: References['byName']): readonly string[] => {
  if (FOR_STATIC_CHECKS.test(file)) return [];
  const name = path.posix.basename(file);
  const isUnique = [...known].filter((other) => path.posix.basename(other) === name).length === 1;
  const naming = isUnique ? [...(byName.get(name) ?? [])].filter((reader) => !isMention(file, reader)) : [];
  if (file.endsWith('.md')) return naming;
  // The workspace, the folder of `test/`, or the root.
  const depth = /^(test|packages)\/.+\//.test(file) ? 2 : 1;
  const scope = file.includes('/') ? `${file.split('/').slice(0, depth).join('/')}/` : '';
  return [...naming, ...[...known].filter((other) => other.startsWith(scope))];
};

/** Returns the files that scripts of package.json run. People run them, and not tests, if no test names them. */
const commandFiles = (files: readonly SourceFile[]): ReadonlySet<string> => {
  const { text = '{}' } = files.find(({ path: file }) => file === 'package.json') ?? {};
  const { scripts = {} } = JSON.parse(text) as { scripts?: Record<string, string> };
  return new Set(Object.values(scripts).flatMap((script) => script.split(' ')));
};

export interface Changed {
  /** The commit that is the basis of the comparison. */
  readonly start: string;
  readonly changed: readonly string[];
  readonly selection: Selection;
}

/** Returns the test files that the changes since a commit can reach, including changes that are not committed. */
export const findChanged = async (base: string): Promise<Changed> => {
  const start = await commonCommit(base);
  const changed = [
    ...(await git('diff', '--name-only', '--no-renames', start)),
    ...(await git('ls-files', '--others', '--exclude-standard')),
  ];
  const known = new Set([...(await git('ls-files')), ...changed]);
  return { start, changed, selection: selectTests(changed, sourceFiles(), known) };
};

/** Returns the last commit that HEAD and `base` have in common, so that later commits of `base` do not count as changes. */
const commonCommit = async (base: string): Promise<string> => {
  const [commit] = await git('merge-base', base, 'HEAD').catch(() => []);
  if (commit !== undefined) return commit;
  throw new Error(
    `--changed needs a commit or a branch, and git finds no common commit of HEAD and ${base}. Run: npm test -- --changed BASE`,
  );
};

/** Returns the lines that git prints. */
const git = async (...args: readonly string[]): Promise<readonly string[]> => {
  const { code, stdout, stderr } = await runCommand('git', ['-c', 'core.quotePath=false', ...args], { cwd: ROOT });
  if (code !== 0) throw new Error(`git ${args.join(' ')} failed: ${stderr.trim()}`);
  return stdout.split('\n').filter((line) => line !== '');
};

/** Describes a selection: a line for each test file, with the changed file and the file through which the test depends on it. */
export const describeSelection = ({ start, changed, selection }: Changed): readonly string[] => [
  `${changed.length} files differ from ${start.slice(0, 10)}. ${selection.size} test files depend on them:`,
  ...[...selection].map(([file, way]) => {
    const steps = way.slice(0, -1).reverse();
    return steps.length === 0
      ? `  ${file} (changed)`
      : `  ${file} ← ${steps.length > 2 ? `${steps[0] ?? ''} ← … ← ${steps.at(-1) ?? ''}` : steps.join(' ← ')}`;
  }),
];
