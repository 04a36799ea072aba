import { GROUP_VERSION } from '@standin/contract';
import { expect, test } from 'vitest';
import { toProjectValues, readProjectValues, toProject } from './project-values.ts';

const projectWith = (spec: object) => ({
  ...({ apiVersion: GROUP_VERSION, kind: 'Project' } as const),
  metadata: { namespace: 'team', name: 'shop', uid: 'uid', resourceVersion: '1', generation: 1, creationTimestamp: '' },
  spec: { displayName: 'Shop', accountRef: { name: 'own' }, ...spec },
});

test('an edited project keeps the fields that the form does not show, and loses a field that was emptied', () => {
  const before = projectWith({ retentionDays: 7, later: 'value' });
  const values = { ...toProjectValues(before), 'spec.retentionDays': '' };
  expect(toProject(values, before).spec).toEqual({
    displayName: 'Shop',
    accountRef: { name: 'own' },
    later: 'value',
  });
});

test.each([
  ['a missing field', {}],
  ['Disabled', { metrics: 'Disabled' }],
  ['Enabled', { metrics: 'Enabled' }],
])('the metrics of an edited project stay as they are: %s', (_, spec) => {
  const before = projectWith(spec);
  expect(toProject(toProjectValues(before), before).spec).toEqual(before.spec);
});

test.each([
  ['enabled', 'Enabled', {}, { metrics: 'Enabled' }],
  ['enabled, after Disabled', 'Enabled', { metrics: 'Disabled' }, { metrics: 'Enabled' }],
  ['removed', '', { metrics: 'Enabled' }, {}],
])('the checkbox changes the metrics: %s', (_, metrics, spec, expected) => {
  const before = projectWith(spec);
  const values = { ...toProjectValues(before), 'spec.metrics': metrics };
  expect(toProject(values, before).spec).toEqual(projectWith(expected).spec);
});

test('a new project has metrics only if the box is checked', () => {
  const form = new FormData();
  form.set('spec.displayName', 'Shop');
  form.set('spec.accountRef', 'team/own');
  expect(toProject(readProjectValues(form)).spec).toEqual({ displayName: 'Shop', accountRef: { name: 'own' } });
  form.set('spec.metrics', 'Enabled');
  expect(toProject(readProjectValues(form)).spec).toMatchObject({ metrics: 'Enabled' });
});
