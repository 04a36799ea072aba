import { expect, test } from 'vitest';
import { piecesOf } from './send-config.ts';

test('the chunks contain all lines, regardless of their number', () => {
  const lines = Array.from({ length: 5_000 }, (_, index) => `${index} ${'n'.repeat(200)}\n`);
  const pieces = [...piecesOf(lines)];
  expect(pieces.length).toBeGreaterThan(3);
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(300_000);
  expect(pieces.join('')).toBe(lines.join(''));
  expect([...piecesOf([])]).toEqual([]);
});
