import { Budget, BudgetExhausted } from '@standin/responses';
import { describe, expect, test } from 'vitest';
import { ContractFiles } from './contract-files.ts';
import { writeContract } from './contract.testing.ts';
import { SchemaCheck, type Mismatch } from './schema-check.ts';

interface Setting {
  readonly schemas?: Readonly<Record<string, unknown>>;
  readonly isVersion30?: boolean;
  readonly direction?: 'request' | 'response';
  readonly units?: number;
}

/** Returns the mismatches as text, and the warnings. */
const check = (schema: unknown, value: unknown, setting: Setting = {}) => {
  const { schemas = {}, isVersion30 = false, direction = 'response', units = 1_000_000 } = setting;
  const files = new ContractFiles(writeContract({ 'openapi.json': { components: { schemas } } }));
  const warnings: string[] = [];
  const checks = new SchemaCheck(files, isVersion30, (message) => warnings.push(message));
  const place = { file: files.root.file, value: schema };
  const found: Mismatch[] = [];
  checks.check(place, value, { direction, budget: new Budget(units), found });
  return { texts: found.map(({ path, message }) => `${path}: ${message}`), warnings };
};
const texts = (...args: Parameters<typeof check>) => check(...args).texts;
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

describe('a value that does not match is found', () => {
  test.each<[string, unknown, unknown, readonly string[]]>([
    ['type', { type: 'integer' }, '1', ['$: must be an integer, but is a string']],
    ['type of a fraction', { type: 'integer' }, 1.5, ['$: must be an integer, but is a number']],
    ['types', { type: ['string', 'null'] }, 1, ['$: must be a string or null, but is a number']],
    ['enum', { enum: ['a', 1] }, 'b', ['$: must be "a" or 1']],
    ['const', { const: { a: 1, b: 2 } }, { b: 2, a: 3 }, ['$: must be {"a":1,"b":2}']],
    ['minimum', { minimum: 1 }, 0, ['$: must be at least 1']],
    ['exclusiveMinimum', { exclusiveMinimum: 1 }, 1, ['$: must be more than 1']],
    ['exclusiveMinimum of 3.0', { minimum: 1, exclusiveMinimum: true }, 1, ['$: must be more than 1']],
    ['exclusiveMaximum of 3.0', { maximum: 1, exclusiveMaximum: true }, 1, ['$: must be less than 1']],
    ['multipleOf', { multipleOf: 0.01 }, 1.005, ['$: must be a multiple of 0.01']],
    ['multipleOf, for a large number', { multipleOf: 1 }, 1234567890.5, ['$: must be a multiple of 1']],
    ['multipleOf, for an infinite number', { multipleOf: 1 }, Infinity, ['$: must be a multiple of 1']],
    ['an infinite multipleOf', { multipleOf: Infinity }, 1, ['$: must be a multiple of Infinity']],
    ['minLength, in characters', { minLength: 2 }, '😀', ['$: must have 2 characters or more, but has 1']],
    ['pattern', { pattern: '^\\d+$' }, 'x1', ['$: must match the pattern ^\\d+$']],
    ['format', { type: 'string', format: 'date' }, '2026-02-31', ['$: must be in the format date']],
    ['format of a number', { format: 'int32' }, 2 ** 31, ['$: must be in the format int32']],
    ['items', { items: { type: 'string' } }, ['a', 1], ['$[1]: must be a string, but is a number']],
    ['prefixItems', { prefixItems: [{ type: 'string' }], items: false }, ['a', 1], ['$[1]: must be absent']],
    [
      'uniqueItems',
      { uniqueItems: true },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      ['$: must have different elements, but has equal ones'],
    ],
    [
      'contains',
      { contains: { const: 1 } },
      [2],
      ['$: has 0 elements that match contains, which is too few or too many'],
    ],
    ['required', { required: ['a b'] }, {}, ['$["a b"]: is required, but is absent']],
    [
      'a required name that all objects inherit',
      { required: ['toString'] },
      {},
      ['$.toString: is required, but is absent'],
    ],
    ['properties', { properties: { a: { type: 'null' } } }, { a: 1 }, ['$.a: must be null, but is a number']],
    [
      'additionalProperties',
      { properties: { a: true }, additionalProperties: false },
      { a: 1, b: 2 },
      ['$.b: is not in the contract'],
    ],
    [
      'patternProperties',
      { patternProperties: { '^x-': { type: 'string' } } },
      { 'x-a': 1 },
      ['$["x-a"]: must be a string, but is a number'],
    ],
    [
      'propertyNames',
      { propertyNames: { maxLength: 1 } },
      { ab: 1 },
      ['$.ab: has a name that does not match propertyNames'],
    ],
    ['dependentRequired', { dependentRequired: { a: ['b'] } }, { a: 1 }, ['$.b: is required with a, but is absent']],
    ['allOf', { allOf: [{ required: ['a'] }, { required: ['b'] }] }, { a: 1 }, ['$.b: is required, but is absent']],
    [
      'anyOf',
      { anyOf: [{ type: 'null' }, { properties: { a: { type: 'string' } } }] },
      { a: 1 },
      ['$.a: must be a string, but is a number'],
    ],
    [
      'oneOf',
      { oneOf: [{ type: 'number' }, { minimum: 1 }] },
      2,
      ['$: must match one of the schemas in oneOf, but matches 2'],
    ],
    ['not', { not: { type: 'string' } }, 'a', ['$: matches a schema that it must not match']],
    [
      'if and then',
      { if: { required: ['a'] }, then: { required: ['b'] } },
      { a: 1 },
      ['$.b: is required, but is absent'],
    ],
    [
      'unevaluatedProperties',
      { allOf: [{ properties: { a: true } }], unevaluatedProperties: false },
      { a: 1, b: 1 },
      ['$.b: is not in the contract'],
    ],
    ['unevaluatedItems', { prefixItems: [true], unevaluatedItems: false }, [1, 2], ['$[1]: is not in the contract']],
  ])('by %s', (_, schema, value, expected) => {
    expect(texts(schema, value)).toEqual(expected);
  });
});

