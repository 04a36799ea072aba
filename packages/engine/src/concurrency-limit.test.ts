import { describe, expect, test } from 'vitest';
import { createGate, GateFullError } from './concurrency-limit.ts';

describe('createGate', () => {
  test('runs tasks up to its limit, queues others in order, and rejects the rest', async () => {
    const gate = createGate(2, 2);
    const started: number[] = [];
    const ends = new Map<number, () => void>();
    const task = (number: number) => () =>
      new Promise<void>((resolve) => {
        started.push(number);
        ends.set(number, resolve);
      });
    const running = [1, 2, 3, 4].map((number) => gate.run(task(number)));
    await expect(gate.run(task(5))).rejects.toThrow(GateFullError);
    expect(started).toEqual([1, 2]);
    ends.get(2)?.();
    await running[1];
    expect(started).toEqual([1, 2, 3]);
    ends.get(1)?.();
    await running[0];
    ends.get(3)?.();
    ends.get(4)?.();
    await Promise.all(running);
    expect(started).toEqual([1, 2, 3, 4]);
  });

  test('frees the slot of a failed task', async () => {
    const gate = createGate(1, 0);
    await expect(gate.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await gate.run(() => Promise.resolve('yes'))).toBe('yes');
  });
});
