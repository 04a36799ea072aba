import type { RejectedRequest } from '@standin/gateway';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { boundRejected } from './bound-rejected.ts';
import type { DevOutput } from './dev-output.ts';

const REJECTED: RejectedRequest = { code: 'api_key_missing', status: 401, method: 'GET', path: '/x' };

let said: string[];
let output: DevOutput;
const reject = (count: number): void => {
  for (let n = 0; n < count; n++) output.rejected({ ...REJECTED, path: `/${n}` });
};

beforeEach(() => {
  vi.useFakeTimers();
  said = [];
  const inner: Partial<DevOutput> = {
    rejected: ({ path }) => said.push(path),
    moreRejected: (count) => said.push(`${count} more`),
    stopping: () => said.push('stopping'),
  };
  output = boundRejected(inner as DevOutput);
});
afterEach(() => {
  vi.useRealTimers();
});

test('five rejected requests of a second are shown, and no more is said of them', () => {
  reject(5);
  vi.advanceTimersByTime(5_000);
  expect(said).toEqual(['/0', '/1', '/2', '/3', '/4']);
});

test('of a flood the first five of each second are shown, then how many more there were', () => {
  reject(1_000);
  expect(said).toHaveLength(5);
  vi.advanceTimersByTime(1_000);
  expect(said.slice(5)).toEqual(['995 more']);
  reject(6);
  vi.advanceTimersByTime(999);
  expect(said.slice(6)).toEqual(['/0', '/1', '/2', '/3', '/4']);
  vi.advanceTimersByTime(1);
  expect(said.slice(11)).toEqual(['1 more']);
});

test('what is left to say is said before the end', () => {
  reject(7);
  output.stopping();
  vi.advanceTimersByTime(5_000);
  expect(said.slice(5)).toEqual(['2 more', 'stopping']);
});
