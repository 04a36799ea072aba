import { expect, it } from 'vitest';
import { matchScore } from './navigation-targets.ts';

it.each([
  ['orders', ['Orders', 'reorders', 'GET /o/{id}/r/d/e/r/s', 'refunds']],
  ['shop one', ['project team-a/shop-one', 'workshop one', 'shop number one', 'one shop']],
  ['theme dark ', ['Theme: Dark', 'Theme: Light']],
  ['ö', ['Öl', 'Möbel', 'Orders']],
])('"%s" matches the better, the closer its characters are: %o', (search, texts) => {
  const scores = texts.map((text) => matchScore(text, search));
  expect(scores).toEqual([...new Set(scores)].sort((a, b) => b - a));
  expect(scores.at(-1)).toBe(0);
  expect(scores.slice(0, -1).every((score) => score > 0)).toBe(true);
});

it('everything matches an empty search', () => {
  expect(matchScore('Orders', '')).toBe(1);
});
