import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { drawnNumber } from './draw.ts';

describe('a seed and a key draw the same number in all versions', () => {
  test.each([
    ['pr-42', '1', 38.5575],
    ['pr-42', '2', 31.6041],
    ['pr-42', '3', 4.9181],
    ['pr-43', '1', 49.3824],
    ['check-out/payment-fails', '21', 1.7543],
    ['pr-42', 'order-1001', 76.5841],
    ['pr-42', 'order-1002', 24.525],
    ['create-order/declined', '019ab3c4-5d6e-7f80-9a1b-2c3d4e5f6071', 41.2882],
    ['create-order/declined', '019ab3c4-5d6e-7f80-9a1b-2c3d4e5f6072', 21.3591],
    ['create-order/slow', '019ab3c4-5d6e-7f80-9a1b-2c3d4e5f6071', 30.6548],
    ['0', '00000000-0000-0000-0000-000000000000', 72.1562],
    // The boundary between seed and key counts.
    ['a', 'b","c', 82.893],
    ['a","b', 'c', 35.7202],
    ['a\\', 'b', 20.9908],
    ['a', '\\b', 97.9146],
    ['ü', '日本', 91.7577],
    ['ü', '日本\u0301', 97.8553],
    ['\0', '\n', 5.0563],
    ['x'.repeat(256), 'y'.repeat(256), 76.3488],
    ['🎲', '🎲', 61.0213],
  ])('%j, %j', (seed, key, drawn) => {
    expect(drawnNumber(seed, key)).toBe(drawn);
  });
});

test('any seed and key draw a number with at most four decimals', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (seed, key) => {
      const drawn = drawnNumber(seed, key);
      expect(drawn).toBeGreaterThanOrEqual(0);
      expect(drawn).toBeLessThan(100);
      expect(Math.round(drawn * 10_000) / 10_000).toBe(drawn);
    }),
  );
});

describe('100,000 keys draw all numbers equally often', () => {
  const KEYS = 100_000;
  const GROUPS = 100;
  /** With 99 degrees of freedom, one seed of 100,000 exceeds this by chance. The seeds here do not. */
  const CHI_SQUARE_MAX = 168;

  test.each<[string, (index: number) => string]>([
    ['sequential numbers', String],
    ['numbers of ten digits', (index) => String(index).padStart(10, '0')],
    ['UUIDs of the same millisecond', (index) => `019ab3c4-5d6e-7000-8000-${index.toString(16).padStart(12, '0')}`],
    ['UUIDs that differ in the last bits of the time', (index) => `019ab3${index.toString(16).padStart(6, '0')}-7000`],
    ['keys that differ only at the beginning', (index) => `${index}${'x'.repeat(200)}`],
  ])('%s', (_, key) => {
    for (const seed of ['pr-1', 'pr-2', 'pr-3', '']) {
      const drawn = Array.from({ length: KEYS }, (__, index) => Math.floor(drawnNumber(seed, key(index))));
      const counts = [...Map.groupBy(drawn, (group) => group).values()].map(({ length }) => length);
      expect(counts).toHaveLength(GROUPS);
      const expected = KEYS / GROUPS;
      const chiSquare = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
      expect(chiSquare, seed).toBeLessThan(CHI_SQUARE_MAX);
    }
  });
});

test('different seeds draw independently', () => {
  const keys = Array.from({ length: 100_000 }, (_, index) => String(index));
  const both = keys.filter((key) => drawnNumber('a', key) < 10 && drawnNumber('b', key) < 10);
  // 1,000 are expected. The standard deviation is 31.
  expect(Math.abs(both.length - 1_000)).toBeLessThan(160);
});
