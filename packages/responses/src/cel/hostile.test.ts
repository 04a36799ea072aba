import { cpuMs } from '@standin/contract/testing';
import { describe, expect, test } from 'vitest';
import { parseExpression } from '../request-expressions.ts';
import { expressionsFor } from '../request-expressions.testing.ts';
import { ExpressionError, OUT_OF_BUDGET } from './expression-error.ts';
import { celToJson } from './value-text.ts';

/** No request may block the gateway for longer. CPU time, because other processes can slow down the test. */
const CPU_MS_MAX = 50;

const many = (count: number, text: string, separator: string): string => Array(count).fill(text).join(separator);
const generate = <T>(length: number, item: (index: number) => T): T[] =>
  Array.from({ length }, (_, index) => item(index));
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const KI = 1_024;

const NUMBERS = generate(9_000, (index) => index);
const A = 'a'.repeat(500 * KI);
const PAIRS = '💡'.repeat(240 * KI);
/** A string that the quadratic search of V8 compares with almost every part of A. */
const NEEDLE = `${'a'.repeat(100 * KI)}b${'a'.repeat(100 * KI)}`;

const EXPRESSIONS: readonly (readonly [name: string, source: string, body: Buffer])[] = [
  ['search in a loop', `request.json.l.all(x, !request.body.contains('ab'))`, json({ l: generate(200, Number), a: A })],
  ['concatenation of a body', `size(${many(60, 'request.body', ' + ')}) > 0`, json(A)],
  [
    'an absorbed error',
    `request.json.l.all(x, size(request.body + request.body) > 0 || true)`,
    json({ l: NUMBERS, a: A }),
  ],
  ['search for a long text', 'request.json.a.contains(request.json.b)', json({ a: A, b: NEEDLE })],
  ['search from the end', 'request.json.a.lastIndexOf(request.json.b) < 0', json({ a: A, b: NEEDLE })],
  ['split by a long text', 'request.json.a.split(request.json.b).size() == 1', json({ a: A, b: NEEDLE })],
  [
    'search for a frequent start',
    many(20, `request.json.contains('aaaaaaaab')`, ' || '),
    json('aaaaaaaac'.repeat(50_000)),
  ],
  ['many replacements', `request.body.replace('a', 'bb').size() > 0`, json(A)],
  ['long replacements', 'request.json.replace("a", request.json).size() > 0', json('a'.repeat(5_000))],
  ['a long separator', 'request.json.l.join(request.json.a).size() > 0', json({ l: generate(9_000, () => ''), a: A })],
  ['many formats', `request.json.l.all(x, '%.100f %.100e'.format([1.5, 1.5]) != '')`, json({ l: NUMBERS })],
  ['formats of a list in a list', `'%s'.format([[${many(60, 'request.json', ',')}]]).size() > 0`, json(NUMBERS)],
  ['comparison of lists', 'request.json.l.all(x, request.json.l + [] == request.json.l)', json({ l: NUMBERS })],
  ['search in a list', 'request.json.l.all(x, !(x in request.json.l))', json({ l: generate(4_500, () => [1]) })],
  [
    'numbers as keys',
    'request.json.l.all(x, x in request.json.m || true)',
    json({ l: NUMBERS.slice(0, 4_000), m: Object.fromEntries(generate(5_000, (x) => [`k${x}`, x])) }),
  ],
  ['missing fields', `request.json.l.all(x, ${many(120, 'x.a', ' || ')} || true)`, json({ l: NUMBERS })],
  ['failing functions', `request.json.l.all(x, ${many(40, "int('x') == 1", ' || ')} || true)`, json({ l: NUMBERS })],
  ['divisions by zero', `request.json.l.all(x, ${many(60, '1 / 0 == 1', ' || ')} || true)`, json({ l: NUMBERS })],
  ['wrong types', `request.json.l.all(x, ${many(80, "x < 'a'", ' || ')} || true)`, json({ l: NUMBERS })],
  ['lists in a list', `request.json.l.map(x, [${many(450, 'x', ',')}]).size() > 0`, json({ l: NUMBERS })],
  [
    'maps in a list',
    `request.json.l.map(x, {${generate(90, (x) => `'${x}':x`).join(',')}}).size() > 0`,
    json({ l: NUMBERS }),
  ],
  [
    'lists that grow',
    'request.json.l.map(x, request.json.l + request.json.l).size() > 0',
    json({ l: NUMBERS.slice(0, 5_000) }),
  ],
  ['time zones', `request.json.l.all(x, now.getHours('Europe/Berlin') >= 0)`, json({ l: NUMBERS })],
  [
    'long names of time zones',
    `request.json.l.all(x, now.getHours(request.json.a) == 0 || true)`,
    json({ l: NUMBERS, a: `${A}${A}`.slice(0, 900 * KI) }),
  ],
  ['times', `request.json.l.all(x, timestamp(string(now)) == now)`, json({ l: NUMBERS })],
  [
    'durations',
    `request.json.l.all(x, duration(request.json.d) > duration('1s'))`,
    json({ l: NUMBERS, d: '1ns'.repeat(42) }),
  ],
  ['conversions', `request.json.l.all(x, string(bytes(request.body)) != '')`, json({ l: NUMBERS, a: A })],
  [
    'a number of many digits',
    'int(request.body) == 1 || double(request.body) == 1.0 || true',
    Buffer.from('9'.repeat(KI * KI)),
  ],
  ['other letters', many(25, `request.json.upperAscii() != ''`, ' && '), json(A)],
  ['spaces', many(30, `request.body.trim() != ''`, ' && '), Buffer.from(`${' '.repeat(KI * KI - 1)}x`)],
  ['quotes', many(25, `strings.quote(request.body) != ''`, ' && '), Buffer.alloc(KI * KI, '"')],
  [
    'parts of a text',
    'request.json.l.all(x, request.json.a.substring(x) != request.json.a + "b")',
    json({ l: NUMBERS, a: A }),
  ],
  [
    'long keys',
    'request.json.l.all(x, has(request.json.l) || request.json[request.json.a + "b"] == 1)',
    json({ l: NUMBERS, a: A }),
  ],
  ['matches', `request.body.matches('(a+)+$')`, json(A)],
  [
    'matches with many alternatives',
    many(19, "request.json.matches('[ab]*a[ab]{40}c')", ' || '),
    json('ab'.repeat(5_000)),
  ],
  [
    'matches in a loop',
    `request.json.l.all(x, !x.matches('^([a-z]+)*[0-9]{1,50}$'))`,
    json({ l: generate(9_000, () => 'a'.repeat(90)) }),
  ],
  ['sums', `request.json.l.all(x, ${many(480, 'x', '+')} >= 0)`, json({ l: NUMBERS })],
  [
    'fields of fields',
    `request.json.l.all(x, x${'.a'.repeat(90)} == 1)`,
    json({ l: generate(100, () => JSON.parse(`${'{"a":'.repeat(90)}1${'}'.repeat(90)}`) as unknown) }),
  ],
  [
    'positions in a text of surrogate pairs',
    `request.json.l.all(x, request.json.a.charAt(200000 + x) == '💡')`,
    json({ l: NUMBERS, a: PAIRS }),
  ],
  [
    'parts of a text of surrogate pairs',
    `request.json.l.all(x, request.json.a.substring(x, 200000) != '')`,
    json({ l: NUMBERS, a: PAIRS }),
  ],
  [
    'searches in a text of surrogate pairs',
    `request.json.l.all(x, request.json.a.indexOf('b', x) >= 0 && request.json.a.lastIndexOf('💡', 200000 - x) >= 0)`,
    json({ l: NUMBERS, a: `${PAIRS}b` }),
  ],
  [
    'sizes of a text of surrogate pairs',
    'request.json.l.all(x, request.json.a.size() > x)',
    json({ l: NUMBERS, a: PAIRS }),
  ],
  ['reversed texts', many(30, `request.body.reverse() != ''`, ' && '), json(PAIRS)],
  [
    'orders of texts',
    `request.json.l.all(x, request.json.a <= request.json.b)`,
    json({ l: NUMBERS, a: A, b: `${A}💡` }),
  ],
  ['many decimals', `request.json.l.all(x, '%.100f'.format([5e-324]) != '')`, json({ l: NUMBERS })],
  ['many large numbers', `request.json.l.all(x, '%.100f%.100e'.format([1e308, 1e308]) != '')`, json({ l: NUMBERS })],
  [
    'a format of many clauses',
    `request.json.a.format(request.json.l) != ''`,
    json({ a: '%s'.repeat(9_000), l: NUMBERS }),
  ],
  [
    'absorbed errors of a format in hexadecimal digits',
    `request.json.l.all(x, '%X'.format([request.json.a]) == '' || true)`,
    json({ l: NUMBERS, a: `${A}${A}`.slice(0, 900 * KI) }),
  ],
  [
    'a format without clauses',
    `request.json.l.all(x, request.json.a.format([]) != '')`,
    json({ l: NUMBERS, a: '%%'.repeat(100_000) }),
  ],
  [
    'a format of a map',
    `request.json.l.all(x, '%s'.format([request.json.m]) != '')`,
    json({ l: NUMBERS, m: Object.fromEntries(generate(500, (x) => [`${'k'.repeat(900)}${x}`, x])) }),
  ],
  ['a long duration', `duration(request.json) > duration('1s') || true`, json('1s'.repeat(500_000))],
  ['a long fraction', `duration('1.' + request.json + 's') > duration('1s') || true`, json('1'.repeat(1_000_000))],
  [
    'a long timestamp',
    `timestamp('2024-01-01T00:00:00.' + request.json + 'Z') < now || true`,
    json('1'.repeat(1_000_000)),
  ],
  ['a map of integer keys', `request.json.l.map(x, {x: 1}).size() > 0`, json({ l: NUMBERS })],
  [
    'JSON in texts',
    `request.json.l.all(x, parseJson(request.json.a) == 1 || true)`,
    json({ l: NUMBERS, a: `[${'1,'.repeat(9_000)}1]` }),
  ],
  ['escapes of XML', many(25, `escapeXml(request.json) != ''`, ' && '), json('<'.repeat(900 * KI))],
  [
    'escapes of HTML',
    `request.json.l.all(x, escapeHtml(request.json.a) != '')`,
    json({ l: NUMBERS, a: '"'.repeat(100 * KI) }),
  ],
  ['text without escapes', many(25, `escapeXml(request.body) != ''`, ' && '), Buffer.alloc(KI * KI, 'a')],
  ['base64', `request.json.l.all(x, base64(request.json.a) != '')`, json({ l: NUMBERS, a: A })],
  [
    'layouts of times',
    `request.json.l.all(x, formatTime(now, "${'yyyy-MM-dd'.repeat(9)}") != '')`,
    json({ l: NUMBERS }),
  ],
  [
    'layouts with a time zone',
    `request.json.l.all(x, formatTime(now, 'HH', 'Asia/Tokyo') != '')`,
    json({ l: NUMBERS }),
  ],
  ['defaults', `request.json.l.all(x, ${many(40, 'default(x.a,1)==1', ' && ')})`, json({ l: NUMBERS })],
  [
    'numbers as they were written',
    `request.json.l.map(x, [x.p, x.p]).size() > 0`,
    json({ l: NUMBERS.map(() => ({ p: 1e50 })) }),
  ],
  [
    'joined numbers as they were written',
    `request.json.l.map(x, request.json.p + request.json.p).size() > 0`,
    Buffer.from(`{"l": [${'1,'.repeat(900)}1], "p": [${'1.50,'.repeat(4_000)}1.50]}`),
  ],
  ['random values', 'request.json.l.map(x, uuid()).size() > 0', json({ l: NUMBERS })],
];

