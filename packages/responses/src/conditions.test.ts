import { LIMITS, type HeaderPair, type ValueCondition } from '@standin/contract';
import { describe, expect, test } from 'vitest';
import { compileConditions, expressionsInConditions, meetsConditions, unmetConditions } from './conditions.ts';
import { expressionsFor } from './request-expressions.testing.ts';

interface Asked {
  readonly headers?: readonly HeaderPair[];
  readonly query?: string;
  readonly parameters?: Readonly<Record<string, readonly string[]>>;
  readonly body?: Uint8Array;
}

const meets = (wanted: Partial<Parameters<typeof compileConditions>[0]>, asked: Asked): boolean => {
  const { headers = [], query = '', parameters = {}, body } = asked;
  const conditions = compileConditions({ pathParams: [], headers: [], queryParams: [], ...wanted });
  return meetsConditions(
    expressionsFor({
      headers,
      query,
      parameters: new Map(Object.entries(parameters)),
      ...(body !== undefined && { body }),
    }),
    conditions,
  );
};
const exact = (name: string, value: string): ValueCondition => ({ name, type: 'Exact', value });
const regex = (name: string, value: string): ValueCondition => ({ name, type: 'RegularExpression', value });
const present = (name: string): ValueCondition => ({ name, type: 'Present' });
const absent = (name: string): ValueCondition => ({ name, type: 'Absent' });

// The cases follow the Gateway API's conformance tests HTTPRouteHeaderMatching and HTTPRouteQueryParamMatching.
describe('a condition on a header', () => {
  test.each<[string, ValueCondition[], HeaderPair[], boolean]>([
    ['the value', [exact('version', 'one')], [['version', 'one']], true],
    ['another value', [exact('version', 'one')], [['version', 'two']], false],
    ['no header', [exact('version', 'one')], [], false],
    ['a name in another case', [exact('Version', 'one')], [['vERSION', 'one']], true],
    ['a value in another case', [exact('version', 'one')], [['version', 'One']], false],
    ['a value with more text', [exact('version', 'one')], [['version', 'one,two']], false],
    [
      'all of several headers',
      [exact('version', 'two'), exact('color', 'orange')],
      [
        ['Version', 'two'],
        ['Color', 'orange'],
      ],
      true,
    ],
    ['only one of several headers', [exact('version', 'two'), exact('color', 'orange')], [['Color', 'orange']], false],
    [
      'the second of two values',
      [exact('color', 'blue')],
      [
        ['color', 'red'],
        ['Color', 'blue'],
      ],
      true,
    ],
    [
      'two conditions on one header',
      [exact('color', 'blue'), exact('color', 'red')],
      [
        ['color', 'red'],
        ['color', 'blue'],
      ],
      true,
    ],
    ['a matching value', [regex('Color', 'red|blue')], [['color', 'blue']], true],
    ['a value that matches in part', [regex('color', 'red|blue')], [['color', 'blueish']], false],
    ['no value that could match', [regex('color', '.*')], [], false],
    [
      'the second of two matching values',
      [regex('color', 'b.*')],
      [
        ['color', 'red'],
        ['Color', 'blue'],
      ],
      true,
    ],
    ['a matching value of the longest length', [regex('color', 'a*')], [['color', 'a'.repeat(16_000)]], true],
    [
      'a token',
      [regex('color', 'Bearer [^.]+[.][^.]+[.][^.]+')],
      [['color', `Bearer ${'e'.repeat(500)}.${'y'.repeat(1_000)}.J`]],
      true,
    ],
    [
      'a value beside a long one',
      [regex('color', 'a')],
      [
        ['color', 'a'],
        ['color', 'b'.repeat(8_000)],
      ],
      true,
    ],
    ['an empty value', [exact('color', '')], [['color', '']], true],
    ['any value', [present('color')], [['color', '']], true],
    ['no value', [present('color')], [], false],
    ['an absent header', [absent('color')], [['colour', 'red']], true],
    ['a header that must be absent', [absent('color')], [['COLOR', 'red']], false],
    ['a name from Object.prototype', [present('__proto__')], [], false],
    ['the API key, which is never visible', [present('x-api-key')], [['x-api-key', 'sha256:01234567']], false],
  ])('is checked against %s', (_name, conditions, headers, expected) => {
    expect(meets({ headers: conditions }, { headers })).toBe(expected);
  });
});

describe('a condition on a query parameter', () => {
  test.each<[ValueCondition[], string, boolean]>([
    [[exact('animal', 'whale')], 'animal=whale', true],
    [[exact('animal', 'whale')], 'animal=dolphin', false],
    [[exact('animal', 'whale')], 'Animal=whale', false],
    [[exact('animal', 'whale')], 'animal=whale&otherparam=irrelevant', true],
    [[exact('animal', 'dolphin'), exact('color', 'blue')], 'color=blue&animal=dolphin', true],
    [[exact('animal', 'dolphin'), exact('color', 'blue')], 'animal=dolphin', false],
    [[exact('animal', 'dolphin')], 'animal=whale&animal=dolphin', true],
    [[exact('a b', 'c+d/é')], 'a+b=c%2Bd%2F%C3%A9', true],
    [[exact('a', 'é')], 'a=\xc3\xa9', true],
    [[regex('a', '[é]{2}')], 'a=%C3%A9\xc3\xa9', true],
    [[regex('a', 'b')], 'a=c&a=b', true],
    [[regex('a', 'b')], 'a=bb', false],
    [[exact('a', '')], 'a', true],
    [[exact('a', '%zz')], 'a=%zz', true],
    [[present('?a')], '?a=1', true],
    [[present('a')], 'a=', true],
    [[present('a')], '', false],
    [[absent('a')], 'b=a', true],
    [[absent('a')], 'a', false],
    [[present('constructor')], 'a=1', false],
  ])('%j is checked against %s', (queryParams, query, expected) => {
    expect(meets({ queryParams }, { query })).toBe(expected);
  });
});

