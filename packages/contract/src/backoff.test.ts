import { expect, test } from 'vitest';
import { backoffMs, exponentialMs } from './backoff.ts';

const OPTIONS = { baseMs: 100, capMs: 1_500 };

test('the delay doubles with each failure, up to the cap', () => {
  expect([0, 1, 2, 3, 4, 5, 5_000].map((failures) => exponentialMs(failures, OPTIONS))).toEqual([
    ...[100, 200, 400, 800],
    ...[1_500, 1_500, 1_500],
  ]);
});

test('jitter removes up to half of the delay', () => {
  expect([0, 0.5, 1].map((chance) => backoffMs(1, OPTIONS, () => chance))).toEqual([100, 150, 200]);
});