describe('an expression within all static limits takes a bounded time:', () => {
  test.each(EXPRESSIONS.map((expression) => ({ expression, name: expression[0] })))(
    '$name',
    ({ expression: [, source, body] }) => {
      const parsed = parseExpression(source, []);
      if (!parsed.ok) throw new Error(parsed.message);
      const { expression } = parsed;
      expect(cpuMs(() => expressionsFor({ body }).evaluate(expression), CPU_MS_MAX)).toBeLessThan(CPU_MS_MAX);
    },
  );

  test('many expressions of one request share the budget', () => {
    const parsed = parseExpression('request.json.l.all(x, x >= 0)', []);
    if (!parsed.ok) throw new Error(parsed.message);
    const body = json({ l: NUMBERS });
    const run = expressionsFor({ body });
    const time = cpuMs(() => {
      for (let count = 0; count < 100; count++) run.evaluate(parsed.expression);
    }, CPU_MS_MAX);
    expect(time).toBeLessThan(CPU_MS_MAX);
    expect(run.evaluate(parsed.expression)).toBeInstanceOf(ExpressionError);
  });
});

test.each([
  ['||', 'request.json.l.exists(x, request.body.contains("zz")) || true'],
  ['&&', '!(request.json.l.exists(x, request.body.contains("zz")) && false)'],
  ['?:', 'true ? request.json.l.all(x, !request.body.contains("zz")) || true : true'],
  ['a macro', 'request.json.l.exists(x, x == 8999 || request.body.contains("zz"))'],
])('%s does not absorb an exhausted budget', (_name, source) => {
  const parsed = parseExpression(source, []);
  if (!parsed.ok) throw new Error(parsed.message);
  const run = expressionsFor({ body: json({ l: NUMBERS, a: A }) });
  expect(run.evaluate(parsed.expression)).toEqual(OUT_OF_BUDGET);
  const simple = parseExpression('true', []);
  expect(simple.ok && run.evaluate(simple.expression)).toEqual(OUT_OF_BUDGET);
});

