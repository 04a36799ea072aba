import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cpuMs } from './cpu-time.testing.ts';
import { FairSelection } from './fair-selection.ts';

const numbered = (index: number): string => `shop-${String(index).padStart(4, '0')}`;

/** Adds as many objects of each namespace as `counts` says. Returns the number of those that are selected, by namespace. */
const select = (max: number, counts: readonly number[]): number[] => {
  const selection = new FairSelection(max);
  for (const [team, count] of counts.entries())
    for (let index = 0; index < count; index += 1) selection.add(`team-${team}`, numbered(index));
  return counts.map(
    (count, team) =>
      Array.from({ length: count }, (_, index) => selection.has(`team-${team}`, numbered(index))).filter(Boolean)
        .length,
  );
};

test.each([
  [[600], [500]],
  [[500], [500]],
  [
    [600, 600],
    [250, 250],
  ],
  [
    [600, 5],
    [495, 5],
  ],
  [
    [600, 600, 5],
    [247, 247, 5],
  ],
])('of 500, namespaces with %j objects have %j', (counts, selected) => {
  expect(select(500, counts)).toEqual(selected);
});

test('a namespace has at least one object, if there are not more namespaces than places', () => {
  expect(select(4, [9, 9, 9, 9])).toEqual([1, 1, 1, 1]);
  expect(select(4, [9, 9, 9, 9, 9])).toEqual([1, 1, 1, 1, 0]);
});

test('the selection depends only on the objects that there are, and never exceeds the maximum', () => {
  const object = fc.record({ team: fc.constantFrom('a', 'b', 'c', 'd'), index: fc.nat(9) });
  const property = fc.property(
    fc.array(object),
    fc.array(object),
    fc.integer({ min: 1, max: 20 }),
    (put, gone, max) => {
      const direct = new FairSelection(max);
      const removed = new Set(gone.map(({ team, index }) => `${team}/${index}`));
      const left = put.filter(({ team, index }) => !removed.has(`${team}/${index}`));
      for (const { team, index } of left) direct.add(team, numbered(index));
      const changed = new FairSelection(max);
      for (const { team, index } of [...gone, ...put.toReversed()]) {
        changed.add(team, numbered(index));
        changed.has(team, numbered(index));
      }
      for (const { team, index } of gone) changed.delete(team, numbered(index));
      const all = [...new Set([...put, ...gone].map(({ team, index }) => `${team}/${index}`))];
      const selected = (selection: FairSelection): string[] =>
        all.filter((one) => selection.has(one.slice(0, 1), numbered(Number(one.slice(2)))));
      expect(selected(changed)).toEqual(selected(direct));
      expect(selected(direct).length).toBeLessThanOrEqual(max);
      expect([...changed].sort()).toEqual(
        selected(direct)
          .map((one) => numbered(Number(one.slice(2))))
          .sort(),
      );
    },
  );
  fc.assert(property);
});

test('the time of a change does not grow with the number of objects of its namespace', () => {
  const COUNT = 16_000;
  const name = (index: number): string => `shop-${(index * 9_973) % COUNT}`;
  const selection = new FairSelection(500);
  for (let index = 0; index < COUNT; index += 1) selection.add('team-a', name(index));
  const change = (): void => {
    for (let index = 0; index < 300; index += 1) {
      selection.delete('team-a', name(index));
      selection.add('team-a', name(index));
      selection.has('team-a', 'shop-1');
    }
  };
  expect(cpuMs(change, 100)).toBeLessThan(100);
});
