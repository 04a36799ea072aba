import { describe, expect, test } from 'vitest';
import { acceptedRequests, quotaFinding, shownUsage, type QuotaUsage } from './usage.ts';

test('accepted requests are those in closed blocks and those reported for open blocks, up to their permits', () => {
  const block = { gateway: 'a', instance: 'a', serial: 1, permits: 10, grantedAtMs: 0 };
  const ledger = { period: '2026-11', used: 5, blocks: [1, 2, 3].map((n) => ({ ...block, id: `b${n}` })) };
  const spent = new Map([
    ['b1', 4],
    ['b2', 99],
  ]);
  expect(acceptedRequests(ledger, spent, '2026-11')).toBe(19);
  expect(acceptedRequests(ledger, spent, '2026-12')).toBe(0);
});

test.each([
  [0, 100, false, true, 'QuotaAvailable'],
  [79, 100, false, true, 'QuotaAvailable'],
  [80, 100, false, true, 'QuotaNearlyUsedUp'],
  [99, 100, false, true, 'QuotaNearlyUsedUp'],
  [100, 100, false, false, 'QuotaUsedUp'],
  [120, 100, false, false, 'QuotaUsedUp'],
  [60, 100, true, false, 'QuotaUsedUp'],
  [0, 0, false, false, 'QuotaUsedUp'],
] as const)(
  '%i of %i requests, with permits refused (%s), have the correct condition',
  (...[accepted, quota, isExhausted, ok, reason]) => {
    expect(quotaFinding({ period: '2026-11', accepted, quota, isExhausted })).toMatchObject({ ok, reason });
  },
);

describe('the shown usage', () => {
  const NOVEMBER = { quota: 10_000, period: '2026-11' };
  const statusWith = (reason: string, usage: object = {}) => ({
    usage: { period: '2026-11', accepted: 8_500, quota: 10_000, ...usage },
    conditions: [
      {
        type: 'QuotaAvailable',
        status: 'True',
        reason,
        message: '',
        lastTransitionTime: '2026-11-20T10:00:00Z',
      },
    ],
  });
  const reported = (accepted: number, more: object = {}) => ({
    period: '2026-11',
    accepted,
    granted: 9_000,
    quota: 10_000,
    isExhausted: undefined,
    ...more,
  });
  const shown = (usage: QuotaUsage | undefined, status: unknown) => {
    const found = shownUsage(usage, status, NOVEMBER);
    return found && [found.period, found.accepted, quotaFinding(found).reason];
  };

  test.each([
    ['gateways report to a new leader', reported(4_500), statusWith('QuotaNearlyUsedUp'), 8_500, 'QuotaNearlyUsedUp'],
    ['gateways report a higher number', reported(8_700), statusWith('QuotaNearlyUsedUp'), 8_700, 'QuotaNearlyUsedUp'],
    ['no gateway has been refused permits again yet', reported(4_500), statusWith('QuotaUsedUp'), 8_500, 'QuotaUsedUp'],
    [
      'a gateway has received permits again',
      reported(4_500, { isExhausted: false }),
      statusWith('QuotaUsedUp'),
      8_500,
      'QuotaNearlyUsedUp',
    ],
    ['the quota has changed', reported(4_500, { quota: 20_000 }), statusWith('QuotaUsedUp'), 8_500, 'QuotaAvailable'],
    ['the ledger has been removed', reported(0, { granted: 3 }), statusWith('QuotaNearlyUsedUp'), 3, 'QuotaAvailable'],
    [
      'the status is from a different month',
      reported(7),
      statusWith('QuotaUsedUp', { period: '2026-10' }),
      7,
      'QuotaAvailable',
    ],
    ['the status is invalid', reported(7), 'text', 7, 'QuotaAvailable'],
  ] as const)('is correct while %s', (...[, usage, status, accepted, reason]) => {
    expect(shown(usage, status)).toEqual(['2026-11', accepted, reason]);
  });

  test('does not change for an account without requests until the month is over', () => {
    expect(shown(undefined, statusWith('QuotaUsedUp'))).toBeUndefined();
    expect(shown(undefined, statusWith('QuotaUsedUp', { period: '2026-12' }))).toBeUndefined();
    expect(shown(undefined, {})).toBeUndefined();
    expect(shown(undefined, statusWith('QuotaUsedUp', { period: '2026-10' }))).toEqual([
      '2026-11',
      0,
      'QuotaAvailable',
    ]);
  });

  test('reports a quota of 0 without any request, until the quota is raised', () => {
    const zero = shownUsage(undefined, { usage: { quota: 0 } }, { ...NOVEMBER, quota: 0 });
    expect(zero).toMatchObject({ period: '2026-11', accepted: 0, quota: 0 });
    expect(quotaFinding(zero ?? reported(0))).toMatchObject({ ok: false, reason: 'QuotaUsedUp' });
    const lowered = shownUsage(undefined, statusWith('QuotaAvailable'), { ...NOVEMBER, quota: 0 });
    expect(lowered).toMatchObject({ accepted: 8_500, quota: 0 });
    const raised = { usage: { period: '2026-11', accepted: 0, quota: 0 } };
    expect(shown(undefined, raised)).toEqual(['2026-11', 0, 'QuotaAvailable']);
  });
});
