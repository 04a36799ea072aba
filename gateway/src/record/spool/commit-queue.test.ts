import { expect, test } from 'vitest';
import { CommitQueue, type CommitBatch } from './commit-queue.ts';

const queueWith = (...texts: readonly string[]): CommitQueue => {
  const queue = new CommitQueue(1_000_000);
  for (const text of texts) void addTo(queue, text);
  return queue;
};

/** Adds a string. An upper-case string must be kept. */
const addTo = (queue: CommitQueue, text: string): Promise<boolean> =>
  queue.add(text.length, (block, offset) => block.write(text, offset), text === text.toUpperCase());

const taken = (queue: CommitQueue): CommitBatch => {
  const batch = queue.take();
  if (batch === undefined) throw new Error('no record is waiting');
  return batch;
};

test('records that must be kept stay in order after the others are refused', async () => {
  const queue = new CommitQueue(1_000_000);
  const answers = ['A', 'b', 'C', 'd'].map((text) => addTo(queue, text));
  expect(queue.refuse()).toEqual([2]);
  const batch = taken(queue);
  expect([batch.rows.toString(), batch.ends]).toEqual(['AC', [1, 2]]);
  batch.settle('segment', 0);
  expect(await Promise.all(answers)).toEqual([true, false, true, false]);
});

test('the batch that remains after a refusal is not recycled, because its memory is shared', () => {
  const queue = queueWith('A', 'b');
  queue.refuse();
  const left = taken(queue);
  queue.recycle(left);
  for (const text of ['one', 'two', 'three']) {
    void addTo(queue, text);
    expect(taken(queue).rows.buffer).not.toBe(left.rows.buffer);
  }
  expect(left.rows.toString()).toBe('A');
});
