import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { generatedChart } from '../../charts/generate/generated-chart.ts';
import { configurationDoc } from './configuration-doc.ts';
import { errorsDoc } from './errors-doc.ts';

/** Returns the documents and chart files that are generated from the code, as text by path, relative to the checkout's root. */
export const generatedDocs = (): ReadonlyMap<string, string> =>
  new Map([
    ['docs/reference/configuration.md', configurationDoc()],
    ['docs/reference/errors.md', errorsDoc()],
    ...generatedChart(),
  ]);

/** Runs as part of `npm run generate`. */
if (import.meta.main) {
  const root = path.resolve(import.meta.dirname, '../..');
  for (const [file, text] of generatedDocs()) {
    const target = path.join(root, file);
    if ((await readFile(target, 'utf8').catch(() => '')) === text) continue;
    await writeFile(target, text);
    process.stdout.write(`wrote ${file}\n`);
  }
}
