import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { generatedChart } from '../../charts/generate/generated-chart.ts';
import { ROOT } from './checkout.ts';
import { generateClientTypes } from './client-types.ts';
import { cliDoc } from './cli-doc.ts';
import { configurationDoc } from './configuration-doc.ts';
import { errorsDoc } from './errors-doc.ts';
import { metricsDoc } from './metrics-doc.ts';
import { resourceDocs } from './resources-doc.ts';

/** Returns the documents and chart files that are generated from the code, as text by path, relative to the checkout's root. */
export const generatedDocs = (): ReadonlyMap<string, string> =>
  new Map([
    ['docs/reference/configuration.md', configurationDoc()],
    ['docs/reference/errors.md', errorsDoc()],
    ['docs/reference/cli.md', cliDoc()],
    metricsDoc(),
    ...resourceDocs(),
    ...generatedChart(),
  ]);

/** Runs as part of `npm run generate`. */
if (import.meta.main) {
  for (const [file, text] of [...generatedDocs(), ...(await generateClientTypes())]) {
    const target = path.join(ROOT, file);
    if ((await readFile(target, 'utf8').catch(() => '')) === text) continue;
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, text);
    process.stdout.write(`wrote ${file}\n`);
  }
}