test.each([
  [12345678.91, 0.01],
  [4.35, 0.01],
  [-0.3, 0.1],
  [0, 0.7],
  [1e300, 1e-300],
])('%d is a multiple of %d', (value, multipleOf) => {
  expect(texts({ multipleOf }, value)).toEqual([]);
});

test('what OpenAPI 3.0 allows beside a reference does not count, and null is allowed with nullable', () => {
  const schemas = { A: { type: 'string' } };
  const schema = {
    properties: { a: { ...ref('A'), maxLength: 1 }, b: { type: 'string', nullable: true, enum: ['x'] } },
  };
  expect(texts(schema, { a: 'ab', b: null }, { schemas, isVersion30: true })).toEqual([]);
  expect(texts(schema, { a: 'ab' }, { schemas })).toEqual(['$.a: must have 1 characters or fewer, but has 2']);
});

describe('a discriminator', () => {
  const kind = { type: 'string' };
  const schemas = {
    Cat: { required: ['kind', 'name'], properties: { kind, name: { type: 'string' } } },
    Dog: { required: ['kind'], properties: { kind, age: { type: 'number' } } },
  };
  const pet = (keyword: string) => ({
    [keyword]: [ref('Cat'), ref('Dog')],
    discriminator: { propertyName: 'kind', mapping: { dog: ref('Dog').$ref, puppy: 'Dog' } },
  });
  test.each<[unknown, readonly string[]]>([
    [{ kind: 'Cat', name: 'a' }, []],
    [{ kind: 'dog', name: 'a' }, []],
    [{ kind: 'puppy', age: 'a' }, ['$.age: must be a number, but is a string']],
    [{ kind: 'Cat', age: 1 }, ['$.name: is required, but is absent']],
  ])('names the schema for %j', (value, expected) => {
    for (const keyword of ['anyOf', 'oneOf']) expect(texts(pet(keyword), value, { schemas })).toEqual(expected);
  });

  test.each([{ kind: 'cow' }, { kind: '__proto__' }, { kind: 1 }, {}, null])('names no schema for %j', (value) => {
    const { oneOf } = pet('oneOf');
    expect(texts(pet('oneOf'), value, { schemas })).toEqual(texts({ oneOf }, value, { schemas }));
  });
});

test('the properties of a schema behind a reference count as evaluated', () => {
  const schemas = { Base: { properties: { a: { type: 'number' } } } };
  const schema = { properties: { b: true }, unevaluatedProperties: false };
  expect(texts({ ...schema, ...ref('Base') }, { a: 1, b: 1 }, { schemas })).toEqual([]);
  expect(texts({ ...schema, allOf: [ref('Base')] }, { a: 1, b: 1 }, { schemas })).toEqual([]);
});

test('readOnly properties are refused in requests only, and writeOnly ones in responses only', () => {
  const schemas = { Id: { type: 'string', readOnly: true } };
  const schema = { required: ['id', 'secret'], properties: { id: ref('Id'), secret: { writeOnly: true } } };
  expect(texts(schema, { id: 'a' }, { schemas, direction: 'response' })).toEqual([]);
  expect(texts(schema, { secret: 'a' }, { schemas, direction: 'request' })).toEqual([]);
  expect(texts(schema, { id: 'a', secret: 'b' }, { schemas, direction: 'response' })).toEqual([
    '$.secret: is write-only, but is in the response',
  ]);
  expect(texts(schema, { id: 'a', secret: 'b' }, { schemas, direction: 'request' })).toEqual([
    '$.id: is read-only, but is in the request',
  ]);
});

