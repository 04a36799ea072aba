import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatTime, parseInstant } from './instant.ts';

test.each([
  ['2026-11-21T10:00:00Z', Date.UTC(2026, 10, 21, 10) * 1_000],
  ['2026-11-21T10:00Z', Date.UTC(2026, 10, 21, 10) * 1_000],
  ['2024-02-29T10:00:00+01:00', Date.UTC(2024, 1, 29, 9) * 1_000],
  ['2026-12-31T23:59:59.999Z', Date.UTC(2026, 11, 31, 23, 59, 59, 999) * 1_000],
  ['2025-11-21T08:35:12.5+01:00', 1_763_710_512_500_000],
  ['2025-11-21T07:35:12.123456Z', 1_763_710_512_123_456],
  ['2025-11-21T07:35:12.123456000Z', 1_763_710_512_123_456],
  ['1969-12-31T23:59:59.999999Z', -1],
])('%s is a time', (text, us) => {
  expect(parseInstant(text)).toBe(us);
});

test.each([
  ['2025-11-21T07:35:12.123456001Z', 1_763_710_512_123_457],
  ['2025-11-21T07:35:12.999999999Z', 1_763_710_513_000_000],
])('%s is rounded up, because no request is received between it and the next microsecond', (text, us) => {
  expect(parseInstant(text)).toBe(us);
});

test.each([
  ...['', '2026-11-21', 'yesterday', '2026-11-21T', '2026-11-21T25:00:00Z', '2026-13-01T00:00:00Z'],
  ...['2026-02-29T00:00:00Z', '2026-02-30T00:00:00Z', '2026-02-31T00:00:00Z', '2026-04-31T00:00:00Z'],
  ...['2026-11-21T10:00:00.Z', '2026-11-21T10:00:00.1234567x', '2026-11-21T10:00:00Z.5', '2026-11-21T10:00:00 Z'],
])('%j is not a time', (text) => {
  expect(parseInstant(text)).toBeUndefined();
});

test.each([
  [0, '1970-01-01T00:00:00.000000Z'],
  [1_763_710_512_000_007, '2025-11-21T07:35:12.000007Z'],
])('%d µs is %s', (us, text) => {
  expect(formatTime(us)).toBe(text);
});

test('reads what it formats', () => {
  fc.assert(fc.property(fc.integer({ min: 0, max: 2 ** 52 }), (us) => parseInstant(formatTime(us)) === us));
});
