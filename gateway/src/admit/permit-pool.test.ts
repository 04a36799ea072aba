import { describe, expect, test } from 'vitest';
import type { Permit } from '../request/accepted.ts';
import { PermitPool } from './permit-pool.ts';

const PERIOD = '2026-11';

const add = (pool: PermitPool, block: string, permits = 2): void => pool.add({ block, period: PERIOD, permits });

const take = (pool: PermitPool): Permit => {
  const permit = pool.take(0);
  if (permit === undefined) throw new Error('no permits are left');
  return permit;
};

const closed = (pool: PermitPool) => pool.report(1).closed;

describe('a permit that is given back', () => {
  test('can be taken again while its block is open', () => {
    const pool = new PermitPool(0);
    add(pool, 'b1', 1);
    pool.giveBack(take(pool));
    expect(pool.left).toBe(1);
    expect(take(pool)).toMatchObject({ block: 'b1', number: 2 });
  });

  test('is not left to take when its block is closing', () => {
    const pool = new PermitPool(0);
    add(pool, 'b1');
    const [used, refused] = [take(pool), take(pool)];
    pool.closeAll();
    pool.giveBack(refused);
    expect(pool.left).toBe(0);
    expect(pool.take(0)).toBeUndefined();
    pool.use(used);
    expect(closed(pool)).toEqual([{ block: 'b1', used: 1 }]);
  });
});

test('only 16 blocks wait for their requests: the count of the oldest becomes final, with the permits that are given back later', () => {
  const pool = new PermitPool(0);
  const permits = Array.from({ length: 17 }, (_, index) => {
    add(pool, `b${index}`, 1);
    const permit = take(pool);
    pool.closeAll();
    return permit;
  });
  expect(closed(pool)).toEqual([{ block: 'b0', used: 1 }]);
  expect(pool.report(1).held).toHaveLength(16);
  for (const permit of permits) pool.giveBack(permit);
  expect(closed(pool)).toEqual(permits.map(({ block }, index) => ({ block, used: index === 0 ? 1 : 0 })));
});
