/** Builds the site of `npm run docs`, unless the last build passed with the same pages and packages. VitePress has no such cache. */
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { build } from 'vitepress';
import { hashInputs, loadPassedInputs } from './passed-inputs.ts';
import { ROOT } from './source-files.ts';

/** Everything that the site and its configuration read. */
const INPUTS = ['docs/**/*', 'docs/.vitepress/*.ts', 'dashboard/public/favicon.svg', 'package-lock.json'];
const BUILD = 'docs/.vitepress/build/';

const files = globSync(INPUTS, { cwd: ROOT, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => path.relative(ROOT, path.join(entry.parentPath, entry.name)))
  .filter((file) => !file.startsWith(BUILD))
  .sort();
const contents = await Promise.all(files.map((file) => readFile(path.join(ROOT, file))));
const inputs = hashInputs([process.version, ...files.flatMap((file, index) => [file, contents[index] ?? ''])]);

const passed = await loadPassedInputs('site');
if (!passed.has(inputs)) {
  await build(path.join(ROOT, 'docs'));
  await passed.store([inputs]);
}
