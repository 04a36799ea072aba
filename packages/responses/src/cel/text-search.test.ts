import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Budget } from '../budget.ts';
import { repeats } from '../budget.testing.ts';
import { TextSearch } from './text-search.ts';

const letters = (maxLength: number, minLength = 0) =>
  fc.array(fc.constantFrom('a', 'b'), { minLength, maxLength }).map((all) => all.join(''));

const expectedPositions = (text: string, wanted: string, from: number, overlapping: boolean): number[] => {
  const positions: number[] = [];
  for (
    let at = text.indexOf(wanted, from);
    at !== -1;
    at = text.indexOf(wanted, at + (overlapping ? 1 : wanted.length))
  )
    positions.push(at);
  return positions;
};

test('finds the same positions as the engine', () => {
  const texts = fc.oneof(
    letters(40),
    fc.tuple(letters(5), fc.integer({ max: 5_000, min: 0 })).map(([t, n]) => t.repeat(n)),
  );
  fc.assert(
    fc.property(texts, letters(6, 1), fc.nat(45), fc.boolean(), (text, wanted, from, overlapping) => {
      const found = [...new TextSearch(wanted, new Budget()).positions(text, { from, overlapping })];
      expect(found).toEqual(expectedPositions(text, wanted, from, overlapping));
    }),
    { numRuns: 300 },
  );
});

test('an empty string has no positions', () => {
  expect([...new TextSearch('', new Budget()).positions('abc')]).toEqual([]);
});

test.each<[string, string, string, number]>([
  ['preparing', 'a'.repeat(100_000), '', 20],
  ['a text without the first character', 'b', 'a'.repeat(1_000_000), 30],
  ['a text with many beginnings', 'ac', 'ab'.repeat(50_000), 6],
  ['a text that is almost found', `${'a'.repeat(1_000)}b`, 'a'.repeat(100_000), 20],
])('%s uses up the budget', (_name, wanted, text, max) => {
  const count = repeats((budget) => [...new TextSearch(wanted, budget).positions(text)], max);
  expect(count).toBeGreaterThan(max / 2);
  expect(count).toBeLessThan(max);
});