test.each([
  ['8,000 items', 'request.json.exists(i, i == "x")', json(generate(8_000, String))],
  ['3,000 objects', 'request.json.exists(i, i.sku == "x")', json(generate(3_000, (x) => ({ sku: String(x), n: x })))],
  ['1 MB of text', 'request.body.contains("needle")', Buffer.alloc(1_000_000, 'The quick brown fox. ')],
])('%s are within the budget', (_name, source, body) => {
  const parsed = parseExpression(source, []);
  expect(parsed.ok && expressionsFor({ body }).evaluate(parsed.expression)).toBe(false);
});

test.each([
  ['brackets', `${'['.repeat(32)}1`],
  ['groups of brackets', many(15, `${'('.repeat(32)}1${')'.repeat(32)}`, '+')],
  ['maps', many(7, `${'{1:'.repeat(32)}1${'}'.repeat(32)}`, '+')],
  ['conditions', `${'x?x:'.repeat(250)}x`],
  ['comparisons', many(340, 'x', '<=')],
  ['fields', `request.json${'.a'.repeat(500)}`],
  ['regular expressions', many(20, 'request.body.matches("(?i)[a-z]{900}")', '||')],
  ['times', many(28, 'formatTime(now,"HH","Asia/Tokyo")', '+')],
  ['a long regular expression', `request.body.matches("${'a'.repeat(900)}")`],
  ['Unicode classes', `request.body.matches("${'\\\\pL'.repeat(200)}")`],
])('an expression of many %s is compiled in a bounded time', (_name, source) => {
  expect(cpuMs(() => parseExpression(source, []), CPU_MS_MAX)).toBeLessThan(CPU_MS_MAX);
});

test('a value that contains a list many times is not written', () => {
  const parsed = parseExpression(`[${many(70, 'request.json', ',')}]`, []);
  const value = parsed.ok ? expressionsFor({ body: json(NUMBERS) }).evaluate(parsed.expression) : '';
  if (value instanceof ExpressionError) throw new Error(value.message);
  expect(celToJson(value)).toBe(OUT_OF_BUDGET);
  expect(cpuMs(() => celToJson(value), CPU_MS_MAX)).toBeLessThan(CPU_MS_MAX);
});
