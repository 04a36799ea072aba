import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mergeValues } from './merge-values.ts';

interface Item {
  readonly name: string;
  readonly body: string;
}
interface Values {
  readonly slug: string;
  readonly status: string;
  readonly delay: { readonly type: string; readonly duration: string };
  readonly items: readonly Item[];
}

const text = fc.constantFrom('a', 'b', 'c');
const item: fc.Arbitrary<Item> = fc.record({ name: fc.constantFrom('one', 'two', 'three', 'four'), body: text });
const values: fc.Arbitrary<Values> = fc.record({
  slug: text,
  status: text,
  delay: fc.record({ type: text, duration: text }),
  items: fc.uniqueArray(item, { selector: ({ name }) => name, maxLength: 4 }),
});
const three = fc.tuple(values, values, values);

const property = (check: (base: Values, mine: Values, theirs: Values) => void): void =>
  fc.assert(
    fc.property(three, (versions) => check(...versions)),
    { numRuns: 1_000 },
  );

describe('a merge', () => {
  test('with an unchanged version is the other version, without collisions', () => {
    property((base, mine) => {
      expect(mergeValues(base, mine, base)).toEqual({ merged: mine, collisions: [], taken: [] });
      const { merged, collisions } = mergeValues(base, base, mine);
      expect({ merged, collisions }).toEqual({ merged: mine, collisions: [] });
    });
  });

  test('keeps the removal of a member with an inherited name', () => {
    const base = { toString: 'a', constructor: 'b', c: 'd' };
    expect(mergeValues<object>(base, { c: 'd' }, { ...base, c: 'e' })).toEqual({
      merged: { c: 'e' },
      collisions: [],
      taken: ['c'],
    });
  });

  test('of equal changes is that change', () => {
    property((base, mine) => {
      expect(mergeValues(base, mine, mine)).toEqual({ merged: mine, collisions: [], taken: [] });
    });
  });

  test('finds the same collisions when the sides are exchanged', () => {
    const paths = (collisions: readonly { path: string }[]): string[] => collisions.map(({ path }) => path).sort();
    property((base, mine, theirs) => {
      expect(paths(mergeValues(base, mine, theirs).collisions)).toEqual(
        paths(mergeValues(base, theirs, mine).collisions),
      );
    });
  });

  test('without collisions has the same values when the sides are exchanged', () => {
    property((base, mine, theirs) => {
      const { merged, collisions } = mergeValues(base, mine, theirs);
      if (collisions.length === 0) expect(merged).toEqual(mergeValues(base, theirs, mine).merged);
    });
  });

  test('contains the preferred value of each collision, and each value of one of the versions', () => {
    property((base, mine, theirs) => {
      for (const side of ['mine', 'theirs'] as const) {
        const { merged, collisions } = mergeValues(base, mine, theirs, () => side);
        const preferred = side === 'mine' ? mine : theirs;
        for (const field of ['slug', 'status'] as const) {
          if (collisions.some(({ path }) => path === field)) expect(merged[field]).toBe(preferred[field]);
          expect([mine[field], theirs[field]]).toContain(merged[field]);
          // A change of one side is never lost.
          if (mine[field] === base[field]) expect(merged[field]).toBe(theirs[field]);
        }
      }
    });
  });
});

const BASE: Values = {
  slug: '/a',
  status: '200',
  delay: { type: '', duration: '' },
  items: [
    { name: 'one', body: '1' },
    { name: 'two', body: '2' },
  ],
};

describe('merged lists', () => {
  test('combine changes of different items', () => {
    const mine = { ...BASE, items: [{ name: 'one', body: 'mine' }, BASE.items[1] as Item] };
    const theirs = { ...BASE, items: [BASE.items[0] as Item, { name: 'two', body: 'theirs' }] };
    expect(mergeValues(BASE, mine, theirs)).toEqual({
      merged: { ...BASE, items: [mine.items[0], theirs.items[1]] },
      collisions: [],
      taken: ['items[two].body'],
    });
  });

  test('combine an added item with a change of another item', () => {
    const mine = { ...BASE, items: [...BASE.items, { name: 'three', body: 'mine' }] };
    const theirs = { ...BASE, items: [{ name: 'one', body: 'theirs' }, BASE.items[1] as Item] };
    expect(mergeValues(BASE, mine, theirs).merged.items).toEqual([theirs.items[0], mine.items[1], mine.items[2]]);
  });

  test('collide if one side removes an item that the other side changes', () => {
    const mine = { ...BASE, items: [BASE.items[0] as Item] };
    const theirs = { ...BASE, items: [BASE.items[0] as Item, { name: 'two', body: 'theirs' }] };
    const { merged, collisions } = mergeValues(BASE, mine, theirs, () => 'theirs');
    expect(collisions).toEqual([{ path: 'items', base: BASE.items, mine: mine.items, theirs: theirs.items }]);
    expect(merged.items).toEqual(theirs.items);
  });

  test('collide if both sides add an item', () => {
    const mine = { ...BASE, items: [...BASE.items, { name: 'three', body: 'mine' }] };
    const theirs = { ...BASE, items: [...BASE.items, { name: 'four', body: 'theirs' }] };
    expect(mergeValues(BASE, mine, theirs).collisions.map(({ path }) => path)).toEqual(['items']);
  });
});

test('fields of records merge separately, and equal changes do not collide', () => {
  const mine = { ...BASE, slug: '/new', delay: { type: 'Fixed', duration: '' } };
  const theirs = { ...BASE, slug: '/new', delay: { type: '', duration: '5s' }, status: '201' };
  expect(mergeValues(BASE, mine, theirs)).toEqual({
    merged: { ...theirs, delay: { type: 'Fixed', duration: '5s' } },
    collisions: [],
    taken: ['status', 'delay.duration'],
  });
});
