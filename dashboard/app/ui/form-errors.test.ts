import { expect, it } from 'vitest';
import { toFormErrors } from './form-errors.ts';

const FIELDS = [
  'metadata.name',
  'spec.slug',
  'spec.json.headers[0].name',
  'spec.json.headers[0].value',
  'spec.forward',
];

it.each([
  ['spec.slug', 'spec.slug'],
  ['spec.json.headers[0].name', 'spec.json.headers[0].name'],
  ['spec.forward.serviceRef.name', 'spec.forward'],
  ['spec.forward', 'spec.forward'],
])('a problem with %s is shown next to %s', (path, field) => {
  expect(toFormErrors([{ path, message: 'must be better' }], FIELDS)).toEqual({
    fields: { [field]: ['Must be better'] },
    form: [],
  });
});

it.each([
  ['', 'Must be better'],
  ['spec', 'spec: must be better'],
  ['spec.json.headers[1]', 'spec.json.headers[1]: must be better'],
])('a problem with "%s", which has no field, is shown for the whole form', (path, shown) => {
  expect(toFormErrors([{ path, message: 'must be better' }], FIELDS)).toEqual({ fields: {}, form: [shown] });
});

it('keeps all problems with a field', () => {
  const problems = [
    { path: 'spec.slug', message: 'a' },
    { path: 'spec.slug', message: 'b' },
  ];
  expect(toFormErrors(problems, FIELDS).fields['spec.slug']).toEqual(['A', 'B']);
});