test.each<[string, readonly string[], boolean]>([
  ['42', ['42'], true],
  ['42', ['421'], false],
  ['a/b', ['a', 'b'], true],
  ['', [], false],
])('a condition on a path parameter for %j is checked against %j', (value, segments, expected) => {
  const parameters = segments.length === 0 ? {} : { id: segments };
  expect(meets({ pathParams: [exact('id', value)] }, { parameters })).toBe(expected);
});

test.each<[string, readonly string[], boolean]>([
  ['[0-9]+', ['42'], true],
  ['[0-9]+', ['4x'], false],
  ['a/.*', ['a', 'b', 'c'], true],
  ['', [], false],
])('a regular expression for a path parameter, %j, is compared with %j', (value, segments, expected) => {
  const parameters = segments.length === 0 ? {} : { id: segments };
  expect(meets({ pathParams: [regex('id', value)] }, { parameters })).toBe(expected);
});

test('a regular expression that is not valid cannot be compiled', () => {
  expect(() => meets({ headers: [regex('a', '(')] }, {})).toThrow(
    "the value of the condition on a is not a regular expression in RE2's syntax: missing closing ) at character 1",
  );
});

test('all kinds of conditions must be met', () => {
  const wanted = { pathParams: [exact('id', '1')], headers: [present('a')], queryParams: [present('b')] };
  const asked = { parameters: { id: ['1'] }, headers: [['a', '']] as HeaderPair[], query: 'b' };
  expect(meets(wanted, asked)).toBe(true);
  expect(meets(wanted, { ...asked, parameters: { id: ['2'] } })).toBe(false);
  expect(meets(wanted, { ...asked, headers: [] })).toBe(false);
  expect(meets(wanted, { ...asked, query: '' })).toBe(false);
});

describe('an expression', () => {
  test.each<[string, string, boolean]>([
    ['request.json.total > 10', '{"total": 11}', true],
    ['request.json.total > 10', '{"total": 10}', false],
    ['request.json.total > 10', '{"total": "11"}', false],
    ['request.json.total > 10', '{}', false],
    ['request.json.total > 10', 'no JSON', false],
    ['request.json.total', '{"total": 1}', false],
    ['path.id == "7"', '', true],
    ['this is not CEL', '', false],
  ])('%s is checked against %s', (cel, body, expected) => {
    expect(meets({ cel }, { body: Buffer.from(body), parameters: { id: ['7'] } })).toBe(expected);
  });

  test('is evaluated only if the other conditions are met', () => {
    const conditions = compileConditions({
      pathParams: [],
      headers: [present('a')],
      queryParams: [],
      cel: 'request.json == 1',
    });
    expect(unmetConditions(expressionsFor(), conditions)).toMatchObject([{ condition: { on: 'headers' } }]);
    expect(unmetConditions(expressionsFor({ headers: [['a', '']] }), conditions)).toMatchObject([
      { condition: { source: 'request.json == 1' }, error: 'the body is not a JSON document' },
    ]);
    const body = Buffer.from('2');
    expect(unmetConditions(expressionsFor({ headers: [['a', '']], body }), conditions)).toMatchObject([
      { condition: { on: 'cel' }, error: undefined },
    ]);
  });
});

test('conditions for which the budget is exhausted are not met, and the reason is returned', () => {
  const conditions = compileConditions({
    pathParams: [],
    headers: [],
    queryParams: Array.from({ length: LIMITS.conditionsMax }, () => regex('a', 'y')),
  });
  const expressions = expressionsFor({ query: `${'a=x&'.repeat(1_000)}a=y` });
  const met = Array.from({ length: LIMITS.responsesMax }, () => meetsConditions(expressions, conditions));
  expect([met[0], met.at(-1)]).toEqual([true, false]);
  expect(unmetConditions(expressions, conditions)[0]).toMatchObject({ isOutOfBudget: true });
  expect(
    meetsConditions(expressions, compileConditions({ pathParams: [], headers: [], queryParams: [present('a')] })),
  ).toBe(true);
});

test('the expressions of all conditions are found, so that a gateway compiles them before it needs them', () => {
  const conditions = compileConditions({
    pathParams: [exact('id', '1')],
    headers: [regex('a', 'b')],
    queryParams: [],
    draw: { percent: 5, seed: 'pr-42', key: 'path.id' },
    cel: 'true',
  });
  expect(expressionsInConditions(conditions).map(({ source }) => source)).toEqual(['path.id', 'true']);
});
