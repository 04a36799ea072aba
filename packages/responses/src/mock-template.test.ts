import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { HeaderPair } from '@standin/contract';
import { ExpressionError } from './cel/expression-error.ts';
import { mockTemplateMistakes, parseMockTemplate, renderMock, type RenderedMock } from './mock-template.ts';
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
    ['${request.json}', '[1, "a", null, {"b": 2.50}]', '[1,"a",null,{"b":2.5}]'],
    ['"${request.json.a}"', '{"a": "\\"\\\\\\n\\u0000\\ud800é"}', '"\\"\\\\\\n\\u0000\\ud800é"'],
    ['{"${request.json.a}": 1}', '{"a": "\\"}"}', '{"\\"}": 1}'],
    ['{"a": ${request.json.a}}', '{"a": null}', '{"a": null}'],
    ['{"a": ${request.json.a}}', '{"a": 9223372036854775807}', '{"a": 9223372036854775807}'],
    ['{"a": ${request.json.a}}', '{"a": 18446744073709551615}', '{"a": 18446744073709551615}'],
    ['{"a": ${request.json.a}}', '{"a": 1e2}', '{"a": 100}'],
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
    ['{"a": ${request.json.a}}', '{"a": 1e400}', 'body: ${request.json.a} at line 1, column 7: '],
    ['{"a": ${1.0 / 0.0}}', '', 'body: ${1.0 / 0.0} at line 1, column 7: Infinity is not a number in JSON'],
    ['{"a": ${1 / 0}}', '', 'body: ${1 / 0} at line 1, column 7: '],
    ['{"a": ${request.headers["x-api-key"]}}', '', 'there is no field x-api-key'],
  ])('%s with the body %s fails', (template, json, reason) => {
    const headers: HeaderPair[] = [['x-api-key', 'sha256:01234567']];
    expect(renderBody(template, request({ json, headers }))).toContain(reason);
  });
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
