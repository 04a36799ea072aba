import { expect, test } from 'vitest';
import { parseClickHouseName, parseClickHouseUrl } from '../clickhouse-options.ts';
import { parseSearch, parseSince, parseStatus, underline } from './parse-arguments.ts';

test.each([
  ['404', { min: 404, max: 404 }],
  ['5xx', { min: 500, max: 599 }],
  ['5XX', { min: 500, max: 599 }],
  ['200-299', { min: 200, max: 299 }],
])('the status %s is parsed', (text, range) => {
  expect(parseStatus(text)).toEqual(range);
});

test.each(['', '4', '6xx', '40x', '200-', 'ok'])('the status %j is refused with an example', (text) => {
  expect(() => parseStatus(text)).toThrow('must be a status such as 404');
});

test('a range of statuses that ends before it begins is refused', () => {
  expect(() => parseStatus('299-200')).toThrow('did you mean 200-299?');
});

test('a start time is a duration or a time', () => {
  const before = Date.now();
  const since = parseSince('10m') / 1_000;
  expect(since).toBeGreaterThanOrEqual(before - 600_000);
  expect(since).toBeLessThanOrEqual(Date.now() - 600_000);
  expect(parseSince('2026-11-21T10:00:00Z')).toBe(Date.parse('2026-11-21T10:00:00Z') * 1_000);
  expect(parseSince('2026-11-21T10:00:00.000001Z')).toBe(Date.parse('2026-11-21T10:00:00Z') * 1_000 + 1);
});

const NO_TIMES = ['', '10', 'm', '10 m', 'yesterday', '2026-13-01T00:00:00Z', '2026-02-31T00:00:00Z'];

test.each(NO_TIMES)('the start time %j is refused', (text) => {
  expect(() => parseSince(text)).toThrow('must be a time such as 10m');
});

test.each(['', 'nonsense', 'clickhouse:8123', 'ftp://clickhouse', 'http://'])(
  'the ClickHouse URL %j is refused',
  (text) => {
    expect(() => parseClickHouseUrl(text)).toThrow('must be a URL such as http://clickhouse:8123.');
  },
);

test.each(['', 'a b', '1st', 'x; DROP', 'ä'.repeat(3)])('the database name %j is refused', (text) => {
  expect(() => parseClickHouseName(text)).toThrow('must be up to 63 letters, digits and underscores');
});

test('a valid ClickHouse URL and name are not changed', () => {
  expect(parseClickHouseUrl('https://clickhouse:8443/path')).toBe('https://clickhouse:8443/path');
  expect(parseClickHouseName('standin_2')).toBe('standin_2');
});

const refusal = (text: string): string => {
  try {
    parseSearch(text);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('it was parsed');
};

test('a search is parsed', () => {
  expect(parseSearch('status:404')).toEqual({ kind: 'compare', field: 'status', comparison: '=', value: 404 });
});

test('an error in a search is underlined, with a suggestion', () => {
  expect(refusal('method:GET staus:500 a')).toBe(
    [
      'There is no field "staus". Did you mean status? To search for the text, write "staus:500".',
      '  method:GET staus:500 a',
      '             ^^^^^',
    ].join('\n'),
  );
});

test('a long search is truncated around its error', () => {
  const text = `${'a '.repeat(50)}status:x ${'b '.repeat(50)}`;
  const from = text.indexOf('x');
  expect(underline(text, { message: '', from, to: from + 1 })).toBe(
    `  …${text.slice(from - 40, from + 31)}…\n  ${' '.repeat(41)}^`,
  );
});

test('control characters in a search are escaped', () => {
  expect(underline('a\x1b[31m )', { message: '', from: 7, to: 8 })).toBe(`  a\\x1b[31m )\n  ${' '.repeat(10)}^`);
});
