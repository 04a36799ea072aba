import { parseFilter, type Filter } from '@standin/exchange/search';
import { expect, test } from 'vitest';
import { searchText, type LogChoice } from './log-choice.ts';

const parsed = (text: string): Filter => {
  const result = parseFilter(text);
  if (result.kind === 'parsed') return result.filter;
  throw new Error(result.problem.message);
};

test.each<[LogChoice, string | undefined]>([
  [{}, undefined],
  [{ filter: parsed('') }, undefined],
  [{ endpoint: 'a b*' }, String.raw`endpoint:"a b\*"`],
  [{ status: 404 }, 'status:404'],
  [{ status: { min: 500, max: 599 }, method: 'GET' }, 'method:GET status:5xx'],
  [{ filter: parsed('a OR b'), method: 'GET' }, 'method:GET (a OR b)'],
])('%j is written as the search %s', (choice, search) => {
  expect(searchText(choice)).toBe(search);
});
