import { expect, test } from 'vitest';
import { joinLines } from './send-config.ts';

test('the chunks contain all lines, regardless of their number', () => {
  const lines = Array.from({ length: 5_000 }, (_, index) => `${index} ${'n'.repeat(200)}\n`);
  const pieces = [...joinLines(lines)];
  expect(pieces.length).toBeGreaterThan(3);
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(300_000);
  expect(pieces.join('')).toBe(lines.join(''));
  expect([...joinLines([])]).toEqual([]);
});
