import { describe, expect, test } from 'vitest';
import { ExpressionError } from './cel/expression-error.ts';
import { celToJson, celToText } from './cel/value-text.ts';
import { describeMistake, parseExpression } from './request-expressions.ts';
import { expressionsFor } from './request-expressions.testing.ts';

type Parts = Parameters<typeof expressionsFor>[0];

const compiled = (source: string, parameters: readonly string[] = ['id']) => {
  const parsed = parseExpression(source, parameters);
  if (!parsed.ok) throw new Error(`${parsed.message} at ${parsed.offset}`);
  return parsed.expression;
};

const evaluatedJson = (source: string, parts: Parts = REQUEST): string => {
  const value = expressionsFor(parts).evaluate(compiled(source));
  const json = value instanceof ExpressionError ? value : celToJson(value);
  return json instanceof ExpressionError ? `error: ${json.message}` : json;
};

const BODY = `{"total": 12, "note": null, "big": 9223372036854775807, "huge": 18446744073709551615, "items":
  [{"sku": "a", "n": 1}, {"sku": "b", "n": 2.50}], "__proto__": 1, "dup": 1, "dup": 2}`;
const REQUEST = {
  method: 'POST',
  path: '/v1/orders/a%2Fb',
  query: 'a=1&a=2&b=%C3%A9',
  parameters: new Map([['id', ['a/b']]]),
  headers: [
    ['X-Plan', 'gold'],
    ['x-plan', 'silver'],
    ['x-api-key', 'sha256:0123'],
  ] as [string, string][],
  body: Buffer.from(BODY),
};

describe('an expression sees', () => {
  test.each([
    ['request.method', '"POST"'],
    ['request.path', '"/v1/orders/a%2Fb"'],
    ['request.headers', '{"x-plan":"gold"}'],
    ['request.headersAll["x-plan"]', '["gold","silver"]'],
    ['request.headers["x-api-key"]', 'error: there is no field x-api-key'],
    ['request.query', '{"a":"1","b":"é"}'],
    ['request.queryAll.a', '["1","2"]'],
    ['request.body.startsWith("{")', 'true'],
    ['request.json.total', '12'],
    ['request.json.big', '9223372036854775807'],
    ['request.json.huge', '18446744073709551615'],
    ['request.json.items[1].n', '2.5'],
    ['request.json.items[2]', 'error: there is no item 2 in a list of 2'],
    ['request.json.dup', '2'],
    ['request.json.__proto__', '1'],
    ['request.json.constructor', 'error: there is no field constructor'],
    ['request.json.note', 'null'],
    ['has(request.json.note) && "note" in request.json && !has(request.json.nothing)', 'true'],
    [
      'request.form',
      'error: request.form is absent: the content-type is neither application/x-www-form-urlencoded nor multipart/form-data',
    ],
    ['has(request.json) && !has(request.form)', 'true'],
    ['path.id', '"a/b"'],
    ['project + "/" + endpoint', '"shop/orders"'],
    ['now', '"2023-11-14T22:13:20.123456Z"'],
    ['requestId', '"0190a9b2-1111-7222-8333-123456789abc"'],
    ['url.project + "/x"', '"https://mocks.example.com/k3v9x2m7q4hd8w1n/x"'],
  ])('%s as %s', (source, expected) => {
    expect(evaluatedJson(source)).toBe(expected);
  });

  test.each<[string, Uint8Array, string, string]>([
    ['text that is not JSON', Buffer.from('x'), 'request.json', 'error: the body is not a JSON document'],
    ['bytes', Buffer.from([0xff]), 'request.body', 'error: request.body is absent: the body is not UTF-8'],
    ['bytes', Buffer.from([0xff]), 'has(request.json) || has(request.body)', 'false'],
    ['1 MiB', Buffer.alloc(2 ** 20, 'a'), 'size(request.body)', '1048576'],
    ['1 MiB + 1', Buffer.alloc(2 ** 20 + 1, '1'), 'has(request.body) || has(request.json)', 'false'],
    ['nothing', new Uint8Array(0), 'request.body', '""'],
  ])('a body of %s', (_name, body, source, expected) => {
    expect(evaluatedJson(source, { body })).toBe(expected);
  });

  test('the fields of a form', () => {
    const headers: [string, string][] = [['Content-Type', 'application/x-www-form-urlencoded; charset=utf-8']];
    const body = Buffer.from('a=1&b=%C3%A9+x&a=2');
    expect(evaluatedJson('request.form', { headers, body })).toBe('{"a":"1","b":"é x"}');
    expect(evaluatedJson('has(request.form)', { headers, body: Buffer.alloc(2 ** 20 + 1, 'a') })).toBe('false');
  });
});

