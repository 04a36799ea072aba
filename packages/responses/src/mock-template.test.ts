import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { HeaderPair } from '@standin/contract';
import { ExpressionError } from './cel/expression-error.ts';
import {
  invalidSkeleton,
  mockTemplateMistakes,
  parseMockTemplate,
  renderMock,
  type RenderedMock,
} from './mock-template.ts';
import { expressionsFor } from './request-expressions.testing.ts';
import type { RequestExpressions } from './request-expressions.ts';

const request = ({ json = '', ...more }: Parts = {}): RequestExpressions =>
  expressionsFor({ parameters: new Map([['id', ['42']]]), body: Buffer.from(json), ...more });
type Parts = Parameters<typeof expressionsFor>[0] & { readonly json?: string };

type Mock = Partial<Parameters<typeof parseMockTemplate>[0]>;

/** Returns a function that renders a mock. It returns a string if there is an error of either kind. */
const renderer = (mock: Mock): ((expressions: RequestExpressions) => RenderedMock | string) => {
  const parsed = parseMockTemplate({ headers: [], body: '', ...mock });
  const problems = parsed.ok ? mockTemplateMistakes(parsed.template, ['id']) : parsed.problems;
  if (!parsed.ok || problems.length > 0)
    return () => problems.map(({ field, message }) => `${field} ${message}`).join('; ');
  return (expressions) => {
    const rendered = renderMock(parsed.template, expressions);
    return rendered instanceof ExpressionError ? rendered.message : rendered;
  };
};
const render = (mock: Mock, expressions = request()): RenderedMock | string => renderer(mock)(expressions);
const renderBody = (body: string, expressions?: RequestExpressions, headers: readonly HeaderPair[] = []): string => {
  const rendered = render({ body, headers }, expressions);
  return typeof rendered === 'string' ? rendered : rendered.body;
};
const TEXT: readonly HeaderPair[] = [['Content-Type', 'text/plain']];

describe('in JSON', () => {
  test.each([
    ['{"id": "${path.id}", "n": ${request.json.n}}', '{"n": 1}', '{"id": "42", "n": 1}'],
    ['{"id": ${path.id}}', '', '{"id": "42"}'],
    ['${request.json}', '[1, "a", null, {"b": 2.50}]', '[1,"a",null,{"b":2.50}]'],
    ['"${request.json.a}"', '{"a": "\\"\\\\\\n\\u0000\\ud800é"}', '"\\"\\\\\\n\\u0000\\ud800é"'],
    ['{"${request.json.a}": 1}', '{"a": "\\"}"}', '{"\\"}": 1}'],
    ['{"a": ${request.json.a}}', '{"a": null}', '{"a": null}'],
    ['{"a": ${request.json.a}}', '{"a": 9223372036854775807}', '{"a": 9223372036854775807}'],
    ['{"a": ${request.json.a}}', '{"a": 18446744073709551615}', '{"a": 18446744073709551615}'],
    ['{"a": ${request.json.a}}', '{"a": 1e2}', '{"a": 1e2}'],
    ['{"a": ${request.json.a}}', '{"a": 1e400}', '{"a": 1e400}'],
    ['{"a": "${request.json.a}"}', '{"a": [1, "b"]}', '{"a": "[1,\\"b\\"]"}'],
    ['{"a": "${request.json.a} ${true} ${1.5}"}', '{"a": -7}', '{"a": "-7 true 1.5"}'],
    ['{"a": "$${path.id}"}', '', '{"a": "${path.id}"}'],
    ['{"a": ${{"b": [1, 2].map(x, x * 2)}}}', '', '{"a": {"b":[2,4]}}'],
  ])('%s with the body %s makes %s', (template, json, expected) => {
    expect(renderBody(template, request({ json }))).toBe(expected);
    JSON.parse(expected);
  });

  test.each([
    ['{"a": "${request.json.a}"}', '{"a": null}', 'body: ${request.json.a} at line 1, column 8: the value is null'],
    ['{"a":\n ${request.json.b}}', '{"a": 1}', 'body: ${request.json.b} at line 2, column 2: there is no field b'],
    ['{"a": ${request.json.a}}', 'x', 'body: ${request.json.a} at line 1, column 7: '],
    ['{"a": ${1.0 / 0.0}}', '', 'body: ${1.0 / 0.0} at line 1, column 7: Infinity is not a number in JSON'],
    ['{"a": ${1 / 0}}', '', 'body: ${1 / 0} at line 1, column 7: '],
    ['{"a": ${request.headers["x-api-key"]}}', '', 'there is no field x-api-key'],
  ])('%s with the body %s fails', (template, json, reason) => {
    const headers: HeaderPair[] = [['x-api-key', 'sha256:01234567']];
    expect(renderBody(template, request({ json, headers }))).toContain(reason);
  });
});

