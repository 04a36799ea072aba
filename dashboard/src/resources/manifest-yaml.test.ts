import { hasControls } from '@standin/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import type { DashboardMode } from '../backend.ts';
import { toDesired, manifestYaml, objectYaml } from './manifest-yaml.ts';

it.each<[DashboardMode, string, object]>([
  ['local', 'default', { name: 'a' }],
  ['local', 'team', { name: 'a', namespace: 'team' }],
  ['cluster', 'default', { name: 'a', namespace: 'default' }],
  ['cluster', 'team', { name: 'a', namespace: 'team' }],
])('a manifest omits the default namespace in local mode only: %s, %s', (mode, namespace, metadata) => {
  const object = {
    apiVersion: 'standin.dev/v1alpha1',
    kind: 'Endpoint',
    metadata: { name: 'a', namespace },
    spec: {},
  } as const;
  expect(parse(manifestYaml(object, mode))).toEqual({ ...object, metadata });
});

it.each([' \n', '\n\n ', '\n\ta\n', `${'a\n'.repeat(30)} \nb`])('the body %j keeps its whitespace', (body) => {
  const object = {
    apiVersion: 'standin.dev/v1alpha1',
    kind: 'Endpoint',
    metadata: { name: 'a', namespace: 'team', annotations: { body } },
    spec: { json: { body } },
  } as const;
  expect(parse(manifestYaml(object, 'cluster'), { version: '1.1' })).toEqual(object);
});

// A control character in a captured body that is pasted into a terminal could erase characters, end the input of
// `kubectl create -f -`, and run commands.
it('a manifest has no control characters and parses to the same object', () => {
  const specs = fc.dictionary(
    fc.constantFrom('a', 'b\u007f', '\u202e'),
    fc.string({
      unit: fc.constantFrom('a', ' ', '\n', '\t', '"', '\\', '\r', '\0', '\u007f', '\u009b', '\u2028', '\u202e', ':'),
    }),
  );
  fc.assert(
    fc.property(specs, (spec) => {
      const object = {
        apiVersion: 'standin.dev/v1alpha1',
        kind: 'Endpoint',
        metadata: { name: 'a', namespace: 'team' },
        spec: { ...spec, lines: `a\n${'\u007f'.repeat(6)}b\n` },
      } as const;
      const yaml = manifestYaml(object, 'cluster');
      expect(hasControls(yaml.replaceAll(/[\n\t]/g, ''))).toBe(false);
      expect(parse(yaml, { version: '1.1' })).toEqual(object);
    }),
  );
});

it('the manifest of an object is that of its latest version', () => {
  const metadata = { name: 'a', namespace: 'team', uid: 'u', generation: 1, creationTimestamp: '' };
  const versions = Array.from({ length: 20 }, (_, index) => ({
    apiVersion: 'standin.dev/v1alpha1',
    kind: 'Endpoint' as const,
    spec: { version: index },
    metadata: { ...metadata, resourceVersion: String(index) },
  }));
  for (const object of [...versions, ...versions, ...versions.toReversed()])
    for (const mode of ['local', 'cluster'] as const)
      expect(objectYaml(object, mode)).toBe(manifestYaml(toDesired(object), mode));
});
