import { getEventListeners } from 'node:events';
import { expect, test, vi } from 'vitest';
import { systemClock } from './clock.ts';

test.each([
  ['its time is over', () => vi.advanceTimersByTime(60_000)],
  ['it is aborted', (stop: AbortController) => stop.abort()],
])('a sleep leaves neither a timer nor a listener when %s', async (_, end) => {
  vi.useFakeTimers();
  const stop = new AbortController();
  const slept = systemClock.sleep(60_000, stop.signal);
  expect([vi.getTimerCount(), getEventListeners(stop.signal, 'abort').length]).toEqual([1, 1]);
  end(stop);
  await slept;
  expect([vi.getTimerCount(), getEventListeners(stop.signal, 'abort').length]).toEqual([0, 0]);
  vi.useRealTimers();
});