describe('an expression', () => {
  test.each([
    ['request.json.total > 10.0', 'true'],
    ['request.json.items.exists(i, i.sku == "b")', 'true'],
    ['request.json.items.filter(i, i.n > 1)', '[{"sku":"b","n":2.50}]'],
    ['request.json.items.map(i, i.n > 1, i.sku)', '["b"]'],
    ['request.json.items.exists_one(i, i.n > 0)', 'false'],
    ['request.json.items.all(i, i.price > 1)', 'error: there is no field price'],
    ['request.json.items.exists(i, i.price > 1 || i.n > 2)', 'true'],
    ['{"b": 1, "a": [1u, 2.0, null, true, b"x"]}', '{"b":1,"a":[1,2,null,true,"eA=="]}'],
    ['1 / 0', 'error: int divide by zero'],
    ['1 / 0 == 1 || true', 'true'],
    [
      '"1" + request.json.total',
      'error: + does not take (string, int): convert a value, for example with string() or double()',
    ],
    ['"a,b".split(",").join("+")', '"a+b"'],
    ['"%s: %d".format(["x", 1])', '"x: 1"'],
    ['request.path.matches("orders/[^/]+$")', 'true'],
    ['request.path.matches("^orders")', 'false'],
    ['"xa.by".matches(r"\\Qa.b")', 'true'],
    ['"xay".matches("")', 'true'],
    ['"x💡y".matches("^.💡.$")', 'true'],
    ['"a\\nb".matches("(?m)^b$")', 'true'],
    ['"ab".matches("^b|a$")', 'false'],
    ['"ab".matches(r"\\bb")', 'false'],
    ['int(" 1")', 'error: the string is not a number of type int'],
    ['double("1e400")', 'error: the number is out of range of the type double'],
    ['9223372036854775807 + 1', 'error: int overflow during _+_'],
    ['now - duration("1h") < now', 'true'],
    ['type(now) == google.protobuf.Timestamp', 'true'],
    ['type(1)', 'error: a value of type type has no text'],
    ['{1: 2, 1u: 3}', 'error: the key 1 occurs twice in a map'],
    ['"aXbX".replace("X", "", 1) + "abc".replace("", "-")', '"abX-a-b-c-"'],
    ['["abcabc".indexOf("c"), "abcabc".lastIndexOf("c"), "abc".indexOf("d")]', '[2,5,-1]'],
  ])('%s is %s', (source, expected) => {
    expect(evaluatedJson(source)).toBe(expected);
  });

  test('has the same random values for the same request, and a new one for each call', () => {
    const source = '[uuid(), uuid(), string(random(1, 1000000)), string(random(1, 1000000)), string(random(0.0, 1.0))]';
    const first = evaluatedJson(source);
    expect(evaluatedJson(source)).toBe(first);
    expect(evaluatedJson(source, { ...REQUEST, id: 'another' })).not.toBe(first);
    expect(new Set(JSON.parse(first) as string[]).size).toBe(5);
    expect(first).toMatch(/^\["[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"/);
    const run = expressionsFor(REQUEST);
    expect(run.evaluate(compiled('uuid()'))).not.toBe(run.evaluate(compiled('uuid()')));
  });

  test('draws numbers from a range', () => {
    const numbers = JSON.parse(evaluatedJson(`[${Array(50).fill('random(-2,2)').join(',')}]`)) as number[];
    expect(new Set(numbers)).toEqual(new Set([-2, -1, 0, 1, 2]));
    expect(evaluatedJson('random(-9223372036854775808, 9223372036854775807)')).toMatch(/^-?\d{17,}$/);
    expect(evaluatedJson('random(2, 1)')).toBe('error: the first argument of random() is greater than the second one');
  });

  test('has a text', () => {
    const text = (source: string) => celToText(expressionsFor(REQUEST).evaluate(compiled(source)) as string);
    expect(text('"a\\"b"')).toBe('a"b');
    expect(text('[1, "a"]')).toBe('[1,"a"]');
    expect(text('1.5')).toBe('1.5');
    expect(text('null')).toBe('null');
    expect(text('b"abc"')).toBe('abc');
    expect(text('now')).toBe('2023-11-14T22:13:20.123456Z');
  });
});

test('an error is short, also with a long value of the request', () => {
  const body = Buffer.from(`{"a": "${'x'.repeat(1_000)}"}`);
  expect(evaluatedJson('request.json[request.json.a]', { body })).toBe(`error: there is no field ${'x'.repeat(282)}…`);
});

describe('an error', () => {
  const FIELDS =
    'request.method, request.path, request.headers, request.headersAll, request.query, request.queryAll, request.body, request.json, request.form, request.formAll or request.cookies';

  test.each([
    ['', 0, 'the expression is empty'],
    ['request.json.total >', 19, 'a value is missing after >'],
    ['request.json.total == ', 19, 'a value is missing after =='],
    ['request.json.total = 1', 19, '= is unexpected: to compare, use =='],
    ['request.method == "GET" and true', 24, 'and is unexpected'],
    ['request.json.total == ) + 1', 19, '== is unexpected'],
    ['(true))', 6, ') is unexpected'],
    ['(1', 2, 'the expression ends unexpectedly'],
    ['request', 0, `request is not a value: use ${FIELDS}`],
    ['request.jsn.total', 7, `request has no field jsn: use ${FIELDS}`],
    ['path.name == "x"', 4, 'path has no field name: use path.id'],
    ['total > 1', 0, 'there is no variable total: use request, project, endpoint, now, requestId, url or path'],
    ['path.id == 42', 8, '== does not take (string, int): convert a value, for example with string() or double()'],
    ['request.path + 1', 13, '+ does not take (string, int): convert a value, for example with string() or double()'],
    [
      'request.headers["a"] > 1',
      20,
      '> does not take (string, int): convert a value, for example with string() or double()',
    ],
    ['request.path && true', 0, 'a condition must have the type bool, not string'],
    ['[1].exists(x, "a")', 3, 'a condition must have the type bool, not string'],
    ['nope(1)', 0, 'there is no function nope()'],
    ['strng(1) == ""', 0, 'there is no function strng(): did you mean string()?'],
    ['request.path.startWith("/")', 12, 'there is no function startWith(): did you mean startsWith()?'],
    ['exist(request.path)', 0, 'there is no function exist(): did you mean exists()?'],
    [
      'request.path.matches("(")',
      21,
      "the regular expression is not a regular expression in RE2's syntax: missing closing ) at character 1",
    ],
    ['request.path.matches(path.id)', 12, 'matches() needs one regular expression in quotes, such as "^[a-z]+$"'],
    ['[1].map(x, [x].map(y, y))', 14, 'only one of all(), exists(), exists_one(), filter() and map() is allowed'],
    [
      '[1].all(x, x > 0) && [1].all(x, x > 0)',
      24,
      'only one of all(), exists(), exists_one(), filter() and map() is allowed',
    ],
    ['Foo{a: 1}', 0, 'messages such as Foo are not supported: use a map, such as {"id": 1}'],
    ['9223372036854775808', 0, 'the number is out of range of the type int: add .0 for a double'],
    ['1e400', 0, 'the number is out of range of the type double'],
    [
      'true || b"😀" == b""',
      8,
      'the bytes have a character or an escape that is not supported: use bytes() with a string',
    ],
    ['b"\\u00e9"', 0, 'the bytes have a character or an escape that is not supported: use bytes() with a string'],
    ['"\\ud800"', 0, 'surrogate code points are not allowed'],
    [`${'('.repeat(33)}1${')'.repeat(33)}`, 32, 'brackets are nested more than 32 levels deep'],
    [' '.repeat(1_025), 1_024, 'an expression can have at most 1024 characters'],
  ])('in %s is found at %i: %s', (source, offset, message) => {
    const parsed = parseExpression(source, ['id']);
    expect(parsed.ok ? [offset, 'ok'] : [parsed.offset, parsed.message]).toEqual([offset, message]);
  });
});

test.each([
  ['request.jsn', 7, 'is not valid at line 1, column 8 of "request.jsn": no'],
  ['a &&\n  b', 7, 'is not valid at line 2, column 3 of "a &&\\n  b": no'],
  [`${'a'.repeat(200)}b`, 200, `is not valid at line 1, column 201 of "…${'a'.repeat(60)}b": no`],
])('the error in %s is described', (source, offset, text) => {
  expect(describeMistake(source, { offset, message: 'no' })).toBe(text);
});
