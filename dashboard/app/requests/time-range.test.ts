import { expect, it } from 'vitest';
import { absoluteRange, fixedRange, presetLabel, readTimeRange, resolveRange, widerRange } from './time-range.ts';

const now = new Date('2026-11-21T12:00:00Z');
const minutesAgo = (minutes: number): number => (now.getTime() - minutes * 60_000) * 1_000;

it.each([
  ['15m', null, minutesAgo(15), undefined],
  ['7d', null, minutesAgo(7 * 24 * 60), undefined],
  ['2026-11-21T10:00:00Z', '2026-11-21T11:00:00+01:00', minutesAgo(120), minutesAgo(120)],
  ['2026-11-21T10:00:00.000001Z', '2026-11-21T10:00:00.0000011Z', minutesAgo(120) + 1, minutesAgo(120) + 2],
  [null, null, undefined, undefined],
  // Mistyped or hostile values are ignored.
  ['yesterday', '<script>', undefined, undefined],
  ['2026-13-45T00:00:00Z', '9999999d', undefined, undefined],
  ['2026-02-31T00:00:00Z', '2026-04-31T00:00:00Z', undefined, undefined],
])('from=%s and to=%s become a range', (from, to, sinceUs, untilUs) => {
  expect(resolveRange(readTimeRange(from, to), now)).toEqual({ sinceUs, untilUs });
});

it('a range stays relative until absoluteRange converts it', () => {
  expect(readTimeRange('15m', null)).toEqual({ from: '15m', to: undefined });
  expect(absoluteRange(minutesAgo(15), minutesAgo(0))).toEqual({
    from: '2026-11-21T11:45:00Z',
    to: '2026-11-21T12:00:00Z',
  });
  expect(absoluteRange(minutesAgo(15) + 1, undefined)).toEqual({ from: '2026-11-21T11:45:00.000001Z', to: undefined });
  expect(fixedRange({ from: '15m', to: undefined }, now)).toEqual(absoluteRange(minutesAgo(15), minutesAgo(0)));
});

it.each([
  [{ from: '1h', to: undefined }, 'Last hour'],
  [{ from: undefined, to: undefined }, 'All time'],
  [{ from: '3h', to: undefined }, 'Last 3h'],
  [{ from: '2026-11-21T10:00:00Z', to: undefined }, undefined],
  [{ from: '1h', to: '2026-11-21T10:00:00Z' }, undefined],
])('the label for %j is %s', (range, label) => {
  expect(presetLabel(range)).toBe(label);
});

it.each([
  ['a past range', minutesAgo(300), minutesAgo(280), '2026-11-21T06:30:00Z', '2026-11-21T07:50:00Z'],
  ['a range that ends now', minutesAgo(40), minutesAgo(0), '2026-11-21T10:20:00Z', undefined],
  ['nearly all time', minutesAgo(20 * 24 * 60), minutesAgo(0), undefined, undefined],
  ['all time', undefined, undefined, undefined, undefined],
])('zooms out of %s', (_what, sinceUs, untilUs, ...[from, to]) => {
  expect(widerRange({ sinceUs, untilUs }, now)).toEqual({ from, to });
});
