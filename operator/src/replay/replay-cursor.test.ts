import { expect, test } from 'vitest';
import { formatPosition, parsePosition, ReplayCursor } from './replay-cursor.ts';

const at = (n: number) => ({
  id: `0197a3c2-6f5e-7d11-8a55-${String(n).padStart(12, '0')}`,
  receivedAt: `2026-11-21T09:00:0${n}.000001Z`,
});

test('moves past a request only when everything before it is done', () => {
  const cursor = new ReplayCursor(undefined);
  const [one, two, three] = [cursor.begin(at(1)), cursor.begin(at(2)), cursor.begin(at(3))];
  two();
  expect(cursor.position).toBeUndefined();
  one();
  expect(cursor.position).toEqual({ at: at(2), count: 2 });
  three();
  expect(cursor.position).toEqual({ at: at(3), count: 3 });
});

test('continues counting from its start', () => {
  const cursor = new ReplayCursor({ at: at(1), count: 7 });
  cursor.begin(at(2))();
  expect(cursor.position?.count).toBe(8);
});

test('a written position is parsed, and other text is not', () => {
  const position = { at: at(1), count: 12 };
  expect(parsePosition(formatPosition(position))).toEqual(position);
  for (const text of [undefined, '', '1', 'x 2026-11-21T09:00:00Z id', `1 yesterday ${at(1).id}`])
    expect(parsePosition(text)).toBeUndefined();
});
