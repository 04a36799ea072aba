import { formatShortTime } from '@standin/contract';
import type { NewExpectation } from '../../src/expectations/expectations.ts';
import { numberOrText } from '../projects/project-values.ts';
import { readTimeRange, resolveRange } from '../requests/time-range.ts';

/** The fields of the form for an expectation. Each is named after its path in the object. */
export const EXPECTATION_FIELDS = [
  'spec.filter.search',
  'spec.count.min',
  'spec.count.max',
  'spec.from',
  'spec.deadline',
] as const;

export type ExpectationValues = Readonly<Record<(typeof EXPECTATION_FIELDS)[number], string>>;

export const newExpectationValues = (search: string): ExpectationValues => ({
  'spec.filter.search': search,
  'spec.count.min': '1',
  'spec.count.max': '',
  'spec.from': '',
  'spec.deadline': '2m',
});

export const readExpectationValues = (form: Pick<FormData, 'get'>): ExpectationValues => {
  const text = (name: keyof ExpectationValues): string => {
    const value = form.get(name);
    return typeof value === 'string' ? value.trim() : '';
  };
  return {
    'spec.filter.search': text('spec.filter.search'),
    'spec.count.min': text('spec.count.min'),
    'spec.count.max': text('spec.count.max'),
    'spec.from': text('spec.from'),
    'spec.deadline': text('spec.deadline'),
  };
};

/** Converts the form to an expectation. Omits empty fields, and replaces a relative start time with the time before `now`. */
export const toNewExpectation = (values: ExpectationValues, now: Date): NewExpectation => {
  const { 'spec.filter.search': search, 'spec.count.min': min, 'spec.count.max': max } = values;
  const { 'spec.from': from, 'spec.deadline': deadline } = values;
  const { sinceUs } = resolveRange(readTimeRange(from, null), now);
  return {
    ...(search !== '' && { filter: { search } }),
    count: { ...(min !== '' && { min: numberOrText(min) }), ...(max !== '' && { max: numberOrText(max) }) },
    ...(from !== '' && { from: sinceUs === undefined ? from : formatShortTime(sinceUs) }),
    ...(deadline !== '' && { deadline }),
  };
};
