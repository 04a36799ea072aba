import { printable } from '@standin/contract';
import { parseFilter, type Filter, type FilterProblem } from '@standin/exchange/search';
import { InvalidArgumentError } from 'commander';

/** How much of a long search is shown before and after the marks. */
const SHOWN_BEFORE = 40;
const SHOWN_BEHIND = 30;

/** The search with its problem underlined: `  staus:500\n  ^^^^^`. A long search is truncated. */
export const underline = (text: string, { from, to }: FilterProblem): string => {
  const start = Math.max(0, from - SHOWN_BEFORE);
  const end = Math.min(text.length, to, from + SHOWN_BEFORE);
  const before = `${start > 0 ? '…' : ''}${printable(text.slice(start, from))}`;
  const marked = printable(text.slice(from, end));
  const behind = `${printable(text.slice(end, end + SHOWN_BEHIND))}${end + SHOWN_BEHIND < text.length ? '…' : ''}`;
  return `  ${before}${marked}${behind}\n  ${' '.repeat(before.length)}${'^'.repeat(Math.max(1, marked.length))}`;
};

/** Parses an option's value in the search language (docs/search.md). */
export const parseSearch = (text: string): Filter => {
  const result = parseFilter(text);
  if (result.kind === 'parsed') return result.filter;
  throw new InvalidArgumentError(`${result.problem.message}\n${underline(text, result.problem)}`);
};
