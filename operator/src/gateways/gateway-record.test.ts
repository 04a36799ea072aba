import { expect, test } from 'vitest';
import { currentMembers, newProcess } from './gateway-record.ts';

test.each([
  [5_000, 0, 0],
  [0, 5_000, 0],
  [5_000, 10_000, 10_000],
])(
  'of two gateways with one name, the next leader knows the longer maxStalenessMs, of which 0 is forever: %d and %d',
  (one, other, stored) => {
    const processes = [newProcess('a', 'a-1', one), newProcess('a', 'a-2', other)];
    expect(currentMembers(processes, [], [])).toEqual([{ name: 'a', maxStalenessMs: stored }]);
  },
);
