import { LIMITS } from '@standin/contract';
import { describe, expect, it } from 'vitest';
import { cursor, formatCursor, lifetime, limit, timeout } from './parameters.ts';

describe('the lifetime of a link', () => {
  it.each(['1ms', '1h', `${LIMITS.shareLifetimeMsMax}ms`])('can be %s', (text) => {
    expect(lifetime.safeParse(text).success).toBe(true);
  });
  it.each(['0s', '-1h', '1', 'soon', `${LIMITS.shareLifetimeMsMax + 1}ms`])('cannot be %s', (text) => {
    expect(lifetime.safeParse(text).success).toBe(false);
  });
  it('is a day by default', () => {
    expect(lifetime.parse(undefined)).toBe(86_400_000);
  });
});

it('a wait can have no time, and has a limit', () => {
  const wait = timeout('10s', '');
  expect([wait.parse(undefined), wait.parse('0s')]).toEqual([10_000, 0]);
  expect(wait.safeParse('1d').success).toBe(false);
});

it('a limit is a positive integer', () => {
  expect(['0', '1.5', '-1', 'x', '10001'].filter((text) => limit.safeParse(text).success)).toEqual([]);
  expect(limit.parse('10000')).toBe(10_000);
});

it('a cursor is read as it was written, and nothing else is', () => {
  const place = { receivedAt: '2026-11-21T10:00:00.123456Z', id: '0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe' };
  expect(cursor.parse(formatCursor(place))).toEqual(place);
  const others = [
    `${place.receivedAt}_${place.id}x`,
    `x${place.receivedAt}_${place.id}`,
    `${place.receivedAt}${place.id}`,
    '',
  ];
  for (const text of others) expect(cursor.safeParse(Buffer.from(text).toString('base64url')).success).toBe(false);
});
