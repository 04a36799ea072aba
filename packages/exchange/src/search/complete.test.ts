import { ACTIONS, REQUEST_METHODS, OUTCOMES } from '@standin/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { completionAt } from './complete.ts';
import { FIELDS, HEADER_PREFIXES } from './fields.ts';
import { parseFilter } from './parse-filter.ts';

describe('completionAt', () => {
  const at = (marked: string) => completionAt(marked.replace('|', ''), marked.indexOf('|'));

  test.each([
    ['|', { kind: 'field', typed: '', from: 0, to: 0 }],
    ['sta|', { kind: 'field', typed: 'sta', names: ['status:'], from: 0, to: 3 }],
    ['respo|', { kind: 'field', typed: 'respo', names: ['response:'], from: 0, to: 5 }],
    ['response:g|', { kind: 'value', field: 'response', typed: 'g', values: [], from: 9, to: 10 }],
    ['method:GET (sta|', { kind: 'field', names: ['status:'], from: 12, to: 15 }],
    ['-resp|', { kind: 'field', names: ['resp.body:', 'resp.size:', 'response:', 'resp.header.'], from: 1, to: 5 }],
    ['method:p|', { kind: 'value', field: 'method', typed: 'p', values: ['POST', 'PUT', 'PATCH'], from: 7, to: 8 }],
    ['status:|', { kind: 'value', values: ['2xx', '3xx', '4xx', '5xx', 'none', '>=', '>', '<=', '<'] }],
    ['status:5|', { kind: 'value', values: ['5xx'] }],
    ['status:>|', { kind: 'value', values: ['>=', '>', '>400', '>500'] }],
    ['status:>=|', { kind: 'value', values: ['>=', '>=400', '>=500'] }],
    ['dur:|', { kind: 'value', values: ['>=', '>', '<=', '<'] }],
    ['dur:<1|', { kind: 'value', values: ['<100ms', '<1s', '<10s'] }],
    ['req.size:>|', { kind: 'value', values: ['>=', '>', '>1kb', '>100kb', '>1mb'] }],
    ['endpoint:cr|eate', { kind: 'value', field: 'endpoint', typed: 'cr', values: [], from: 9, to: 11 }],
    ['header.x-g|', { kind: 'header-name', field: 'header', typed: 'x-g', from: 7, to: 10 }],
    ['resp.header.|', { kind: 'header-name', field: 'resp.header', typed: '', from: 12, to: 12 }],
    ['header.a:b|', { kind: 'value', field: 'header.a', typed: 'b', values: [] }],
    ['body:"x sta|', undefined],
    [String.raw`body:"\" " sta|`, { kind: 'field', names: ['status:'] }],
    ['nothing-like-this|', undefined],
    ['nofield:x|', undefined],
  ])('completes the text at the cursor: %j', (marked, expected) => {
    const completion = at(marked);
    if (expected === undefined) expect(completion).toBeUndefined();
    else expect(completion).toMatchObject(expected);
  });

  test('replaces any typed text', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat({ max: 20 }), (text, place) => {
        const cursor = Math.min(place, text.length);
        const completion = completionAt(text, cursor);
        if (completion) expect(text.slice(completion.from, completion.to)).toBe(completion.typed);
      }),
    );
  });
});

const comparisons = ['>=', '>', '<=', '<'];

test.each(['status', 'dur', 'size'])('every suggestion for %s is valid, or is a comparison', (field) => {
  for (const typed of ['', ...comparisons]) {
    const completion = completionAt(`${field}:${typed}`, field.length + 1 + typed.length);
    const values = completion?.kind === 'value' ? completion.values : [];
    expect(values.length).toBeGreaterThan(1);
    for (const value of values.filter((one) => !comparisons.includes(one))) {
      expect(parseFilter(`${field}:${value}`).kind, value).toBe('parsed');
    }
  }
});

describe('the field table', () => {
  test('has all values that the contract defines', () => {
    expect(FIELDS.method.values).toEqual(REQUEST_METHODS);
    expect(FIELDS.outcome.values).toEqual(OUTCOMES);
    expect(FIELDS.action.values).toEqual(ACTIONS);
  });

  test.each(Object.values({ ...FIELDS, ...HEADER_PREFIXES }).map(({ example }) => example))(
    'has a valid example for %s',
    (example) => {
      expect(parseFilter(example).kind).toBe('parsed');
    },
  );
});
