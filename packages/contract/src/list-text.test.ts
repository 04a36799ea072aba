import { expect, it } from 'vitest';
import { listText, phraseListText } from './list-text.ts';

it.each([
  [[], ''],
  [['a'], 'a'],
  [['a', 'b'], 'a and b'],
  [['a', 'b', 'c'], 'a, b and c'],
])('%j becomes %j', (items, text) => {
  expect(listText(items)).toBe(text);
});

it('a list of alternatives ends with "or"', () => {
  expect(listText(['204', '205', '304'], 'or')).toBe('204, 205 or 304');
});

it('phrases are separated by semicolons', () => {
  expect(phraseListText(['gateway a, which is unreachable'])).toBe('gateway a, which is unreachable');
  expect(phraseListText(['gateway a, which is unreachable', 'volume b', '1 more'])).toBe(
    'gateway a, which is unreachable; volume b; and 1 more',
  );
});
