import { expect, it } from 'vitest';
import { durationMs, parseDurationField } from './duration.ts';

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
