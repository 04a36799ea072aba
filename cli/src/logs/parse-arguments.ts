import { parseDuration, parseInstant, printable } from '@standin/contract';
import { parseFilter, type Filter, type FilterProblem } from '@standin/exchange/search';
import { InvalidArgumentError } from 'commander';

/** The number of characters of a long search that are shown before and after the marks. */
const SHOWN_BEFORE = 40;
const SHOWN_BEHIND = 30;

/** Returns the search with its problem underlined, such as `  staus:500\n  ^^^^^`. A long search is truncated. */
export const underline = (text: string, { from, to }: FilterProblem): string => {
  const start = Math.max(0, from - SHOWN_BEFORE);
  const end = Math.min(text.length, to, from + SHOWN_BEFORE);
  const before = `${start > 0 ? '…' : ''}${printable(text.slice(start, from))}`;
  const marked = printable(text.slice(from, end));
  const behind = `${printable(text.slice(end, end + SHOWN_BEHIND))}${end + SHOWN_BEHIND < text.length ? '…' : ''}`;
  return `  ${before}${marked}${behind}\n  ${' '.repeat(before.length)}${'^'.repeat(Math.max(1, marked.length))}`;
};

/** Parses an option's value in the search language (docs/reference/search.md). */
export const parseSearch = (text: string): Filter => {
  const result = parseFilter(text);
  if (result.kind === 'parsed') return result.filter;
  throw new InvalidArgumentError(`${result.problem.message}\n${underline(text, result.problem)}`);
};

/** Checks a search. Returns it as typed, because the object that it becomes a part of shows it. */
export const checkedSearch = (text: string): string => {
  parseSearch(text);
  return text;
};

/** Parses a duration before now, such as `10m`, or an RFC 3339 time. Returns microseconds since the epoch. */
export const parseSince = (text: string): number => {
  const ageMs = parseDuration(text);
  if (ageMs !== undefined) return (Date.now() - ageMs) * 1_000;
  const time = parseInstant(text);
  if (time === undefined) throw new InvalidArgumentError('must be a time such as 10m, 2h, 1d or 2026-11-21T10:00:00Z.');
  return time;
};

/** Parses a status such as `404`, `5xx` or `200-299`. */
export const parseStatus = (text: string): { readonly min: number; readonly max: number } => {
  const match = /^(?:([1-5])xx|(\d{3})(?:-(\d{3}))?)$/i.exec(text);
  if (match === null) throw new InvalidArgumentError('must be a status such as 404, 5xx or 200-299.');
  const [, hundreds, from, to] = match;
  if (hundreds !== undefined) return { min: Number(hundreds) * 100, max: Number(hundreds) * 100 + 99 };
  if (to !== undefined && Number(to) < Number(from))
    throw new InvalidArgumentError(`ends before it begins: did you mean ${to}-${from}?`);
  return { min: Number(from), max: Number(to ?? from) };
};

/** Parses how long a command waits, and returns milliseconds. */
export const parseTimeout = (text: string): number => {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('must be a duration such as 30s or 5m.');
  return ms;
};
