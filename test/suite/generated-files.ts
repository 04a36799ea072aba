/** Exits with 1 and prints the names of generated files that differ from the current output of their generator. Writes nothing. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { generateClientTypes } from '../../docs/generate/client-types.ts';
import { generateManifests, MANIFEST_FOLDERS } from '../../crds/src/generate.ts';
import { generatedDocs } from '../../docs/generate/main.ts';
import { generateCodecs } from '../../packages/logstore/src/generate.ts';

const ROOT = path.join(import.meta.dirname, '../..');

const generated = new Map([
  ...generateManifests(),
  ...generateCodecs(),
  ...generatedDocs(),
  ...(await generateClientTypes()),
]);
const problems: string[] = [];

for (const [file, expected] of generated) {
  const actual = await readFile(path.join(ROOT, file), 'utf8').catch(() => undefined);
  if (actual === undefined) problems.push(`${file} is missing`);
  else if (actual !== expected) problems.push(`${file} is out of date`);
}
// Every file of these folders is generated.
for (const folder of MANIFEST_FOLDERS) {
  const files = await readdir(path.join(ROOT, folder)).catch(() => []);
  const unexpected = files.map((name) => `${folder}/${name}`).filter((file) => !generated.has(file));
  problems.push(...unexpected.map((file) => `${file} has no generator`));
}

if (problems.length > 0) {
  console.error(`${problems.join('\n')}\nRun: npm run generate`);
  process.exitCode = 1;
}
