import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { validateManifests } from '@standin/operator';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { translateSettings, operatorSettings } from '../operator/src/settings.ts';
import { CONTENT_FUNCTIONS } from '../packages/responses/src/cel/content-functions.ts';
import { ROOT } from './suite/source-files.ts';

const SETTINGS = translateSettings(operatorSettings.parse({ egress: { allow: ['127.0.0.0/8'] } }));
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
const quickstart = ['account', 'project'].map((name) => {
  const file = `crds/examples/quickstart/${name}.yaml`;
  return { name: file, text: read(file) };
});
const validationProblems = (name: string, text: string) => validateManifests([...quickstart, { name, text }], SETTINGS);

describe('crds/examples/responses', () => {
  test.each(globSync('crds/examples/responses/*.yaml', { cwd: ROOT }))('%s is valid', (file) => {
    expect(validationProblems(file, read(file))).toEqual([]);
  });
});

describe('docs/guides', () => {
  const snippets = ['responses', 'forwarding'].flatMap((guide) =>
    [...read(`docs/guides/${guide}.md`).matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = '']) => text),
  );

  test.each(snippets)('has a valid object or part of the spec of an Endpoint: %s', (text) => {
    // As kubectl, which reads YAML 1.1.
    const part = parse(text, { version: '1.1' }) as Readonly<Record<string, unknown>>;
    const spec = {
      projectRef: { name: 'shop' },
      displayName: 'Example',
      slug: '/v1/{id}',
      method: 'GET',
      action: 'JSON',
      json: { body: '{}' },
      ...part,
    };
    const endpoint = { apiVersion: 'standin.dev/v1alpha1', kind: 'Endpoint', metadata: { name: 'example' }, spec };
    const object = 'kind' in part ? part : endpoint;
    expect(validationProblems('snippet', stringify(object, { version: '1.1' }))).toEqual([]);
  });

  test('lists the functions that CEL does not have', () => {
    const table = read('docs/guides/responses.md')
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    const names = [...CONTENT_FUNCTIONS.map(({ name }) => name), 'formatTime', 'uuid', 'random', 'fake', 'default'];
    for (const name of names) expect(table).toContainEqual(expect.stringContaining(`\`${name}(`));
  });

  test('has snippets', () => {
    expect(snippets).toHaveLength(16);
  });
});
