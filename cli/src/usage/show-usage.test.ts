import { expect, test } from 'vitest';
import { formatUsage } from './show-usage.ts';

const ACCOUNT = { namespace: 'team-a', name: 'default' };
const usage = {
  month: '2026-11',
  used: 0,
  resetsOn: '2026-12-01',
  total: 0,
  days: [],
  endpoints: [],
  otherRequests: 0,
};
const endpoint = (name: string, requests: number) => ({
  namespace: 'team-a',
  project: 'shop',
  endpoint: name,
  requests,
});

test('an account without a quota shows only counts', () => {
  expect(formatUsage(ACCOUNT, usage)).toEqual(['team-a/default, 2026-11: 0 requests, no quota']);
});

test('usage shows the share of the quota, the reset, the forecast and the endpoints', () => {
  const endpoints = [endpoint('create-order', 80_000), endpoint('list', 7)];
  const lines = formatUsage(ACCOUNT, {
    ...usage,
    used: 80_010,
    quota: 100_000,
    usedUpOn: '2026-11-25',
    endpoints,
    otherRequests: 3,
    storedBytes: 40_961,
  });
  expect(lines).toEqual([
    'team-a/default, 2026-11: 80,010 of 100,000 requests (80.0 %)',
    'resets on 2026-12-01; requests over the quota are rejected with 429',
    'at this month’s rate, the quota will be used up on 2026-11-25',
    'stored bodies: 40,961 bytes before compression',
    '',
    'PROJECT          ENDPOINT      REQUESTS',
    'team-a/shop      create-order    80,000',
    'team-a/shop      list                 7',
    'other endpoints                       3',
  ]);
});

test('usage is shown even if the log is unavailable', () => {
  const lines = formatUsage(ACCOUNT, { ...usage, used: 7, quota: 10, logFailure: 'ClickHouse is unavailable.' });
  expect(lines).toEqual([
    'team-a/default, 2026-11: 7 of 10 requests (70.0 %)',
    'resets on 2026-12-01; requests over the quota are rejected with 429',
    'usage by endpoint is unavailable: ClickHouse is unavailable.',
  ]);
});

test('a quota of 0 has no percentage', () => {
  expect(formatUsage(ACCOUNT, { ...usage, quota: 0 })).toContain('team-a/default, 2026-11: 0 of 0 requests');
});