describe('a number of the request is written as it was', () => {
  test.each([
    ['${request.json}', '12.50', '12.50'],
    [
      '${request.json}',
      '[1.0, 2E5, -0, -0.0, 0.10, 12345678901234567890123]',
      '[1.0,2E5,-0,-0.0,0.10,12345678901234567890123]',
    ],
    ['["${request.json.a}"]', '{"a": 12.50}', '["12.50"]'],
    ['[${request.json["a"][1]}]', '{"a": [1.50, 12.50]}', '[12.50]'],
    ['[${request.json.a.b > 1.0 ? request.json.a.b : 0.0}]', '{"a": {"b": 12.50}}', '[12.50]'],
    ['[${default(request.json.a, 1)}]', '{"a": 12.50}', '[12.50]'],
    ['[${default(request.json.b, 1)}]', '{"a": 12.50}', '[1]'],
    ['[${parseJson(request.json.a).b}]', '{"a": "{\\"b\\": 12.50}"}', '[12.50]'],
    ['${[request.json.a, {"b": request.json.a}]}', '{"a": 12.50}', '[12.50,{"b":12.50}]'],
    ['${request.json.map(x, x)}', '[1.50, 2.50]', '[1.50,2.50]'],
    ['${request.json.filter(x, x > 2.0)}', '[1.50, 2.50]', '[2.50]'],
    ['${request.json.map(x, {"p": x.p})}', '[{"p": 1.50}, {"p": 2}]', '[{"p":1.50},{"p":2}]'],
    ['${request.json.l + [1]}', '{"l": [1.0, 2.50]}', '[1.0,2.50,1]'],
    ['${[1] + request.json.l}', '{"l": [1.0, 2.50]}', '[1,1.0,2.50]'],
    ['${request.json.l + request.json.m}', '{"l": [1.0, 2, 3.50], "m": ["a", 4.50]}', '[1.0,2,3.50,"a",4.50]'],
    ['${request.json.l.map(x, [x])[0] + [request.json.l[1]]}', '{"l": [1.0, 2.50]}', '[1.0,2.50]'],
    ['[${(request.json.l + request.json.l)[3]}]', '{"l": [1.0, 2.50]}', '[2.50]'],
    ['${request.json.l.filter(x, x > 1.0) + request.json.l}', '{"l": [1.0, 2.50]}', '[2.50,1.0,2.50]'],
    ['[${parseJson(request.json.s)}]', '{"s": " 4.50\\n"}', '[4.50]'],
    ['[${parseJson(request.json.s)}]', '{"s": "-0"}', '[-0]'],
    ['${[parseJson(request.json.s), {"a": parseJson(request.json.s)}]}', '{"s": "4.50"}', '[4.50,{"a":4.50}]'],
    ['${parseJson(request.json.s) == 4.5 ? [request.json.a] : []}', '{"s": "4.50", "a": 12.50}', '[12.50]'],
    ['${{1u: request.json.a}}', '{"a": 12.50}', '{"1":12.50}'],
    ...['1u', '1', '1.0', 'request.json.one'].flatMap((key) => [
      [`[\${{1u: request.json.a}[${key}]}]`, '{"a": 12.50, "one": 1}', '[12.50]'],
      [`[\${{1: request.json.a}[${key}]}]`, '{"a": 12.50, "one": 1}', '[12.50]'],
    ]),
    ['[${{true: request.json.a}[true]}]', '{"a": 12.50}', '[12.50]'],
    // A result is another number.
    ['[${parseJson(request.json.s) + 0.0}]', '{"s": "4.50"}', '[4.5]'],
    ['[${(request.json.l + [2.5])[2]}]', '{"l": [1.0, 2.50]}', '[2.5]'],
    ['[${double(request.json.a)}]', '{"a": 12.50}', '[12.5]'],
    ['[${request.json.a + 0.0}]', '{"a": 12.50}', '[12.5]'],
    ['[${request.json.a > 1.0 ? 12.5 : 0.0}]', '{"a": 12.50}', '[12.5]'],
    ['[${double("12.5")}, ${request.json.a}]', '{"a": 12.50}', '[12.5, 12.50]'],
    ['["${string(request.json.a)}"]', '{"a": 12.50}', '["12.5"]'],
    ['[${request.json.a}]', '{"a": 12.50, "a": 3}', '[3]'],
    ['[${request.json.map(x, x + 1.0)[0]}, ${request.json[0]}]', '[1.50]', '[2.5, 1.50]'],
  ])('%s with the body %s makes %s', (template, json, expected) => {
    expect(renderBody(template, request({ json }))).toBe(expected);
  });

  test('in text and in a header', () => {
    const json = '{"a": 12.50}';
    expect(renderBody('<a>${request.json.a}</a>', request({ json }), TEXT)).toBe('<a>12.50</a>');
    expect(render({ headers: [['x-a', '${request.json.a}']], body: '' }, request({ json }))).toEqual({
      headers: [['x-a', '12.50']],
      body: '',
    });
  });

  test('for all numbers of JSON', () => {
    const digits = fc.stringMatching(/^[0-9]{1,25}$/);
    const part = (prefix: string) => fc.option(digits, { nil: '' }).map((text) => (text === '' ? '' : prefix + text));
    const number = fc
      .tuple(fc.constantFrom('', '-'), fc.stringMatching(/^(?:0|[1-9][0-9]{0,25})$/), part('.'), part('e'), part('E-'))
      .map(([sign, whole, fraction, large, small]) => `${sign}${whole}${fraction}${large === '' ? small : large}`);
    const echo = renderer({ body: '{"a": ${request.json.a}, "b": ${request.json}}' });
    fc.assert(
      fc.property(number, (text) => {
        const made = echo(request({ json: `{"a": ${text}}` }));
        expect(typeof made === 'string' ? made : made.body).toBe(`{"a": ${text}, "b": {"a":${text}}}`);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('in lines of JSON', () => {
  const NDJSON: readonly HeaderPair[] = [['content-type', 'application/x-ndjson; charset=utf-8']];
  const json = '{"a": "\\"\\n", "b": [1.50]}';

  test.each([
    ['{"a": "${request.json.a}"}\n{"b": ${request.json.b}}\n', '{"a": "\\"\\n"}\n{"b": [1.50]}\n'],
    ['${request.json}\n\n${\n request.json.a\n}', '{"a":"\\"\\n","b":[1.50]}\n\n"\\"\\n"'],
  ])('%j is rendered with escapes', (template, expected) => {
    expect(renderBody(template, request({ json }), NDJSON)).toBe(expected);
  });

  test.each(['application/ndjson', 'application/jsonl', 'application/x-jsonlines'])('of the type %s, too', (type) => {
    expect(renderBody('"${request.json.a}"', request({ json }), [['Content-Type', type]])).toBe('"\\"\\n"');
  });
});

test.each<[string, string, string | undefined]>([
  ['application/json', '{"a": ${path.id}}', undefined],
  ['application/json', '{"a": ${path.id}\n}}', '{"a": []        \n}}'],
  ['application/x-ndjson', '{"a": ${path.id}}\n\n${\npath.id}', undefined],
  ['application/x-ndjson', '{"a": "${path.id}"}\n{"a": x}\n1', '                   \n{"a": x}'],
  ['application/x-ndjson', '{"a":\n1}', '{"a":'],
  ['text/plain', '{"a"', undefined],
])('for the type %s, the template %j has the invalid text %j', (type, body, expected) => {
  const headers: readonly HeaderPair[] = [['content-type', type]];
  const parsed = parseMockTemplate({ headers, body });
  expect(parsed.ok && invalidSkeleton(headers, parsed.template.body)).toBe(expected);
});

describe('in other text', () => {
  test('values are not escaped', () => {
    const json = '{"a": "<\\"\\n>"}';
    expect(renderBody('<a>${request.json.a}</a>', request({ json }), [['content-type', 'application/xml']])).toBe(
      '<a><"\n></a>',
    );
  });

  test.each([
    ['null', '{"a": null}', 'the value is null'],
    ['a lone surrogate', '{"a": "\\ud800"}', 'half of a surrogate pair'],
  ])('%s fails', (_name, json, reason) => {
    expect(renderBody('${request.json.a}', request({ json }), TEXT)).toContain(reason);
  });
});

describe('in a header', () => {
  const header = (json: string): RenderedMock | string =>
    render({ headers: [['X-A', 'a ${request.json.a}']], body: '' }, request({ json }));

  test.each([
    ['{"a": "b\\té"}', 'a b\té'],
    ['{"a": 1}', 'a 1'],
    ['{"a": ""}', 'a '],
  ])('the value of %s is text', (json, value) => {
    expect(header(json)).toEqual({ headers: [['X-A', value]], body: '' });
  });

  test.each(['\\r\\nset-cookie: a=b', '\\n', '\\r', '\\u0000', '\\u007f', '€', '\\ud800'])(
    'the value %s fails',
    (text) => {
      expect(header(`{"a": "${text}"}`)).toContain(
        'header X-A: ${request.json.a} at line 1, column 3: the value has a line break, a control character or',
      );
    },
  );

  test('a value of more than 4,096 characters fails', () => {
    expect(header(`{"a": "${'b'.repeat(4_094)}"}`)).toMatchObject({ body: '' });
    expect(header(`{"a": "${'b'.repeat(4_095)}"}`)).toBe('header X-A: the value is longer than 4096 characters');
  });
});

describe('an error', () => {
  test.each<[HeaderPair[], string, string]>([
    [[], '{"a": ${nothing}}', 'body has an error in ${nothing} at line 1, column 9: '],
    [[], '{\n"a": ${1 +}}', 'body has an error in ${1 +} at line 2, column 10: '],
    [
      [],
      '"${fake()}"',
      "body has an error in ${fake()} at line 1, column 4: fake() needs one name in quotes, such as 'person.fullName'",
    ],
    [[], '"${fake(requestId)}"', 'fake() needs one name in quotes'],
    [[], '"${fake("person.age")}"', 'fake() has no data named person.age: use person.bio, person.firstName,'],
    [[], '"${fake("helpers.fake")}"', 'fake() has no data named helpers.fake: use for example person.fullName'],
    [[], '${path.other}', 'body has an error in ${path.other} at line 1, column '],
    [[['a', '${']], '', '0 has ${ at line 1, column 1 without a closing brace'],
    [[['Content-Type', '${path.id}']], '', '0 must not have expressions, because it decides how values are encoded'],
  ])('in the headers %j or the body %s is explained', (headers, body, message) => {
    expect(render({ headers, body })).toContain(message);
  });
});

test('a body of more than 1 MiB fails', () => {
  const json = JSON.stringify({ a: 'é'.repeat(200_000) });
  expect(renderBody('["${request.json.a}", "${request.json.a}"]', request({ json }))).toHaveLength(400_008);
  expect(renderBody('["${request.json.a}", "${request.json.a}", "${request.json.a}"]', request({ json }))).toBe(
    'body: the text is longer than 1048576 bytes',
  );
});

test('values that are written many times use up the budget', () => {
  const json = JSON.stringify(Array.from({ length: 9_000 }, (_, index) => index));
  expect(renderBody(`[${'${request.json},'.repeat(3)} 1]`, request({ json }))).toMatch(/^\[\[0,/);
  expect(renderBody(`[${'${request.json},'.repeat(20)} 1]`, request({ json }))).toMatch(
    /^body: \$\{request\.json\} at line 1, column \d+: the conditions and templates of the endpoint take too long for this request$/,
  );
});

describe('rendering', () => {
  const VARIED =
    '{"x": "${fake("person.fullName")}", "y": ${fake("number.int")}, "z": ${[1, 2].map(i, fake("internet.email"))}, ' +
    '"a": "${uuid()}", "b": ${random(1, 1000000)}, "c": "${now}", "d": "${requestId}"}';

  test('again gives the same text, and another request gives another one', () => {
    expect(renderBody(VARIED, request())).toBe(renderBody(VARIED, request()));
    expect(renderBody(VARIED, request({ id: '0193' }))).not.toBe(renderBody(VARIED, request()));
  });

  test('fake data depends on the request and on the order of the calls', () => {
    const pair = (id: string): unknown =>
      JSON.parse(renderBody('[${fake("internet.email")}, ${fake("internet.email")}]', request({ id })));
    const [first, second] = pair('1') as string[];
    expect(pair('1')).toEqual([first, second]);
    expect(new Set([first, second, ...(pair('2') as string[])]).size).toBe(4);
  });

  test('fake data uses up the budget', () => {
    const many = (count: number) => renderBody(`\${[${'0,'.repeat(count)}0].map(i, fake("word.noun")).size()}`);
    expect(many(100)).toBe('101');
    expect(many(400)).toContain('the conditions and templates of the endpoint take too long for this request');
  });

  const TEMPLATE = '{"s": "x${request.json.s}", "n": ${request.json.n}, "o": ${request.json}, "p": ${request.json.s}}';

  test('echoes all strings and integers exactly, in valid JSON', () => {
    const hostile = fc.constantFrom(
      '"',
      '\\',
      '\n',
      '\0',
      '\u2028',
      '\ud800',
      '\udc00',
      '${',
      '}',
      '</script>',
      'é',
      '\x7f',
    );
    const text = fc.oneof(
      fc.string(),
      fc.array(hostile, { maxLength: 10 }).map((parts) => parts.join('')),
    );
    const integer = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n });
    const echo = renderer({ body: TEMPLATE });
    fc.assert(
      fc.property(text, integer, (s, n) => {
        const json = `{"s": ${JSON.stringify(s)}, "n": ${n}}`;
        const made = echo(request({ json }));
        const body = typeof made === 'string' ? made : made.body;
        expect(JSON.parse(body)).toEqual({ s: `x${s}`, n: Number(n), o: { s, n: Number(n) }, p: s });
        expect(body.split(`: ${n},`).length + body.split(`:${n}}`).length).toBe(4);
        expect(echo(request({ json }))).toEqual(made);
      }),
      { numRuns: 10_000 },
    );
  });

  test('makes doubles that are read as the same number', () => {
    fc.assert(
      fc.property(fc.double({ noDefaultInfinity: true, noNaN: true }), (n) => {
        const json = JSON.stringify({ n });
        const { n: made } = JSON.parse(renderBody('{"n": ${request.json.n}}', request({ json }))) as { n: number };
        expect(made === n || Object.is(made, n)).toBe(true);
      }),
    );
  });
});
