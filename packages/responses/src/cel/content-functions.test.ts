import { describe, expect, test } from 'vitest';
import { parseExpression } from '../request-expressions.ts';
import { expressionsFor } from '../request-expressions.testing.ts';
import { ExpressionError } from './expression-error.ts';
import { celToJson } from './value-text.ts';

const BODY = { text: '<a href="x">\'&\'</a>\r\n', payload: '{"id": 7, "tags": ["a"]}', total: 12, note: null };

const evaluated = (source: string): unknown => {
  const parsed = parseExpression(source, ['id']);
  if (!parsed.ok) return `refused: ${parsed.message}`;
  const value = expressionsFor({ body: Buffer.from(JSON.stringify(BODY)) }).evaluate(parsed.expression);
  const json = value instanceof ExpressionError ? value : celToJson(value);
  return json instanceof ExpressionError ? `error: ${json.message}` : JSON.parse(json);
};

describe('parseJson()', () => {
  test.each([
    ['parseJson(request.json.payload).id', 7],
    ['parseJson(request.json.payload).tags[0]', 'a'],
    ['parseJson(request.json.payload).id > 6', true],
    ['parseJson("9223372036854775807") == 9223372036854775807', true],
    ['parseJson("{")', 'error: the text is not a JSON document'],
    ['parseJson(request.json.total)', 'error: parseJson() does not take (int): convert a value'],
    ['parseJson(1)', 'refused: parseJson() does not take (int): convert a value'],
  ])('%s is %j', (source, expected) => {
    expect(evaluated(source)).toEqual(typeof expected === 'string' ? expect.stringContaining(expected) : expected);
  });
});

describe('escaping', () => {
  test.each([
    ['escapeHtml(request.json.text)', '&lt;a href=&#34;x&#34;&gt;&#39;&amp;&#39;&lt;/a&gt;\r\n'],
    ['escapeXml(request.json.text)', '&lt;a href=&#34;x&#34;&gt;&#39;&amp;&#39;&lt;/a&gt;&#13;&#10;'],
    ['escapeXml("plain é 💡")', 'plain é 💡'],
    ['escapeXml("a\\u0001")', 'error: the text has a character that XML cannot contain'],
    ['escapeXml("a\\uffff")', 'error: the text has a character that XML cannot contain'],
    ['escapeXml(1)', 'refused: escapeXml() does not take (int): convert a value'],
  ])('%s is %j', (source, expected) => {
    expect(evaluated(source)).toEqual(expected.includes(': ') ? expect.stringContaining(expected) : expected);
  });
});

describe('base64()', () => {
  test.each([
    ['base64("é?")', 'w6k/'],
    ['base64(b"\\xff")', '/w=='],
    ['"Basic " + base64("user:pass")', 'Basic dXNlcjpwYXNz'],
    ['base64("")', ''],
  ])('%s is %j', (source, expected) => {
    expect(evaluated(source)).toBe(expected);
  });
});

describe('default()', () => {
  test.each([
    ['default(request.json.total, 1)', 12],
    ['default(request.json.nothing, 1)', 1],
    ['default(request.json.a.b.c, "x")', 'x'],
    ['default(request.json.total.b, "x")', 'x'],
    ['default(request.json["a"], default(request.query.a, "x"))', 'x'],
    ['default([1][3], 2)', 2],
    ['default(request.form.a, "x")', 'x'],
    ['default(int(request.query.page), 1) + 1', 2],
    ['default(parseJson(request.form.payload).id, 0)', 0],
    // Only an absent value has a default.
    ['default(request.json.note, "x")', null],
    ['default(1 / 0, 1)', 'error: int divide by zero'],
    ['default(parseJson(request.json.text), 1)', 'error: the text is not a JSON document'],
    ['default(request.json.nothing, request.json.a)', 'error: there is no field a'],
    ['default(request.json.nothing, 1) > 0', true],
    ['default(request.json.a)', 'refused: default() needs two arguments'],
    ['default(request.jsn, 1)', 'refused: '],
    ['request.json.a.default(1)', 'refused: '],
  ])('%s is %j', (source, expected) => {
    expect(evaluated(source)).toEqual(
      typeof expected === 'string' && expected.includes(': ') ? expect.stringContaining(expected) : expected,
    );
  });
});

// The request was received at 2023-11-14T22:13:20.123456Z, a Tuesday.
describe('formatTime()', () => {
  test.each([
    ["formatTime(now, 'RFC1123')", 'Tue, 14 Nov 2023 22:13:20 GMT'],
    ["formatTime(now, 'RFC1123', 'Europe/Berlin')", 'Tue, 14 Nov 2023 23:13:20 +0100'],
    ["formatTime(now, 'RFC3339')", '2023-11-14T22:13:20Z'],
    ["formatTime(now, 'RFC3339', '+05:30')", '2023-11-15T03:43:20+05:30'],
    ["formatTime(now, 'yyyy-MM-dd', 'Asia/Tokyo')", '2023-11-15'],
    ["formatTime(now, 'yy M d H h m s a')", '23 11 14 22 10 13 20 PM'],
    ["formatTime(now, 'HH:mm:ss.SSS')", '22:13:20.123'],
    ["formatTime(now, 'HH:mm:ss.SSSSSS')", '22:13:20.123456'],
    ["formatTime(now, \"EEEE, d MMMM yyyy 'at' hh 'o''clock'\")", "Tuesday, 14 November 2023 at 10 o'clock"],
    ["formatTime(now, 'XXX xx', 'America/New_York')", '-05:00 -0500'],
    ["formatTime(timestamp('2024-01-01T00:05:00Z'), 'yyyy DDD h:mm a')", '2024 001 12:05 AM'],
    ["formatTime(now + duration('24h'), 'EEE')", 'Wed'],
    ["formatTime(timestamp('0001-01-01T00:00:00Z'), 'yyyy')", '0001'],
    ["formatTime(now, 'YYYY')", 'refused: the layout has YYYY, which is not supported: use letters such as yyyy'],
    ["formatTime(now, 'yyyy 'T')", 'refused: '],
    ['formatTime(now, "yyyy\'T")', "refused: the layout has a ' without a second one"],
    ["formatTime(now, 'HH', 'Europe/Bonn')", 'refused: Europe/Bonn is not a time zone'],
    ["now.getHours('Europe/Bonn')", 'refused: Europe/Bonn is not a time zone'],
    ["now.getDate('+2:00')", 'refused: the offset of the time zone is not like +02:00'],
    ['now.getHours(request.json.text)', 'is not a time zone'],
    ['formatTime(now, request.json.text)', 'error: the layout has '],
    ['formatTime(now, "HH", request.json.text)', 'is not a time zone'],
    ["formatTime('now', 'HH')", 'refused: formatTime() does not take (string, string)'],
  ])('%s is %j', (source, expected) => {
    const isError = expected.includes('refused: ') || expected.includes('error: ') || expected.startsWith('is not');
    expect(evaluated(source)).toEqual(isError ? expect.stringContaining(expected) : expected);
  });
});
