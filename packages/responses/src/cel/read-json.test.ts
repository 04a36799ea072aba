import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Budget } from '../budget.ts';
import { ExpressionError } from './expression-error.ts';
import { readJson } from './read-json.ts';
import { celToJson } from './value-text.ts';

const echo = (text: string): string => {
  const value = readJson(text, new Budget());
  const json = value instanceof ExpressionError ? value : celToJson(value);
  return json instanceof ExpressionError ? `error: ${json.message}` : json;
};
const NOT_JSON = 'error: the body is not a JSON document';

describe('a JSON document', () => {
  test.each([
    [' {"b" : 1 , "a":[ ]} ', '{"b":1,"a":[]}'],
    ['{"b": 1, "1": 2}', '{"b":1,"1":2}'],
    ['{"a": 1, "b": 2, "a": 3}', '{"a":3,"b":2}'],
    ['{"__proto__": {"x": 1}}', '{"__proto__":{"x":1}}'],
    ['9223372036854775807', '9223372036854775807'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['9223372036854775808', '9223372036854775808'],
    ['18446744073709551615', '18446744073709551615'],
    ['18446744073709551616', '18446744073709552000'],
    ['1.0', '1'],
    ['0.1e2', '10'],
    ['1e400', 'error: Infinity is not a number in JSON'],
    ['"\\ud800"', '"\\ud800"'],
    ['"\\u0000\\n"', '"\\u0000\\n"'],
    ['[true,false,null]', '[true,false,null]'],
    ['', NOT_JSON],
    ['\ufeff1', NOT_JSON],
    ['1 2', NOT_JSON],
    ['[1,]', NOT_JSON],
    ['{"a":1,}', NOT_JSON],
    ['{a:1}', NOT_JSON],
    ["'a'", NOT_JSON],
    ['"a\nb"', NOT_JSON],
    ['"\\x"', NOT_JSON],
    ['01', NOT_JSON],
    ['NaN', NOT_JSON],
    ['[', NOT_JSON],
    ['{"a"', NOT_JSON],
  ])('%s is read as %s', (text, expected) => {
    expect(echo(text)).toBe(expected);
  });

  test.each([
    [29_999, true],
    [30_000, false],
  ])('with %i values in a list: %s', (count, isRead) => {
    const text = `[${Array(count).fill('1').join(',')}]`;
    expect(echo(text)).toBe(isRead ? text : 'error: the body has more than 30000 JSON values');
  });

  test.each([
    [100, true],
    [102, false],
    [500_000, false],
  ])('with %i levels: %s', (depth, isRead) => {
    const text = '['.repeat(depth) + ']'.repeat(depth);
    expect(echo(text)).toBe(isRead ? text : 'error: the body has more than 100 levels of JSON');
  });

  test('is read as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(JSON.parse(echo(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  test('is refused exactly if JSON.parse refuses it', () => {
    const part = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '1',
      '-',
      '.',
      'e',
      'null',
      ' ',
      '\\',
      '"a"',
      'u0041',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const text = parts.join('');
        const isJson = (() => {
          try {
            JSON.parse(text);
            return true;
          } catch {
            return false;
          }
        })();
        expect(!(readJson(text, new Budget()) instanceof ExpressionError)).toBe(isJson);
      }),
      { numRuns: 2_000 },
    );
  });

  test('echoes strings and 64-bit integers exactly', () => {
    const text = fc.string({ unit: 'binary' });
    const integer = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n });
    fc.assert(
      fc.property(text, integer, (string, number) => {
        const document = `{${JSON.stringify(string)}:[${JSON.stringify(string)},${number}]}`;
        expect(echo(document)).toBe(document);
      }),
      { numRuns: 300 },
    );
  });
});
