/**
 * `npm run times` prints where the time of the last `npm test` or `npm run check` went: a line for each test file, the slowest first.
 * `npm run times -- 50` prints 50 lines instead of 30.
 */
import { readFile } from 'node:fs/promises';
import { reachableModules } from './cluster-needs.ts';
import { RESULTS_FILE, resultsSchema, type FileResult } from './results.ts';

/** Maps what a test may wait for to the module with which it does so. */
const WAITS: Readonly<Record<string, string>> = {
  images: 'test/cluster/images.ts',
  node: 'test/cluster/node/start-node.ts',
  browser: 'test/harness/browser.ts',
  'own API server': 'test/harness/cluster.ts',
  'shared API server': 'test/harness/shared-cluster.ts',
  Helm: 'test/harness/helm.ts',
  ClickHouse: 'test/harness/clickhouse.ts',
  processes: 'test/harness/processes.ts',
  commands: 'test/cluster/run-command.ts',
};

const lineFor = async ({ file, project, seconds, cpuSeconds }: FileResult): Promise<string> => {
  const modules = await reachableModules(file);
  const waits = Object.keys(WAITS).filter((part) => modules.has(WAITS[part] ?? ''));
  const cpu = cpuSeconds === undefined ? '-' : cpuSeconds.toFixed(1);
  return `${seconds.toFixed(1).padStart(8)} ${cpu.padStart(8)}  ${project.padEnd(18)} ${file}  ${waits.join(', ')}`;
};

const text = await readFile(RESULTS_FILE, 'utf8').catch(() => {
  throw new Error(`${RESULTS_FILE} does not exist. Run npm test first.`);
});
const files = resultsSchema.parse(JSON.parse(text)).files.toSorted((one, other) => other.seconds - one.seconds);
const sum = (of: (file: FileResult) => number): string => files.reduce((total, file) => total + of(file), 0).toFixed(1);
const linesMax = Number(process.argv[2] ?? 30);

console.log(`${'seconds'.padStart(8)} ${'CPU s'.padStart(8)}  ${'project'.padEnd(18)} file  may wait for`);
for (const file of files.slice(0, linesMax)) console.log(await lineFor(file));
console.log(
  `${sum(({ seconds }) => seconds).padStart(8)} ${sum(({ cpuSeconds = 0 }) => cpuSeconds).padStart(8)}  in ${files.length} files`,
);
