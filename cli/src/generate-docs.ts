import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { generatedChart } from './chart/generated-chart.ts';
import { generatedDocs } from './docs/generated-docs.ts';
import { stdout } from './terminal.ts';

/** Part of `npm run generate`: writes docs/configuration.md, docs/errors.md and the chart's values. */
const root = path.resolve(import.meta.dirname, '../..');

for (const [file, text] of [...generatedDocs(), ...generatedChart()]) {
  const target = path.join(root, file);
  if ((await readFile(target, 'utf8').catch(() => '')) === text) continue;
  await writeFile(target, text);
  stdout.line(`wrote ${file}`);
}
