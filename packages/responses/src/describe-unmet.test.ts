import { expect, test } from 'vitest';
import { ExpressionError } from './cel/expression-error.ts';
import { describeDraw, describeExpression, describeUnmet } from './describe-unmet.ts';

const gold = { on: 'headers', name: 'x-plan', type: 'Exact', value: 'gold' } as const;

test.each<[Omit<Parameters<typeof describeUnmet>[0], 'isOutOfBudget'>, string]>([
  [{ ...gold, seen: ['free'], seenCount: 1 }, 'The header x-plan is "free". It must be "gold".'],
  [{ ...gold, seen: [], seenCount: 0 }, 'The header x-plan is missing. It must be "gold".'],
  [
    { ...gold, seen: ['a', 'b'], seenCount: 2 },
    'The header x-plan has the values "a" and "b". One of them must be "gold".',
  ],
  [
    { ...gold, seen: ['a', 'b'], seenCount: 5 },
    'The header x-plan has the values "a", "b" and 3 more. One of them must be "gold".',
  ],
  [
    { ...gold, type: 'RegularExpression', value: 'g.*', seen: ['free'], seenCount: 1 },
    'The header x-plan is "free". It must match "g.*".',
  ],
  [
    { on: 'queryParams', name: 'page', type: 'Present', seen: [], seenCount: 0 },
    'The query parameter page is missing.',
  ],
  [
    { on: 'queryParams', name: 'page', type: 'Absent', seen: [''], seenCount: 1 },
    'The query parameter page is "". It must be absent.',
  ],
  [
    { on: 'pathParams', name: 'id', type: 'Exact', value: '4"2', seen: ['\n\u001b[2J\u202e'], seenCount: 1 },
    String.raw`The path parameter id is "\n\u001b[2J\u202e". It must be "4\"2".`,
  ],
])('%j is described', (condition, text) => {
  expect(describeUnmet({ ...condition, isOutOfBudget: false })).toBe(text);
});

test.each<[Parameters<typeof describeDraw>, string]>([
  [[5, undefined, 43.7123], 'The request draws 43.7123. It must draw less than 5.'],
  [[0.5, '7"\u001b', 5], String.raw`The key "7\"\u001b" draws 5. It must draw less than 0.5.`],
  [
    [5, undefined, new ExpressionError('there is no field \u001b')],
    String.raw`The draw has no key: there is no field \x1b.`,
  ],
])('the draw %j is described', (draw, text) => {
  expect(describeDraw(...draw)).toBe(text);
});

test.each([
  [undefined, 'The expression "a > \\"\\u001b\\"" is false.'],
  ['there is no field \u001b', String.raw`The expression "a > \"\u001b\"" has no value: there is no field \x1b.`],
])('an expression with the error %j is described', (error, text) => {
  expect(describeExpression('a > "\u001b"', error)).toBe(text);
});
