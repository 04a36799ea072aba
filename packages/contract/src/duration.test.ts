import { expect, test } from 'vitest';
import { parseDuration } from './duration.ts';

test.each([
  ['0s', 0],
  ['500ms', 500],
  ['30s', 30_000],
  ['10m', 600_000],
  ['24h', 86_400_000],
  ['7d', 604_800_000],
  ['1h30m', 5_400_000],
  ['1m500ms', 60_500],
  ['604800s', 604_800_000],
])('%s is %d ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each(['', '10', 'm', '10 m', '-1s', '1.5s', '10S', '10s ', '1w', '9999999d', `${'9'.repeat(400)}s`])(
  '%j is not a duration',
  (text) => {
    expect(parseDuration(text)).toBeUndefined();
  },
);
