import { expect, test } from 'vitest';
import { parseInstant } from './instant.ts';

test.each([
  ['2026-11-21T10:00:00Z', Date.UTC(2026, 10, 21, 10)],
  ['2024-02-29T10:00:00+01:00', Date.UTC(2024, 1, 29, 9)],
  ['2026-12-31T23:59:59.999Z', Date.UTC(2026, 11, 31, 23, 59, 59, 999)],
])('%s is a time', (text, ms) => {
  expect(parseInstant(text)?.getTime()).toBe(ms);
});

test.each([
  ...['', '2026-11-21', 'yesterday', '2026-11-21T', '2026-11-21T25:00:00Z', '2026-13-01T00:00:00Z'],
  ...['2026-02-29T00:00:00Z', '2026-02-30T00:00:00Z', '2026-02-31T00:00:00Z', '2026-04-31T00:00:00Z'],
])('%j is not a time', (text) => {
  expect(parseInstant(text)).toBeUndefined();
});
