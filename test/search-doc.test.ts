import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { FIELDS, FILTER_LIMITS, HEADER_PREFIXES, parseFilter } from '@standin/exchange/search';
import { expect, test } from 'vitest';
import { ROOT } from './suite/source-files.ts';

const doc = readFileSync(path.join(ROOT, 'docs/reference/search.md'), 'utf8');

// Without this test, a search field could work but not be documented.
test('docs/reference/search.md lists every field with its example', () => {
  const rows = [...doc.matchAll(/^\| `([a-z.A-Z]+)` .*`([^`]+)` *\|$/gm)].map(([, name, example]) => [name, example]);
  const fields = Object.entries(FIELDS).map(([name, { example }]) => [name, example]);
  const headers = Object.entries(HEADER_PREFIXES).map(([prefix, { example }]) => [`${prefix}NAME`, example]);
  expect(rows.sort()).toEqual([...fields, ...headers].sort());
});

test('the examples in docs/reference/search.md are valid searches', () => {
  const blocks = [...doc.matchAll(/^```\n(.*?)\n```$/gms)].flatMap(([, block]) => (block ?? '').split('\n'));
  expect(blocks).toHaveLength(10);
  for (const text of blocks) expect(parseFilter(text)).toMatchObject({ kind: 'parsed' });
});

test('docs/reference/search.md states the limits of the code', () => {
  const { textLengthMax, termsMax, depthMax, wildcardsMax } = FILTER_LIMITS;
  const length = textLengthMax.toLocaleString('en-US');
  const levels = `${depthMax} levels of parentheses and negations, ${wildcardsMax} wildcards`;
  expect(doc).toContain(`At most ${length} characters, ${termsMax} conditions, ${levels}`);
});

// Without this test, the search box could ship server-side libraries, or fail to bundle.
test('the search language can be bundled for browsers without npm packages', async () => {
  const { build } = await import('vite');
  const entry = path.join(ROOT, 'packages/exchange/src/search/index.ts');
  const result = await build({
    configFile: false,
    logLevel: 'silent',
    build: { write: false, lib: { entry, formats: ['es'] }, minify: true, rollupOptions: { external: () => false } },
  });
  const [bundle] = result as Extract<typeof result, unknown[]>;
  const [chunk] = bundle?.output ?? [];
  const modules = Object.keys(chunk?.modules ?? {});
  expect(modules).not.toEqual([]);
  const ownModules = /packages\/(exchange\/src\/search\/|contract\/src\/(list-text|own-member)\.ts$)/;
  expect(modules.filter((id) => !ownModules.test(id))).toEqual([]);
  expect(gzipSync(chunk?.code ?? '').length).toBeLessThan(8_500);
});
