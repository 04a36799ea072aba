import { describe, expect, test } from 'vitest';
import { engineText, expectsData, formatOf, insertFromFile, StatementError } from './statement.ts';

const plain = { query: 'SELECT 1', database: undefined, settings: [], params: [], readOnly: false };

describe('engineText', () => {
  test.each([
    ['a query alone', {}, 'SELECT 1'],
    ['a database', { database: 'a`b' }, 'USE `a\\`b`; SELECT 1'],
    ['settings', { settings: [['async_insert', '0']] }, "SET async_insert = '0'; SELECT 1"],
    ['a parameter', { params: [['x', "a\\t'b"]] }, "SET param_x = 'a\\\\t\\'b'; SELECT 1"],
    ['a read', { readOnly: true }, 'SET readonly = 2; SELECT 1'],
  ] as const)('%s', (_what, part, text) => {
    expect(engineText({ ...plain, ...part })).toBe(text);
  });

  test('a setting whose name is no name is refused', () => {
    expect(() => engineText({ ...plain, settings: [["a='1'; DROP", 'x']] })).toThrow(StatementError);
  });
});

describe('inserts with data', () => {
  test.each([
    ['INSERT INTO log (a, b) FORMAT RowBinary', true],
    ['insert into log format JSONEachRow ;', true],
    ['INSERT INTO log (a) SETTINGS async_insert = 0 FORMAT CSV', true],
    ['INSERT INTO log VALUES (1)', false],
    ['SELECT 1 FORMAT CSV', false],
    ['INSERT INTO log FORMAT CSV\n1,2', false],
  ])('%s: %s', (query, wanted) => {
    expect(expectsData(query)).toBe(wanted);
  });

  test('read their file in place of the body', () => {
    expect(insertFromFile('INSERT INTO log (a) FORMAT RowBinary', "/tmp/it's")).toBe(
      "INSERT INTO log (a) FROM INFILE '/tmp/it\\'s' COMPRESSION 'none' FORMAT RowBinary",
    );
    expect(insertFromFile('INSERT INTO log SETTINGS x = 1 FORMAT CSV', '/f')).toBe(
      "INSERT INTO log FROM INFILE '/f' COMPRESSION 'none' SETTINGS x = 1 FORMAT CSV",
    );
  });
});

test.each([
  ['SELECT 1 FORMAT JSONEachRow', 'JSONEachRow'],
  ['SELECT 1\nformat CSV ; ', 'CSV'],
  ['SELECT 1', undefined],
])('the format of %j is %s', (query, format) => {
  expect(formatOf(query)).toBe(format);
});
