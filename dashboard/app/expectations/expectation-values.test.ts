import { expect, it } from 'vitest';
import { newExpectationValues, readExpectationValues, toNewExpectation } from './expectation-values.ts';

const NOW = new Date('2026-11-21T10:00:00Z');

const submit = (fields: Readonly<Record<string, string>>) => {
  const form = new FormData();
  for (const [name, value] of Object.entries({ ...newExpectationValues('path:/a'), ...fields })) form.set(name, value);
  return toNewExpectation(readExpectationValues(form), NOW);
};

it('expects at least one matching request within two minutes by default', () => {
  expect(submit({})).toEqual({ filter: { search: 'path:/a' }, count: { min: 1 }, deadline: '2m' });
});

it('omits empty fields, and replaces a relative start time', () => {
  const fields = { 'spec.filter.search': ' ', 'spec.count.min': '', 'spec.count.max': '0', 'spec.from': '10m' };
  expect(submit(fields)).toEqual({ count: { max: 0 }, from: '2026-11-21T09:50:00Z', deadline: '2m' });
});

it('keeps invalid values, so that they are reported', () => {
  const fields = { 'spec.count.min': 'one', 'spec.from': 'yesterday', 'spec.deadline': '' };
  expect(submit(fields)).toEqual({ filter: { search: 'path:/a' }, count: { min: 'one' }, from: 'yesterday' });
});
