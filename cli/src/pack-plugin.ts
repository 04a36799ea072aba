import process from 'node:process';
import { parseArgs } from 'node:util';
import { packPlugin } from './plugin/pack-plugin.ts';
import { stderr, stdout } from './terminal.ts';

/** `npm run plugin -- --url URL [--out DIR]`: builds `kubectl standin` for krew, as a release publishes it. */
const { values } = parseArgs({ options: { out: { type: 'string', default: 'plugin' }, url: { type: 'string' } } });
if (values.url === undefined) {
  stderr.line('Usage: npm run plugin -- --url URL-of-the-folder-that-will-have-the-archive [--out DIR]');
  process.exit(2);
}
const { archive, manifest } = await packPlugin({ outDir: values.out, url: values.url });
stdout.lines(`${archive}\n${manifest}`);
