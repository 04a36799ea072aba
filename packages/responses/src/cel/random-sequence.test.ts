import { expect, test } from 'vitest';
import { RandomSequence } from './random-sequence.ts';

/** Returns an id as gateways create them: many have the same first 48 bits, the time. */
const requestId = (index: number): string => `0190a9b2-1111-7222-8333-${index.toString(16).padStart(12, '0')}`;

test('a million requests have a million UUIDs', { timeout: 120_000 }, () => {
  const uuids = new Set<string>();
  for (let index = 0; index < 1_000_000; index++) uuids.add(new RandomSequence(requestId(index)).uuid());
  expect(uuids.size).toBe(1_000_000);
});

test('a UUID has version 4, the variant of RFC 9562, and random digits everywhere else', () => {
  const uuids = Array.from({ length: 500 }, (_, index) => new RandomSequence(requestId(index)).uuid());
  const digits = Array.from('0123456789abcdef');
  for (const [at, place] of Array.from('xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx').entries()) {
    const possible = place === 'x' ? digits : place === 'y' ? ['8', '9', 'a', 'b'] : [place];
    expect([...new Set(uuids.map((uuid) => uuid.charAt(at)))].toSorted()).toEqual(possible);
  }
});

test('a real number has 53 random bits', () => {
  const sequence = new RandomSequence(requestId(1));
  const values = Array.from({ length: 1_000 }, () => sequence.real());
  expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...values)).toBeLessThan(1);
  expect(values.filter((value) => !Number.isInteger(value * 2 ** 52)).length).toBeGreaterThan(400);
  expect(values.every((value) => Number.isInteger(value * 2 ** 53))).toBe(true);
});
