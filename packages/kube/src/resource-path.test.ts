import { SourceError } from '@standin/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { objectPath } from './custom-resource.ts';
import { resourcePath, type ResourcePath } from './resource-path.ts';

const PODS = { group: '', version: 'v1', plural: 'pods' } as const;
const DEPLOYMENTS = { group: 'apps', version: 'v1', plural: 'deployments' } as const;

describe('resourcePath', () => {
  test.each<[ResourcePath, string]>([
    [PODS, '/api/v1/pods'],
    [{ ...PODS, namespace: 'a' }, '/api/v1/namespaces/a/pods'],
    [
      { ...DEPLOYMENTS, namespace: 'a', name: 'b', subresource: 'scale' },
      '/apis/apps/v1/namespaces/a/deployments/b/scale',
    ],
  ])('for %j is %s', (resource, path) => {
    expect(resourcePath(resource)).toBe(path);
  });

  test.each<[keyof ResourcePath, string]>(
    (['version', 'plural', 'namespace', 'name', 'subresource'] as const).flatMap((part) =>
      ['', '.', '..'].map((value): [keyof ResourcePath, string] => [part, value]),
    ),
  )('rejects the %s %j', (part, value) => {
    expect(() => resourcePath({ ...PODS, namespace: 'a', name: 'b', [part]: value })).toThrow(SourceError);
  });

  test.each(['', '.', '..'])('rejects a custom resource with the name %j', (name) => {
    expect(() => objectPath({ kind: 'Project', namespace: 'a', name })).toThrow(SourceError);
  });

  test('stays inside its collection, regardless of the names', () => {
    const name = fc.oneof(
      fc.string({ unit: 'binary-ascii' }),
      fc.constantFrom('.', '..', '../..', '%2e%2e', 'a/../b', '?', '#'),
    );
    fc.assert(
      fc.property(name, name, (namespace, of) => {
        let path: string;
        try {
          path = resourcePath({ ...PODS, namespace, name: of });
        } catch (error) {
          expect(error).toBeInstanceOf(SourceError);
          return;
        }
        const parts = new URL(path, 'https://api').pathname.split('/');
        expect(parts).toHaveLength(7);
        expect([...parts.slice(0, 4), parts[5]]).toEqual(['', 'api', 'v1', 'namespaces', 'pods']);
        expect([parts[4], parts[6]].map((part) => decodeURIComponent(part ?? ''))).toEqual([namespace, of]);
      }),
    );
  });
});
