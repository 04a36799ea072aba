import { readFileSync } from 'node:fs';
import path from 'node:path';
import { SIGNATURE_SCHEMES } from '@standin/contract';
import { validateManifests } from '@standin/operator';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { operatorSettings, translateSettings } from '../operator/src/settings.ts';
import { ROOT } from './suite/source-files.ts';

const SETTINGS = translateSettings(operatorSettings.parse({}));
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
const manifest = (name: string, object: object) => ({
  name,
  text: stringify({ apiVersion: 'standin.dev/v1alpha1', ...object }),
});

const account = manifest('account', { kind: 'Account', metadata: { name: 'a' }, spec: { signatures: 'Allowed' } });
const project = manifest('project', { kind: 'Project', metadata: { name: 'p' }, spec: { accountRef: { name: 'a' } } });
const EXAMPLES = ['account', 'secret', 'github'].map((name) => `crds/examples/signatures/${name}.yaml`);

test('crds/examples/signatures is valid', () => {
  expect(
    validateManifests(
      EXAMPLES.map((name) => ({ name, text: read(name) })),
      SETTINGS,
    ),
  ).toEqual([]);
});

describe('docs/guides/senders.md', () => {
  const text = read('docs/guides/senders.md');
  // Snippets in a list are indented.
  const snippets = [...text.matchAll(/^( *)```yaml\n(.*?)^\1```$/gms)].map(([, indent = '', snippet = '']) =>
    snippet.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );

  test.each(snippets)('has a valid part of a spec: %s', (snippet) => {
    // As kubectl, which reads YAML 1.1.
    const part = parse(snippet, { version: '1.1' }) as Readonly<Record<string, unknown>>;
    const spec = {
      projectRef: { name: 'p' },
      displayName: 'Example',
      slug: '/v1',
      method: 'POST',
      action: 'JSON',
      json: { body: '{}' },
      ...part,
    };
    const endpoint = manifest('snippet', { kind: 'Endpoint', metadata: { name: 'e' }, spec });
    expect(validateManifests([account, project, endpoint], SETTINGS)).toEqual([]);
  });

  test('lists each scheme', () => {
    const listed = [...text.matchAll(/^\|[^|]+\| `([A-Z]\w+)` +\|/gm)].map(([, scheme]) => scheme);
    expect(listed.sort()).toEqual([...SIGNATURE_SCHEMES].sort());
  });
});
