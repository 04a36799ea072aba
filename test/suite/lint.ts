/**
 * Runs ESLint on the files that it has not passed yet. ESLint's own cache would miss findings, because many rules read the types of
 * what a file imports.
 */
import path from 'node:path';
import { ESLint } from 'eslint';
import { lintInputs } from './lint-inputs.ts';
import { loadPassedInputs } from './passed-inputs.ts';
import { ROOT, sourceFiles } from './source-files.ts';

const current = lintInputs(sourceFiles());
const passed = await loadPassedInputs('lint');
const eslint = new ESLint({ cwd: ROOT });
const waiting: string[] = [];
for (const [file, key] of current)
  if (!passed.has(key) && !(await eslint.isPathIgnored(path.join(ROOT, file)))) waiting.push(file);

const results = waiting.length === 0 ? [] : await eslint.lintFiles(waiting);
const failed = new Set(
  results.filter(({ messages }) => messages.length > 0).map(({ filePath }) => path.relative(ROOT, filePath)),
);
const formatter = await eslint.loadFormatter();
console.log(await formatter.format(results));

await passed.store([...current].filter(([file]) => !failed.has(file)).map(([, key]) => key));
if (failed.size > 0) process.exitCode = 1;
