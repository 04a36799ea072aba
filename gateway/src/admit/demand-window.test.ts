import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DemandWindow } from './demand-window.ts';

/** Adds evenly spaced requests for `ms` milliseconds. Returns the end time. */
const load = (window: DemandWindow, fromMs: number, { perSecond, ms }: { perSecond: number; ms: number }): number => {
  const gapMs = 1_000 / perSecond;
  for (let atMs = 0; atMs < ms; atMs += gapMs) window.add(fromMs + atMs);
  return fromMs + ms;
};
const perSecond = (window: DemandWindow, nowMs: number): number => window.perMs(0, nowMs) * 1_000;

test('the window measures a steady rate correctly at any moment', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2_000 }), fc.integer({ min: 1_000, max: 60_000 }), (rate, ms) => {
      const window = new DemandWindow(0);
      const now = load(window, 0, { perSecond: rate, ms });
      // The last request in a second may count in the next one.
      expect(Math.abs(perSecond(window, now) - rate)).toBeLessThanOrEqual(1 + rate * 0.001);
    }),
  );
});

test('the window detects a burst within two seconds and measures it in full within six, regardless of the earlier traffic', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 10_000_000 }),
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 100, max: 2_000 }),
      (quietMs, before, rate) => {
        const window = new DemandWindow(0);
        load(window, 0, { perSecond: before, ms: 3_000 });
        const begins = 3_000 + quietMs;
        load(window, begins, { perSecond: rate, ms: 2_000 });
        expect(perSecond(window, begins + 2_000)).toBeGreaterThanOrEqual(rate / 4);
        load(window, begins + 2_000, { perSecond: rate, ms: 4_000 });
        expect(perSecond(window, begins + 6_000)).toBeGreaterThanOrEqual(rate * 0.95);
      },
    ),
    { numRuns: 50 },
  );
});

test('the window does not mistake a few simultaneous requests for thousands per second', () => {
  const window = new DemandWindow(0);
  for (let n = 0; n < 5; n++) window.add(60_000);
  expect(perSecond(window, 60_000)).toBe(5);
  expect(window.perMs(3, 60_000) * 1_000).toBe(8);
});

test('the rate drops to zero within ten seconds after traffic ends', () => {
  const window = new DemandWindow(0);
  const ended = load(window, 0, { perSecond: 100, ms: 30_000 });
  expect(perSecond(window, ended + 4_000)).toBeGreaterThan(50);
  expect(perSecond(window, ended + 10_000)).toBe(0);
});
