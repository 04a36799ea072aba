import type { ReplayResult } from '@standin/logstore';
import { expect, test } from 'vitest';
import { ResultBuffer } from './result-buffer.ts';

const MIB = 1024 * 1024;
const result = (bytes = 0): ReplayResult =>
  ({ responseBody: Buffer.alloc(bytes), sentBody: Buffer.alloc(0) }) as unknown as ReplayResult;

const setUp = (gatherMs = 1) => {
  const batches: number[] = [];
  let isUnavailable = false;
  const insert = (results: readonly ReplayResult[]): Promise<void> => {
    if (isUnavailable) return Promise.reject(new Error('unavailable'));
    batches.push(results.length);
    return Promise.resolve();
  };
  const buffer = new ResultBuffer({ insert, gatherMs, retry: (work) => work() });
  return { batches, buffer, disconnect: () => (isUnavailable = true), connect: () => (isUnavailable = false) };
};

test('results in quick succession are stored together', async () => {
  const { batches, buffer } = setUp();
  await Promise.all([buffer.add(result()), buffer.add(result()), buffer.add(result())]);
  expect(batches).toEqual([3]);
});

test('a batch is limited in rows and bytes', async () => {
  const { batches, buffer } = setUp(60_000);
  const rows = Promise.all(Array.from({ length: 201 }, () => buffer.add(result())));
  await buffer.flush();
  await rows;
  expect(batches).toEqual([200, 1]);
  const large = Promise.all([buffer.add(result(6 * MIB)), buffer.add(result(6 * MIB))]);
  await buffer.flush();
  await large;
  expect(batches.slice(2)).toEqual([1, 1]);
});

test('there is no room for more results while too many are waiting to be stored', async () => {
  const { batches, buffer } = setUp(60_000);
  const added = Array.from({ length: 450 }, () => buffer.add(result()));
  await buffer.room();
  expect(batches.length).toBeGreaterThan(0);
  await buffer.flush();
  await Promise.all(added);
});

test('a caller that awaits its result gets the error if storing fails', async () => {
  const { buffer, disconnect } = setUp();
  disconnect();
  await expect(buffer.add(result())).rejects.toThrow('unavailable');
});

test('results that could not be stored take no room', async () => {
  const { batches, buffer, disconnect, connect } = setUp(60_000);
  disconnect();
  await expect(buffer.add(result(8 * MIB))).rejects.toThrow('unavailable');
  connect();
  const added = buffer.add(result());
  await new Promise(setImmediate);
  // Without room, it would be stored immediately.
  expect(batches).toEqual([]);
  await buffer.flush();
  await added;
});
