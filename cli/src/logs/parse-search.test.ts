import { expect, test } from 'vitest';
import { parseSearch, underline } from './parse-search.ts';

const refusal = (text: string): string => {
  try {
    parseSearch(text);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('it was read');
};

test('a search is read', () => {
  expect(parseSearch('status:404')).toEqual({ kind: 'compare', field: 'status', comparison: '=', value: 404 });
});

test('what is wrong in a search is marked, with what to write instead', () => {
  expect(refusal('method:GET staus:500 a')).toBe(
    [
      'There is no field "staus". Did you mean status? To search for the text, write "staus:500".',
      '  method:GET staus:500 a',
      '             ^^^^^',
    ].join('\n'),
  );
});

test('a long search is cut around its mistake', () => {
  const text = `${'a '.repeat(50)}status:x ${'b '.repeat(50)}`;
  const from = text.indexOf('x');
  expect(underline(text, { message: '', from, to: from + 1 })).toBe(
    `  …${text.slice(from - 40, from + 31)}…\n  ${' '.repeat(41)}^`,
  );
});

test('nothing in a search acts on the terminal', () => {
  expect(underline('a\x1b[31m )', { message: '', from: 7, to: 8 })).toBe(`  a\\x1b[31m )\n  ${' '.repeat(10)}^`);
});
