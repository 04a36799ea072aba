import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RowBuffer, splitBatch, type RowBatch } from './row-buffer.ts';

const rowTexts = ({ rows, ends }: RowBatch): string[] =>
  ends.map((end, index) => rows.subarray(ends[index - 1] ?? 0, end).toString());

test('rows come back unchanged, even from a split batch, and batches stay within their size', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ minLength: 1, maxLength: 40, unit: 'grapheme-ascii' })),
      fc.nat(),
      (rows, place) => {
        const buffer = new RowBuffer(100);
        const batches: RowBatch[] = [];
        for (const row of rows) {
          if (buffer.isFullFor(row.length)) batches.push(buffer.take());
          buffer.add(row.length, (block, offset) => block.write(row, offset));
        }
        batches.push(buffer.take());
        expect(batches.flatMap(rowTexts)).toEqual(rows);
        for (const batch of batches) {
          expect(batch.rows.length).toBeLessThanOrEqual(100);
          const middle = place % (batch.ends.length + 1);
          const [first, second] = splitBatch(batch, middle);
          expect([rowTexts(first).length, [...rowTexts(first), ...rowTexts(second)]]).toEqual([
            middle,
            rowTexts(batch),
          ]);
        }
      },
    ),
  );
});

test('only recycled memory is reused', () => {
  const buffer = new RowBuffer(1_000_000);
  const fill = (text: string): RowBatch => {
    buffer.add(text.length, (block, offset) => block.write(text, offset));
    return buffer.take();
  };
  const first = fill('a');
  const second = fill('b');
  buffer.recycle(first);
  const third = fill('c');
  const fourth = fill('d');
  expect([second, third, fourth].map((batch) => rowTexts(batch))).toEqual([['b'], ['c'], ['d']]);
  expect([third.rows.buffer === first.rows.buffer, fourth.rows.buffer === first.rows.buffer]).toEqual([false, true]);
});

test('a row that is larger than a batch gets its own batch', () => {
  const buffer = new RowBuffer(10);
  expect(buffer.isFullFor(1_000)).toBe(false);
  buffer.add(1_000, (block, offset) => block.fill(1, offset, offset + 1_000));
  expect(buffer.isFullFor(1)).toBe(true);
  expect(buffer.take().rows.length).toBe(1_000);
});
