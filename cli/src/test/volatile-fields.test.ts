import { randomUUID } from 'node:crypto';
import type { LogEntry } from '@standin/exchange';
import { testEntry } from '@standin/exchange/entry-testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareResponse } from './compare-response.ts';
import { Ignored } from './ignored.ts';
import type { ManifestResponse } from './manifest-mocks.ts';
import { ReportBuilder } from './report.ts';
import { VolatileFields } from './volatile-fields.ts';

const JSON_TYPE = ['content-type', 'application/json'] as const;

interface Response {
  readonly body: string;
  readonly headers?: readonly (readonly [string, string])[];
  readonly status?: number;
}
const captured = ({ body, headers = [], status = 200 }: Response): LogEntry => {
  const made = testEntry({ responseBody: body, responseHeaders: [JSON_TYPE, ...headers] });
  return { ...made, id: randomUUID(), response: { ...made.response, status } };
};
const mocked = ({ body, headers = [], status = 200 }: Response): ManifestResponse => ({
  kind: 'Mock',
  status,
  headers: [JSON_TYPE, ...headers],
  body: Buffer.from(body),
});

/** Compares the responses of an upstream with one mock, or each with its own. */
const compare = (responses: readonly Response[], mocks: Response | readonly Response[]) => {
  const builder = new ReportBuilder();
  const volatile = new VolatileFields();
  for (const [index, response] of responses.entries()) {
    const entry = captured(response);
    const mock = 'body' in mocks ? mocks : (mocks[index] ?? response);
    volatile.add(entry, compareResponse(entry, mocked(mock), new Ignored()), builder);
  }
  volatile.finish(builder);
  const { same, different, cases } = builder.report();
  const { ignored = [], differences = [] } = cases[0] ?? {};
  return {
    same,
    different,
    ignored: ignored.map(({ part, reason }) => `${part} (${reason})`),
    changes: differences.flatMap((one) => one.changes),
  };
};
const bodies = (count: number, body: (index: number) => unknown): readonly Response[] =>
  Array.from({ length: count }, (_, index) => ({ body: JSON.stringify(body(index)) }));

describe('ignored in responses of an upstream are', () => {
  const ID = '019a0000-0000-7000-8000-000000000001';
  test.each<[string, unknown, unknown, string]>([
    ['UUIDs', { id: randomUUID() }, { id: ID.toUpperCase() }, '$.id (UUIDs)'],
    ['times', [{ at: '2026-11-21T10:00:00+01:00' }], [{ at: '2020-01-01T00:00:00.5Z' }], '$[*].at (times)'],
    ['HTTP dates', 'Sat, 21 Nov 2026 10:00:00 GMT', 'Fri, 20 Nov 2026 10:00:00 GMT', '$ (times)'],
    ['seconds since the epoch', { at: 1_795_255_200 }, { at: 1_700_000_000 }, '$.at (times)'],
    ['milliseconds since the epoch', { at: 1_795_255_200_123 }, { at: 1_700_000_000_456 }, '$.at (times)'],
  ])('%s, also in one response', (_, before, after, expected) => {
    expect(
      compare(
        bodies(1, () => before),
        { body: JSON.stringify(after) },
      ),
    ).toEqual({
      same: 1,
      different: 0,
      ignored: [expected],
      changes: [],
    });
  });

  test('headers that servers make for each response', () => {
    const headers = (text: string) => ['ETag', 'x-request-id', 'X-Amzn-Trace-Id'].map((name) => [name, text] as const);
    const [was, is] = [headers('a'), headers('b')].map((one) => ({ body: '{}', headers: one }));
    expect(compare([was ?? { body: '' }], is ?? { body: '' }).ignored).toEqual([
      'header etag (made for each response)',
      'header x-amzn-trace-id (made for each response)',
      'header x-request-id (made for each response)',
    ]);
  });

  test('values that differ in nearly each of several responses', () => {
    const numbered = bodies(10, (index) => ({ orders: [{ number: `A-${index === 9 ? 0 : index}`, total: 5 }] }));
    expect(compare(numbered, { body: '{"orders": [{"number": "A-100", "total": 6}]}' })).toEqual({
      same: 0,
      different: 10,
      ignored: ['$.orders[*].number (9 values in 10 responses)'],
      changes: Array.from({ length: 10 }, () => '$.orders[0].total: 5 → 6'),
    });
  });
});

