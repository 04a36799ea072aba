import { GROUP_VERSION } from '@standin/contract';
import { expect, test } from 'vitest';
import { projectValuesOf, toProject } from './project-values.ts';

test('an edited project keeps the fields that the form does not show, and loses a field that was emptied', () => {
  const before = {
    ...({ apiVersion: GROUP_VERSION, kind: 'Project' } as const),
    metadata: {
      namespace: 'team',
      name: 'shop',
      uid: 'uid',
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: '',
    },
    spec: { displayName: 'Shop', accountRef: { name: 'own' }, retentionDays: 7, metrics: 'Enabled' },
  };
  const values = { ...projectValuesOf(before), 'spec.retentionDays': '' };
  expect(toProject(values, before).spec).toEqual({
    displayName: 'Shop',
    accountRef: { name: 'own' },
    metrics: 'Enabled',
  });
});