test('a required property can be readOnly in a part of the schema', () => {
  const schemas = { Base: { properties: { id: { readOnly: true } } } };
  const schema = { required: ['id', 'name'], allOf: [ref('Base')] };
  expect(texts(schema, {}, { schemas, direction: 'request' })).toEqual(['$.name: is required, but is absent']);
  expect(texts(schema, { name: 'a' }, { schemas, direction: 'response' })).toEqual([
    '$.id: is required, but is absent',
  ]);
});

test.each<[string, unknown, readonly string[]]>([
  ['date-time', '2026-11-28T10:00:00.5+01:00', ['2026-11-28', '2026-11-28T10:00:00', '2026-13-28T10:00:00Z']],
  ['date', '2024-02-29', ['2023-02-29', '2024-2-9']],
  ['uuid', '019A0000-0000-7000-8000-000000000001', ['019a', '019a0000000070008000000000000001']],
  ['email', 'a@b', ['a', 'a@b@c', 'a b@c']],
  ['hostname', 'a-b.example', ['-a', `${'a'.repeat(64)}.b`, 'a..b']],
  ['ipv4', '10.0.0.1', ['10.0.0.256', '::1']],
  ['ipv6', '::1', ['10.0.0.1']],
  ['uri', 'urn:a:b', ['/a', 'http://a b']],
  ['uri', `data:image/png;base64,${'a'.repeat(1_000_000)}`, [`/${'a:'.repeat(1_000_000)}`]],
  ['uri-reference', '/a?b#c', ['a b']],
  ['byte', 'YQ==', ['YQ=', 'a b']],
  ['binary', '\0', []],
])('the format %s is checked', (format, good, bad) => {
  expect(texts({ format }, good)).toEqual([]);
  expect(bad.filter((text) => texts({ format }, text).length === 0)).toEqual([]);
});

describe('a hostile contract or value', () => {
  test('in which schemas form a ring of 6,000 is checked as far as the value goes', () => {
    const next = (index: number) => ({ required: ['next'], properties: { next: ref(`S${(index + 1) % 6_000}`) } });
    const schemas = Object.fromEntries(Array.from({ length: 6_000 }, (_, index) => [`S${index}`, next(index)]));
    expect(texts(ref('S5999'), { next: { next: { next: 1 } } }, { schemas })).toEqual([]);
    expect(texts(ref('S0'), { next: { next: {} } }, { schemas })).toEqual([
      '$.next.next.next: is required, but is absent',
    ]);
  });

  test.each<[string, Readonly<Record<string, unknown>>]>([
    ['refers to itself', { A: ref('A') }],
    ['refers to itself in allOf', { A: { allOf: [ref('B')] }, B: { allOf: [ref('A')] } }],
    ['doubles at each step', { A: { allOf: [ref('A'), ref('A')] } }],
  ])('that %s ends', (_, schemas) => {
    expect(() => texts(ref('A'), 1, { schemas })).toThrow(BudgetExhausted);
  });

  test('that takes exponential time ends', () => {
    const level = (index: number) => ({ anyOf: [ref(`S${index + 1}`), ref(`S${index + 1}`), ref(`S${index + 1}`)] });
    const schemas = {
      ...Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`S${index}`, level(index)])),
      S60: false,
    };
    expect(() => texts(ref('S0'), 1, { schemas })).toThrow(BudgetExhausted);
  });

  test('that is nested deeply ends', () => {
    const schemas = { A: { items: ref('A') } };
    const deep = JSON.parse('['.repeat(5_000) + ']'.repeat(5_000)) as unknown;
    expect(() => texts(ref('A'), deep, { schemas })).toThrow(BudgetExhausted);
    expect(() => texts({ const: deep }, deep)).toThrow(BudgetExhausted);
  });

  test('with an exponential pattern takes linear time', () => {
    expect(texts({ pattern: '^(a+)+$' }, `${'a'.repeat(5_000)}!`)).toEqual(['$: must match the pattern ^(a+)+$']);
  });

  test('with a pattern that is not checked is a warning', () => {
    const { texts: found, warnings } = check({ items: { pattern: '^(?=a)b' } }, ['b', 'c']);
    expect(found).toEqual([]);
    expect(warnings).toEqual([
      'openapi.json: the pattern "^(?=a)b" is not checked: it has (?= at character 2: RE2 has no look-around; add another condition instead',
    ]);
  });

  test('with many unequal elements takes linear time', () => {
    const many = Array.from({ length: 50_000 }, (_, index) => ({ index }));
    expect(texts({ uniqueItems: true }, many, { units: 20_000_000 })).toEqual([]);
  });
});