describe('a change that counts is listed', () => {
  test('after many ignored values of one part', () => {
    const list = (total: number) => ({ items: Array.from({ length: 30 }, () => ({ id: randomUUID() })), total });
    expect(
      compare(
        bodies(1, () => list(5)),
        { body: JSON.stringify(list(6)) },
      ),
    ).toMatchObject({
      different: 1,
      changes: ['$.total: 5 → 6'],
    });
  });

  test('after ignored values of many parts', () => {
    const item = (total: number) => ({
      ...Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`id${index}`, randomUUID()])),
      total,
    });
    expect(
      compare(
        bodies(1, () => item(5)),
        { body: JSON.stringify(item(6)) },
      ),
    ).toMatchObject({
      different: 1,
      changes: ['$.total: another value'],
    });
  });
});

describe('not ignored are', () => {
  test.each<[string, readonly Response[], unknown, string]>([
    ['values in few responses', bodies(4, (index) => ({ a: index + 1 })), { a: 9 }, '$.a: 1 → 9'],
    ['values that are often equal', bodies(10, (index) => ({ a: index % 5 })), { a: 9 }, '$.a: 0 → 9'],
    [
      'values that mostly are those of the mock',
      bodies(50, (index) => ({ a: index < 6 ? index : 9 })),
      { a: 9 },
      '$.a: 0 → 9',
    ],
    ['booleans', bodies(50, () => ({ a: true })), { a: false }, '$.a: true → false'],
    ['another type', bodies(50, (index) => ({ a: index })), { a: '9' }, '$.a: 0 → "9"'],
    ['an absent member', bodies(50, (index) => ({ id: index })), {}, '$.id: 0 → absent'],
    ['a UUID that is another text now', bodies(1, () => randomUUID().replace(/^./, 'a')), 'x', '$: "a'],
    [
      'a time that is a number now',
      bodies(1, () => '2026-11-21T10:00:00Z'),
      1_795_255_200,
      '$: "2026-11-21T10:00:00Z" → 1795255200',
    ],
    [
      'numbers far from the time of the request',
      bodies(1, () => 1_000_000_000),
      1_795_255_200,
      '$: 1000000000 → 1795255200',
    ],
  ])('%s', (_, responses, mock, change) => {
    const { different, changes } = compare(responses, { body: JSON.stringify(mock) });
    expect(different).toBeGreaterThan(0);
    expect(changes[0]).toContain(change);
  });

  test('values in errors, and errors are not learned from', () => {
    const responses = bodies(20, (index) => ({ number: index })).map((one, index) => ({
      ...one,
      status: index % 2 ? 200 : 500,
    }));
    const { same, different, changes } = compare(responses, { body: '{"number": 100}' });
    expect({ same, different }).toEqual({ same: 10, different: 10 });
    expect(changes.slice(0, 2)).toEqual(['status 500 → 200', '$.number: 0 → 100']);
  });

  test('the media type, and a header that is absent now', () => {
    const response = { body: '{}', headers: [['x-a', 'b']] as const };
    const mock = {
      body: '{}',
      headers: [
        ['x-a', 'c'],
        ['x-b', 'd'],
      ] as const,
    };
    expect(compare([response], mock).changes).toEqual(['header x-b: absent → "d"', 'header x-a: "b" → "c"']);
  });
});

test('very many different kinds of responses are all counted', () => {
  const responses = bodies(300, (index) =>
    Object.fromEntries(Array.from({ length: 9 }, (_, bit) => [`m${bit}`, (index >> bit) & 1])),
  );
  const { same, different } = compare(responses, {
    body: JSON.stringify(Object.fromEntries(Array.from({ length: 9 }, (_, bit) => [`m${bit}`, 5]))),
  });
  expect(same + different).toBe(300);
});

