import { expect, it } from 'vitest';
import { inTime, LOG_TIMED_OUT } from './log-timeout.ts';

it('returns the result of a read in time', async () => {
  expect(await inTime(Promise.resolve('row'), 1_000)).toBe('row');
});

it('rejects with the error of a failed read', async () => {
  await expect(inTime(Promise.reject(new Error('no route')), 1_000)).rejects.toThrow('no route');
});

it('rejects with a LogStoreError after the timeout', async () => {
  const { promise } = Promise.withResolvers<never>();
  await expect(inTime(promise, 1)).rejects.toMatchObject({ name: 'LogStoreError', code: LOG_TIMED_OUT });
});
