import { LIMITS, type DrawConfig } from '@standin/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OUT_OF_BUDGET } from './cel/expression-error.ts';
import { compileConditions, meetsConditions, unmetConditions, type CompiledCondition } from './conditions.ts';
import { drawnNumber } from './draw.ts';
import { expressionsFor } from './request-expressions.testing.ts';

const drawing = (draw: Partial<DrawConfig>, cel?: string): readonly CompiledCondition[] =>
  compileConditions({
    pathParams: [],
    headers: [],
    queryParams: [],
    draw: { percent: 50, seed: 'pr-42', ...draw },
    ...(cel !== undefined && { cel }),
  });
const header = (value: string) => expressionsFor({ headers: [['x-request-id', value]] });
const BY_HEADER = { key: "request.headers['x-request-id']" };

describe('a key', () => {
  test.each<[string, string, string, string]>([
    ['an absent field', "request.headers['x-other']", '', 'there is no field x-other'],
    ['an absent body', 'request.json.id', '', 'the body is not a JSON document'],
    ['an empty value', "''", '', 'the value is empty'],
    ['a number', 'request.json', '7', 'the value is not a string'],
    ['null', 'request.json', 'null', 'the value is not a string'],
    ['a list', "['7']", '', 'the value is not a string'],
    ['bytes', "b'7'", '', 'the value is not a string'],
    ['too many characters', 'request.body', 'x'.repeat(257), 'the value has more than 256 bytes'],
    ['too many bytes', 'request.body', `${'ü'.repeat(128)}x`, 'the value has more than 256 bytes'],
    [
      'half of a surrogate pair',
      'request.json',
      String.raw`"\ud800"`,
      'the value has half of a surrogate pair, which UTF-8 cannot encode',
    ],
  ])('cannot be %s', (_, key, body, expected) => {
    const request = expressionsFor({ body: Buffer.from(body) });
    const conditions = drawing({ percent: 100, key });
    expect(meetsConditions(request, conditions)).toBe(false);
    expect(unmetConditions(request, conditions)).toMatchObject([{ drawn: { message: expected }, key: undefined }]);
  });

  test('can have 256 bytes', () => {
    for (const key of ['x'.repeat(LIMITS.drawKeyBytesMax), 'ü'.repeat(LIMITS.drawKeyBytesMax / 2)])
      expect(
        meetsConditions(expressionsFor({ body: Buffer.from(key) }), drawing({ percent: 100, key: 'request.body' })),
      ).toBe(true);
  });

  test('for which the budget is exhausted does not meet the condition', () => {
    const request = expressionsFor();
    expect(() => request.budget.charge(LIMITS.responseUnitsMax + 1)).toThrow();
    const conditions = drawing({ percent: 100, key: "request.path + '1'" });
    expect(unmetConditions(request, conditions)).toMatchObject([{ drawn: OUT_OF_BUDGET }]);
  });

  test('is the id of the request if there is no expression', () => {
    for (const id of ['a', 'b', 'c', 'd'])
      expect(meetsConditions(expressionsFor({ id }), drawing({}))).toBe(drawnNumber('pr-42', id) < 50);
  });
});

test('all keys meet 100 percent, and none meets 0 percent', () => {
  fc.assert(
    fc.property(fc.uuid(), (id) => {
      expect(meetsConditions(expressionsFor({ id }), drawing({ percent: 100 }))).toBe(true);
      expect(meetsConditions(expressionsFor({ id }), drawing({ percent: 0 }))).toBe(false);
    }),
  );
});

test('the same key meets the same draw in ten gateways, whatever they did before', () => {
  const keys = fc.array(fc.stringMatching(/^[\x21-\x7e]{1,40}$/), { minLength: 1, maxLength: 20 });
  const config = fc.record({
    percent: fc.integer({ min: 0, max: 1_000_000 }).map((part) => part / 10_000),
    seed: fc.string(),
  });
  fc.assert(
    fc.property(keys, config, (requested, draw) => {
      const gateways = Array.from({ length: 10 }, (_, gateway) => {
        const conditions = drawing({ ...draw, ...BY_HEADER });
        // Each gets the requests in another order, and some of them again.
        const order = [...requested.slice(gateway % requested.length), ...requested];
        return new Map(order.map((key) => [key, meetsConditions(header(key), conditions)]));
      });
      for (const gateway of gateways) for (const [key, isMet] of gateway) expect(isMet).toBe(gateways[0]?.get(key));
    }),
    { numRuns: 30 },
  );
});

test('a key that meets a percent meets all larger ones', () => {
  const percents = [0, 0.0001, 0.5, 5, 5.0001, 10, 33.3333, 99.9999, 100];
  for (let key = 0; key < 2_000; key += 1) {
    const met = percents.map((percent) => meetsConditions(header(String(key)), drawing({ percent, ...BY_HEADER })));
    expect(met).toEqual(met.toSorted());
  }
});

describe('two draws', () => {
  const ids = Array.from(
    { length: 20_000 },
    (_, index) => `019ab3c4-5d6e-7000-8000-${String(index).padStart(12, '0')}`,
  );
  /** How many percent of the requests get the first of two responses, and the second one. Rounded to multiples of 5. */
  const shares = (first: Partial<DrawConfig>, second: Partial<DrawConfig>): readonly number[] => {
    const responses = [drawing(first), drawing(second)];
    const chosen = ids.map((id) =>
      responses.findIndex((conditions) => meetsConditions(expressionsFor({ id }), conditions)),
    );
    return [0, 1].map(
      (response) => Math.round((chosen.filter((one) => one === response).length / ids.length) * 20) * 5,
    );
  };

  test('with different seeds are independent: the second one gets its percent of the others', () => {
    expect(shares({ percent: 50, seed: 'a' }, { percent: 50, seed: 'b' })).toEqual([50, 25]);
  });

  test('with the same seed are nested: the second one gets the difference', () => {
    expect(shares({ percent: 20 }, { percent: 50 })).toEqual([20, 30]);
    expect(shares({ percent: 50 }, { percent: 50 })).toEqual([50, 0]);
  });

  test('with the same seed and different keys are independent', () => {
    expect(shares({ percent: 50 }, { percent: 50, key: "requestId + '/b'" })).toEqual([50, 25]);
  });
});

test('an expression is evaluated only if the draw is met', () => {
  const conditions = drawing({ percent: 0 }, 'request.json == 1');
  expect(unmetConditions(expressionsFor(), conditions)).toMatchObject([{ condition: { on: 'draw' } }]);
  expect(unmetConditions(expressionsFor(), drawing({ percent: 100 }, 'request.json == 1'))).toMatchObject([
    { condition: { on: 'cel' } },
  ]);
});
