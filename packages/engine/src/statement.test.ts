import { describe, expect, test } from 'vitest';
import { dataIn, engineText, insertFromFile, namedFormat, StatementError } from './statement.ts';

const plain = { query: 'SELECT 1', database: undefined, settings: [], params: [], readOnly: false };

describe('engineText', () => {
  test.each([
    ['only a query', {}, 'SELECT 1'],
    ['a database', { database: 'a`b' }, 'USE `a\\`b`; SELECT 1'],
    ['settings', { settings: [['async_insert', '0']] }, "SET async_insert = '0'; SELECT 1"],
    ['a parameter', { params: [['x', "a\\t'b"]] }, "SET param_x = 'a\\\\t\\'b'; SELECT 1"],
    ['a read', { readOnly: true }, 'SET readonly = 2; SELECT 1'],
  ] as const)('returns the statements for %s', (_what, part, text) => {
    expect(engineText({ ...plain, ...part })).toBe(text);
  });

  test('refuses an invalid setting name', () => {
    expect(() => engineText({ ...plain, settings: [["a='1'; DROP", 'x']] })).toThrow(StatementError);
  });
});

describe('an insert with data', () => {
  test('reads its file instead of the body', () => {
    const sql = '/* x */ INSERT INTO log SETTINGS x = 1 FORMAT CSV';
    const head = { start: sql.indexOf('INSERT'), fileAt: sql.indexOf('SETTINGS'), end: sql.length };
    expect(insertFromFile(sql, head, "/tmp/it's")).toBe(
      "INSERT INTO log FROM INFILE '/tmp/it\\'s' COMPRESSION 'none' SETTINGS x = 1 FORMAT CSV",
    );
  });

  test.each([
    ['', ''],
    [' ;\n', ''],
    ['\n1,2', '1,2'],
    [' \r\n 1,2', ' 1,2'],
    [' 1,2', '1,2'],
    ['\n\n1', '\n1'],
  ])('with the text %j after its format has the data %j', (rest, data) => {
    const sql = 'INSERT INTO log FORMAT CSV';
    expect(dataIn(`${sql}${rest}`, { end: sql.length })).toBe(data);
  });
});

test.each([
  ['SELECT 1 FORMAT JSONEachRow', 'JSONEachRow'],
  ['SELECT 1\nformat CSV ; ', 'CSV'],
  ['SELECT 1', undefined],
])('the format in %j is %s', (query, format) => {
  expect(namedFormat(query)).toBe(format);
});
