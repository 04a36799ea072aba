import { expect, it } from 'vitest';
import { durationMs, durationRules, notShorterThan, parseDurationField } from './duration.ts';

it.each([
  ['30s', 30_000],
  ['500ms', 500],
  ['1m30s', 90_000],
  ['2h', 7_200_000],
  ['1m1ms', 60_001],
  ['0s', 0],
])('%s is parsed as %d ms', (text, ms) => {
  expect(durationMs(text)).toBe(ms);
});

it.each(['', '30', 's', '-1s', '1.5s', ' 1s', '1s ', '1d', '1s1s1s1s1s', '100000s'])('%j is not a duration', (text) => {
  expect(parseDurationField(text)).toBeUndefined();
  expect(() => durationMs(text)).toThrow(RangeError);
});

it.each([
  ['999ms', false],
  ['1s', true],
  ['5m', true],
  ['300s', true],
  ['5m1ms', false],
  // Another rule reports what is not a duration.
  ['soon', true],
])('%s is between 1s and 5m: %s', (text, holds) => {
  expect(durationRules(1_000, 300_000).at(-1)?.holds(text)).toBe(holds);
});

it.each([
  ['1s', '1s', true],
  ['1s', '1001ms', true],
  ['1s', '999ms', false],
  ['1s', 'later', true],
])('the shortest is %s and the longest is %s: %s', (min, max, holds) => {
  expect(notShorterThan('max', 'min').holds({ min, max })).toBe(holds);
});
