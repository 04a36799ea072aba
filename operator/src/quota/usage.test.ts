import { expect, test } from 'vitest';
import { acceptedOf, quotaFinding } from './usage.ts';

test('what is accepted: closed blocks, and what open ones are said to have spent, never more than they have', () => {
  const block = { gateway: 'a', instance: 'a', serial: 1, permits: 10, grantedAtMs: 0 };
  const ledger = { period: '2026-11', used: 5, blocks: [1, 2, 3].map((n) => ({ ...block, id: `b${n}` })) };
  const spent = new Map([
    ['b1', 4],
    ['b2', 99],
  ]);
  expect(acceptedOf(ledger, spent, '2026-11')).toBe(19);
  expect(acceptedOf(ledger, spent, '2026-12')).toBe(0);
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
] as const)('%i of %i, a gateway got none: %s', (...[accepted, quota, isExhausted, ok, reason]) => {
  expect(quotaFinding({ period: '2026-11', accepted, quota, isExhausted })).toMatchObject({ ok, reason });
});
