import { expect, it } from 'vitest';
import { parse } from 'yaml';
import type { DashboardMode } from '../../src/backend.ts';
import { manifestYaml } from './manifest-yaml.server.ts';

it.each<[DashboardMode, string, object]>([
  ['local', 'default', { name: 'a' }],
  ['local', 'team', { name: 'a', namespace: 'team' }],
  ['cluster', 'default', { name: 'a', namespace: 'default' }],
  ['cluster', 'team', { name: 'a', namespace: 'team' }],
])('a manifest names its namespace unless that is the one of a directory: %s, %s', (mode, namespace, metadata) => {
  const object = {
    apiVersion: 'standin.dev/v1alpha1',
    kind: 'Endpoint',
    metadata: { name: 'a', namespace },
    spec: {},
  } as const;
  expect(parse(manifestYaml(object, mode))).toEqual({ ...object, metadata });
});
