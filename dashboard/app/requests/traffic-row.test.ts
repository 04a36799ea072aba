import { expect, it } from 'vitest';
import {
  durationShare,
  formatBytes,
  formatDuration,
  formatInstant,
  formatRowTime,
  fromLocalInput,
  toLocalInput,
} from './traffic-row.ts';

it.each([
  [0, '0.00 ms'],
  [0.81, '0.81 ms'],
  [4.26, '4.3 ms'],
  [9.96, '10 ms'],
  [214.4, '214 ms'],
  [999.6, '1.00 s'],
  [1_250, '1.25 s'],
  [12_340, '12.3 s'],
  [125_000, '2 min 5 s'],
])('%d ms is formatted as %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

it.each([
  [0, '0 B'],
  [999, '999 B'],
  [1_000, '1.0 kB'],
  [99_960, '100 kB'],
  [12_345_678, '12.3 MB'],
])('%d bytes are formatted as %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

it('a bar grows with the duration, from 0 to 1', () => {
  const shares = [0, 1, 10, 1_000, 10_000, 300_000].map(durationShare);
  expect(shares).toEqual([...shares].sort((a, b) => a - b));
  expect(Math.min(...shares)).toBeGreaterThan(0);
  expect(Math.max(...shares)).toBe(1);
});

it('a time from today is shown without its date', () => {
  const now = new Date('2026-11-21T12:00:00Z');
  expect(formatRowTime('2026-11-21T10:04:05.123456Z', 'utc', now)).toBe('10:04:05.123');
  expect(formatRowTime('2026-11-20T10:04:05.123456Z', 'utc', now)).toBe('11-20 10:04:05.123');
});

it.each(['local', 'utc'] as const)('an input field in %s time preserves the time', (zone) => {
  const at = new Date('2026-03-29T00:30:05Z');
  expect(fromLocalInput(toLocalInput(at, zone), zone)).toEqual(at);
  expect(formatInstant(at, 'utc')).toBe('2026-03-29 00:30:05.000');
});

it('an invalid time is read as undefined', () => {
  expect(fromLocalInput('', 'utc')).toBeUndefined();
  expect(fromLocalInput('2026-99-99T10:00', 'utc')).toBeUndefined();
  expect(fromLocalInput('2026-11-21T10:00', 'utc')).toEqual(new Date('2026-11-21T10:00:00Z'));
});