describe('in 10,000 generated pairs', () => {
  const SEED = 20_261_128;
  const PAIRS_IN_CASE = 50;
  const CASES = 10_000 / PAIRS_IN_CASE;

  let state = SEED;
  /** Mulberry32. The same numbers in each run. */
  const random = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(random() * limit);

  /** A value that differs in each response. */
  const VOLATILE = {
    uuid: () => '00000000-0000-4000-8000-000000000000'.replaceAll('0', () => below(16).toString(16)),
    time: () => new Date(1.79e12 + below(1e10)).toISOString(),
    epoch: () => 1_790_000_000 + below(1e7),
    number: () => below(1e9) + 0.5,
    text: () => `order-${random().toString(36).slice(2)}`,
  };
  type Leaf = null | boolean | number | string | { readonly volatile: keyof typeof VOLATILE };
  type Tree = Leaf | readonly Tree[] | { readonly members: readonly (readonly [string, Tree])[] };

  const { tree } = fc.letrec<{ tree: Tree; leaf: Leaf }>((tie) => ({
    leaf: fc.oneof(
      fc.constantFrom<Leaf>(null, true, false, 0, 1, -20, 1.5, 1e21, '', 'x', 'é"\\'),
      fc
        .constantFrom<keyof typeof VOLATILE>('uuid', 'time', 'epoch', 'number', 'text')
        .map((volatile) => ({ volatile })),
    ),
    tree: fc.oneof(
      { maxDepth: 3, depthSize: 'small', withCrossShrink: true },
      tie('leaf'),
      fc.array(tie('tree'), { maxLength: 4 }),
      fc
        .uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c d', '__proto__', 'id'), tie('tree')), {
          selector: ([name]) => name,
          maxLength: 5,
        })
        .map((members) => ({ members })),
    ),
  }));
  const isObject = (value: Tree): value is Extract<Tree, { readonly members: unknown }> =>
    typeof value === 'object' && value !== null && 'members' in value;
  const pick = <T>(values: readonly T[]): T => values[below(values.length)] as T;

  const numberText = (value: number): string =>
    pick([
      String(value),
      ...(Number.isSafeInteger(value * 10) ? [`${value * 10}e-1`, `${value}e0`] : []),
      ...(Number.isInteger(value) && Math.abs(value) < 1e15 ? [`${value}.00`] : []),
    ]);
  /** Writes a document with other volatile values, another order of members and another notation of numbers each time. */
  const write = (value: Tree): string => {
    if (typeof value === 'number') return numberText(value);
    if (typeof value !== 'object' || value === null) return JSON.stringify(value);
    if ('volatile' in value) {
      const made = VOLATILE[value.volatile]();
      return typeof made === 'number' ? numberText(made) : JSON.stringify(made);
    }
    if (!isObject(value)) return `[${value.map(write).join(' ,')}]`;
    const members = value.members.map(([name, inner]) => `${JSON.stringify(name)}: ${write(inner)}`);
    return `{${members.sort(() => random() - 0.5).join()}}`;
  };

  /** Returns the document with another type, one member less or one more at one place. */
  const reshaped = (value: Tree): Tree => {
    const inner = typeof value === 'object' && value !== null && !('volatile' in value);
    if (inner && random() < 0.7) {
      if (!isObject(value)) {
        const items = value;
        const at = below(items.length);
        if (items.length > 0) return items.map((item, index) => (index === at ? reshaped(item) : item));
      } else if (value.members.length > 0) {
        const at = below(value.members.length);
        if (random() < 0.3) return { members: value.members.filter((_, index) => index !== at) };
        if (random() < 0.3) return { members: [...value.members, ['added', null]] };
        return { members: value.members.map(([name, one], index) => [name, index === at ? reshaped(one) : one]) };
      }
    }
    const type = (one: Tree): string => {
      if (typeof one !== 'object' || one === null) return one === null ? 'null' : typeof one;
      if ('volatile' in one) return typeof VOLATILE[one.volatile]();
      return isObject(one) ? 'object' : 'array';
    };
    const others: readonly Tree[] = [null, true, 7, 'new', [], { members: [] }];
    return pick(others.filter((one) => type(one) !== type(value)));
  };

  const cases = fc.sample(tree, { seed: SEED, numRuns: CASES });

  test('reordered members, other notations of numbers and volatile values are not reported', () => {
    for (const one of cases) {
      const responses = Array.from({ length: PAIRS_IN_CASE }, () => ({ body: write(one) }));
      const { same, changes } = compare(responses, { body: write(one) });
      expect({ same, changes }).toEqual({ same: PAIRS_IN_CASE, changes: [] });
    }
  });

  test('each change of shape is found', () => {
    for (const one of cases) {
      const responses = Array.from({ length: PAIRS_IN_CASE }, () => ({ body: write(one) }));
      const { different } = compare(
        responses,
        responses.map(() => ({ body: write(reshaped(one)) })),
      );
      expect(different).toBe(PAIRS_IN_CASE);
    }
  });
});
