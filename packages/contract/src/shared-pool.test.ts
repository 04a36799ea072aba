import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SharedPool } from './shared-pool.ts';

/** Takes one at a time for each holder in turn until nobody gets more. Returns what each holder got. */
const fill = (pool: SharedPool, holders: readonly string[]): number[] => {
  while (holders.filter((holder) => pool.take(holder)).length > 0);
  return holders.map((holder) => pool.heldBy(holder));
};

test.each([
  [1, 500],
  [2, 333],
  [3, 250],
  [9, 100],
])('gives %i holders that want everything %i of 1,000 each', (count, share) => {
  const holders = Array.from({ length: count }, (_, index) => `team-${index}`);
  for (const amount of fill(new SharedPool(1_000), holders)) expect(Math.abs(amount - share)).toBeLessThanOrEqual(1);
});

test.each([
  [1, 800],
  [2, 444],
  [3, 307],
])('with a factor of 4, gives %i holders %i of 1,000 each', (count, share) => {
  const holders = Array.from({ length: count }, (_, index) => `team-${index}`);
  for (const amount of fill(new SharedPool(1_000, 4), holders)) expect(Math.abs(amount - share)).toBeLessThanOrEqual(4);
});

test('never gives more than there is, even if the factor would allow it', () => {
  const pool = new SharedPool(10, 4);
  expect([pool.take('a', 8), pool.take('b', 3), pool.take('b', 2)]).toEqual([true, false, true]);
});

test('counts refusals, but not questions', () => {
  const pool = new SharedPool(2);
  expect([pool.take('a'), pool.hasRoomFor('a'), pool.refused]).toEqual([true, false, 0]);
  expect([pool.take('a'), pool.admits('a'), pool.refused]).toEqual([false, false, 2]);
});

test('does not take what belongs to no holder for the largest share', () => {
  const pool = new SharedPool(10);
  pool.add('', 6);
  pool.add('a', 1);
  expect([pool.used, pool.largestShare]).toEqual([7, 1]);
});

test('keeps what a holder has when others arrive, and leaves room for each of them', () => {
  const pool = new SharedPool(1_000);
  expect(fill(pool, ['first'])).toEqual([500]);
  expect(fill(pool, ['second'])).toEqual([250]);
  expect(fill(pool, ['third'])).toEqual([125]);
  expect(pool.heldBy('first')).toBe(500);
  expect(pool.take('first')).toBe(false);
});

test('serves one holder even if there is only one place', () => {
  const pool = new SharedPool(1);
  expect([pool.take('a'), pool.take('a'), pool.take('b')]).toEqual([true, false, false]);
});

test('counts what cannot be refused, and refuses the holder until it has given it back', () => {
  const pool = new SharedPool(10);
  pool.add('a', 12);
  expect([pool.used, pool.take('a'), pool.take('b')]).toEqual([12, false, false]);
  pool.free('a', 12);
  expect([pool.used, pool.take('a')]).toEqual([0, true]);
});

test('takes exactly what the rule allows, whatever is taken and given back', () => {
  const step = fc.record({
    holder: fc.constantFrom('a', 'b', 'c', 'd'),
    kind: fc.constantFrom('take', 'take', 'take', 'free'),
    amount: fc.integer({ min: 1, max: 40 }),
  });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), fc.array(step, { maxLength: 200 }), (capacity, steps) => {
      const pool = new SharedPool(capacity);
      const model = new Map<string, number>();
      for (const { holder, kind, amount } of steps) {
        const held = model.get(holder) ?? 0;
        const free = capacity - [...model.values()].reduce((sum, one) => sum + one, 0);
        if (kind === 'free') {
          const returned = Math.min(held, amount);
          pool.free(holder, returned);
          model.set(holder, held - returned);
        } else {
          const isTaken = pool.take(holder, amount);
          expect(isTaken).toBe(held + amount <= free);
          if (isTaken) model.set(holder, held + amount);
        }
        const used = [...model.values()].reduce((sum, one) => sum + one, 0);
        expect([pool.used, pool.largestShare]).toEqual([used, Math.max(0, ...model.values())]);
        expect(used).toBeLessThanOrEqual(capacity);
      }
    }),
  );
});

test('forgets holders that have nothing', () => {
  const pool = new SharedPool(10);
  pool.add('kept', 1);
  for (let index = 0; index < 100_000; index += 1) {
    pool.take(`address-${index}`);
    pool.free(`address-${index}`);
  }
  expect([pool.used, pool.largestShare, pool.heldBy('kept')]).toEqual([1, 1, 1]);
});

describe('a holding', () => {
  test('gives everything back at the end of its scope, also if an error ends it, and only once', () => {
    const pool = new SharedPool(10);
    const fail = (): void => {
      using holding = pool.hold('a', 2);
      expect([holding?.take(2), holding?.take(4), holding?.amount]).toEqual([true, false, 4]);
      holding?.add(8);
      holding?.add(-1);
      expect([pool.heldBy('a'), pool.refused]).toEqual([11, 1]);
      holding?.[Symbol.dispose]();
      expect(pool.used).toBe(0);
      holding?.add(3);
      throw new Error('failed');
    };
    expect(fail).toThrow('failed');
    expect(pool.used).toBe(0);
  });

  test('does not exist if the share is used up', () => {
    const pool = new SharedPool(2);
    expect([pool.hold('a')?.amount, pool.hold('a'), pool.used, pool.refused]).toEqual([1, undefined, 1, 1]);
  });
});
