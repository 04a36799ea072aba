import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addToShape, compareShapes, emptyShape, type Shape } from './shape.ts';

const shape = (...values: readonly unknown[]) => {
  const made = emptyShape();
  for (const value of values) addToShape(made, value);
  return made;
};
const changes = (captured: readonly unknown[], ...mocks: readonly unknown[]) =>
  compareShapes(shape(...captured), shape(...mocks));

test.each<[string, readonly unknown[], unknown, readonly string[]]>([
  ['values', [{ a: 1, b: 'x' }], { b: 'y', a: 2.5 }, []],
  ['a type', [{ a: 1 }], { a: '1' }, ['$.a: number → string']],
  [
    'a type inside an array',
    [{ a: [{ b: 1 }] }],
    { a: [{ b: 1 }, { b: true }] },
    ['$.a[*].b: number → boolean or number'],
  ],
  ['an absent member', [{ a: 1, b: 1 }], { a: 1 }, ['$.b: number → absent']],
  ['a member of one element only', [[{ a: 1 }, { a: 1 }]], [{ a: 1 }, {}], ['$[*].a: number → absent']],
  ['an added member', [{ a: 1 }], { a: 1, 'b c': null }, ['$["b c"]: absent → null']],
  ['an optional member', [{ a: 1 }, {}], {}, []],
  ['one of two types', [{ a: 1 }, { a: 'x' }, { a: null }], { a: 2 }, []],
  ['null', [{ a: 1 }], { a: null }, ['$.a: number → null']],
  ['what was always null', [{ a: null }], { a: 1 }, ['$.a: null → number']],
  ['an empty array', [{ a: [] }], { a: [1] }, []],
  ['a scalar', ['x'], 1, ['$: string → number']],
  [
    'a member named __proto__',
    [JSON.parse('{"__proto__": 1}')],
    JSON.parse('{"__proto__": "1"}'),
    ['$.__proto__: number → string'],
  ],
])('shows %s', (_, captured, mock, expected) => {
  expect(changes(captured, mock)).toEqual(expected);
});

test('an object with very many names is compared by its values', () => {
  const ids = (from: number, value: unknown) =>
    Object.fromEntries(Array.from({ length: 1_500 }, (_, index) => [`id-${from + index}`, value]));
  expect(changes([{ byId: ids(0, { a: 1 }) }], { byId: { other: { a: 2 } } })).toEqual([]);
  expect(
    changes([{ byId: ids(0, { a: 1 }) }, { byId: ids(5_000, { a: 1 }) }], { byId: { other: { a: 'x' } } }),
  ).toEqual(['$.byId.*.a: number → string']);
});

test('a deeply nested document is compared to a limited depth', () => {
  const deep = JSON.parse('['.repeat(5_000) + ']'.repeat(5_000)) as unknown;
  expect(changes([deep], deep)).toEqual([]);
});

describe('for generated documents', () => {
  const document = fc.jsonValue({ maxDepth: 4 });
  /** Returns the paths of all values, as keys. Elements of arrays with several elements stay, as others can have their shape. */
  const places = (value: unknown, at: readonly (string | number)[] = []): (string | number)[][] =>
    typeof value !== 'object' || value === null
      ? [[...at]]
      : [
          [...at],
          ...Object.entries(value).flatMap(([key, inner]) =>
            places(inner, [...at, Array.isArray(value) ? Number(key) : key]),
          ),
        ];
  const replaced = (
    value: unknown,
    [key, ...rest]: readonly (string | number)[],
    made: (old: unknown) => unknown,
  ): unknown => {
    if (key === undefined) return made(value);
    if (Array.isArray(value))
      return value.map((item, index) => (index === key ? replaced(item, rest, made) : (item as unknown)));
    return Object.fromEntries(
      Object.entries(value as object).map(([name, inner]) => [
        name,
        name === key ? replaced(inner, rest, made) : (inner as unknown),
      ]),
    );
  };
  test('none has another shape than itself with other values and another order', () => {
    fc.assert(
      fc.property(document, (value) => {
        const reordered = (inner: unknown): unknown =>
          typeof inner === 'number'
            ? inner * 2
            : Array.isArray(inner)
              ? inner.map(reordered).reverse()
              : typeof inner === 'object' && inner !== null
                ? Object.fromEntries(
                    Object.entries(inner)
                      .reverse()
                      .map(([name, one]) => [name, reordered(one)]),
                  )
                : inner;
        expect(changes([value], reordered(value))).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  /** Documents without booleans. */
  const { value: unboolean } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom(null, 0, 1.5, '', 'x'),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'c d', '__proto__'), tie('value'), { noNullPrototype: true }),
    ),
  }));
  const found = (change: (value: unknown) => unknown, isPlace: (value: unknown) => boolean) =>
    fc.property(unboolean, fc.nat(), (value, choice) => {
      const all = places(value).filter((at) =>
        isPlace(at.reduce<unknown>((inner, key) => (inner as Record<string, unknown>)[key], value)),
      );
      fc.pre(all.length > 0);
      const changed = replaced(value, all[choice % all.length] ?? [], change);
      expect(changes([value], changed)).not.toEqual([]);
    });

  test('each change to another type is found', () => {
    fc.assert(
      found(
        () => true,
        () => true,
      ),
      { numRuns: 2_000 },
    );
  });

  test('each added member is found', () => {
    const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
    fc.assert(
      found((value) => ({ ...(value as object), added: 1 }), isObject),
      { numRuns: 2_000 },
    );
  });
});

describe('maps of maps, whose names are data,', () => {
  const size = ({ items, members }: Shape): number =>
    [...members.values()].reduce((sum, member) => sum + size(member.shape), items === undefined ? 1 : 1 + size(items));
  const map = (count: number, name: string, inner: (index: number) => unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${name}${index}`, inner(index)]));
  const values = Array.from({ length: 20 }, (_, round) => ({
    type: 1,
    data: map(20, `a${round}-`, (index) => map(100, `b${index}-`, () => [{ c: 1 }])),
    last: 1,
  }));

  test('are kept as few shapes', () => {
    expect(size(shape(...values))).toBeLessThanOrEqual(10_000);
  });

  test('are kept as few shapes, also if arrays and objects are mixed', () => {
    const mixed = (depth: number, bits: number): unknown =>
      depth === 0 ? 1 : bits % 2 === 0 ? [mixed(depth - 1, bits >> 1)] : { a: mixed(depth - 1, bits >> 1) };
    const made = shape(...Array.from({ length: 8_192 }, (_, bits) => mixed(30, bits)));
    expect(size(made)).toBeLessThanOrEqual(10_000);
  });

  test('hide no change beside them or in their values', () => {
    const mock = (change: object) => ({ type: 1, data: { a: { b: [{ c: 1 }] } }, last: 1, ...change });
    expect(changes(values, mock({}))).toEqual([]);
    expect(changes(values, mock({ type: '1' }))).toEqual(['$.type: number → string']);
    expect(changes(values, mock({ last: '1' }))).toEqual(['$.last: number → string']);
    expect(changes(values, mock({ data: { a: { b: [{ c: '1' }] } } }))).toEqual(['$.data.*.*[*].c: number → string']);
  });
});
