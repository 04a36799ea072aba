import { expect, test } from 'vitest';
import { countRangeText } from './count-range-text.ts';

test.each([
  [{ min: 1 }, 'at least 1'],
  [{ min: 1, max: Infinity }, 'at least 1'],
  [{ max: 0 }, 'none'],
  [{ min: 1, max: 1 }, 'exactly 1'],
  [{ max: 3 }, 'at most 3'],
  [{ min: 2, max: 1_000 }, '2 to 1,000'],
])('%j is %s', (range, words) => {
  expect(countRangeText(range)).toBe(words);
});
