import type { Usage } from '@standin/logstore';
import { describe, expect, it } from 'vitest';
import { utcMonth, toUsageView } from './usage-view.ts';

const NOW = new Date('2026-11-21T00:00:00Z');
const endpoint = { namespace: 'default', project: 'shop', projectUid: 'p', endpoint: 'orders' };
const usage: Usage = {
  days: [
    { day: '2026-11-01', requests: 60 },
    { day: '2026-11-20', requests: 40 },
  ],
  endpoints: [{ ...endpoint, requests: 70 }],
  storedBytes: 4_096,
};

describe('the monthly usage view', () => {
  it('contains every day, and the number of requests to endpoints that are not listed', () => {
    const { month, days, total, otherRequests, storedBytes } = toUsageView(usage, {}, NOW);
    expect(month).toBe('2026-11');
    expect(days).toHaveLength(30);
    expect([days[0], days[1], days[19], days.at(-1)]).toEqual([
      { day: '2026-11-01', requests: 60 },
      { day: '2026-11-02', requests: 0 },
      { day: '2026-11-20', requests: 40 },
      { day: '2026-11-30', requests: 0 },
    ]);
    expect({ total, otherRequests, storedBytes }).toEqual({ total: 100, otherRequests: 30, storedBytes: 4_096 });
  });

  it.each([
    // 100 requests in 20 days are 5 per day.
    [125, '2026-11-26'],
    [149, '2026-11-30'],
    [150, undefined],
    [100, undefined],
    [undefined, undefined],
  ])('predicts that a quota of %s is used up on %s', (quota, day) => {
    expect(toUsageView(usage, { quota }, NOW).usedUpOn).toBe(day);
  });

  it.each([
    ['2026-11', 50, undefined],
    ['2026-10', 100, '2026-11-26'],
    [undefined, 100, '2026-11-26'],
  ])('uses the operator’s count only if it is for this month (%s)', (period, used, usedUpOn) => {
    const view = toUsageView(usage, { period, accepted: 50, quota: 125 }, NOW);
    expect(view).toMatchObject({ total: 100, used, usedUpOn, resetsOn: '2026-12-01', isExact: used === 50 });
  });

  it('uses the operator’s count if the log is unavailable, and reports the reason', () => {
    const logFailure = 'Cannot read from ClickHouse (ECONNREFUSED).';
    expect(toUsageView({ logFailure }, { period: '2026-11', accepted: 100, quota: 125 }, NOW)).toEqual({
      month: '2026-11',
      used: 100,
      isExact: true,
      quota: 125,
      resetsOn: '2026-12-01',
      usedUpOn: '2026-11-26',
      total: 0,
      days: [],
      endpoints: [],
      otherRequests: 0,
      logFailure,
    });
  });

  it('does not predict a date when there are no requests', () => {
    expect(
      toUsageView({ days: [], endpoints: [], storedBytes: 0 }, { quota: 10 }, new Date('2026-11-01T00:00:00Z'))
        .usedUpOn,
    ).toBeUndefined();
  });
});

it.each([
  ['2026-11-21T12:00:00Z', '2026-11-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z'],
  ['2026-12-31T23:59:59Z', '2026-12-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'],
])('the month of %s begins at %s and ends at %s', (now, from, to) => {
  const month = utcMonth(new Date(now));
  expect([month.from.toISOString(), month.to.toISOString()]).toEqual([from, to]);
});
