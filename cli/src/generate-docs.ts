import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { generatedDocs } from './docs/generated-docs.ts';

/** Part of `npm run generate`: writes docs/configuration.md and docs/errors.md. */
const root = path.resolve(import.meta.dirname, '../..');

for (const [file, text] of generatedDocs()) {
  const target = path.join(root, file);
  if ((await readFile(target, 'utf8').catch(() => '')) === text) continue;
  await writeFile(target, text);
  console.log(`wrote ${file}`);
}
