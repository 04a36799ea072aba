import type { DelayConfig } from '@standin/contract';
import { describe, expect, test } from 'vitest';
import { delayUs } from './delay.ts';

/** Ids as the gateway creates them: a common time, then random bits. */
const ids = Array.from({ length: 20_000 }, (_, index) => {
  const random = (Math.imul(index + 1, 0x9e3779b1) >>> 0).toString(16).padStart(8, '0');
  return `019ab3c4-5d6e-7${random.slice(0, 3)}-a${random.slice(3, 6)}-00000000${random.slice(6)}00`;
});
const samples = (delay: DelayConfig): number[] => ids.map((id) => delayUs(delay, id) / 1_000).sort((a, b) => a - b);
const percentile = (sorted: readonly number[], part: number): number => sorted[Math.floor(part * sorted.length)] ?? NaN;

test('without a configuration, there is no delay', () => {
  expect(delayUs(undefined, ids[0] ?? '')).toBe(0);
});

test('a fixed delay is the same for all requests', () => {
  expect(new Set(samples({ kind: 'Fixed', fixedMs: 200 }))).toEqual(new Set([200]));
});

test('uniform delays are spread evenly between the limits', () => {
  const sorted = samples({ kind: 'Uniform', minMs: 10, maxMs: 50 });
  expect(sorted[0]).toBeGreaterThanOrEqual(10);
  expect(sorted.at(-1)).toBeLessThanOrEqual(50);
  for (const part of [0.1, 0.25, 0.5, 0.75, 0.9])
    expect(Math.abs(percentile(sorted, part) - (10 + part * 40))).toBeLessThan(0.8);
});

test('equal limits are a fixed delay', () => {
  expect(new Set(samples({ kind: 'Uniform', minMs: 7, maxMs: 7 }))).toEqual(new Set([7]));
  expect(new Set(samples({ kind: 'LogNormal', medianMs: 7, p99Ms: 7 }))).toEqual(new Set([7]));
});

describe('log-normal delays', () => {
  const sorted = samples({ kind: 'LogNormal', medianMs: 120, p99Ms: 900 });

  test('have the median and the 99th percentile of the configuration', () => {
    expect(percentile(sorted, 0.5) / 120).toBeCloseTo(1, 1);
    expect(percentile(sorted, 0.99) / 900).toBeCloseTo(1, 1);
    // In a log-normal distribution, both sides of the median are symmetric on a logarithmic scale.
    expect(percentile(sorted, 0.01) / (120 ** 2 / 900)).toBeCloseTo(1, 1);
  });

  test('are never longer than five minutes', () => {
    const long = samples({ kind: 'LogNormal', medianMs: 200_000, p99Ms: 300_000 });
    expect(long.at(-1)).toBe(300_000);
    expect(long.filter((ms) => ms === 300_000).length / long.length).toBeCloseTo(0.01, 2);
  });
});

test('the same request always has the same delay', () => {
  const id = '019ab3c4-5d6e-7f80-9a1b-2c3d4e5f6071';
  expect(delayUs({ kind: 'Uniform', minMs: 10, maxMs: 50 }, id)).toBe(21_618);
  expect(delayUs({ kind: 'LogNormal', medianMs: 120, p99Ms: 900 }, id)).toBe(318_915);
});
