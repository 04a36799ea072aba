import { ownMember } from '@standin/contract';
import type { Condition, Filter, Pattern, Term } from './filter.ts';
import { DURATION_UNITS, SIZE_UNITS } from './parse-number.ts';
import { byteOfEscape } from './text-bytes.ts';

/**
 * Returns the canonical text of a search, which `parseFilter` reads as the same search. The text is used for links, for chips, and
 * after "filter in" and "filter out" have added a term to the tree.
 */
export const formatFilter = (filter: Filter): string => (filter.kind === 'everything' ? '' : formatCondition(filter));

const formatCondition = (condition: Condition): string => {
  switch (condition.kind) {
    case 'and':
      return condition.conditions.map((part) => inGroup(part, part.kind === 'or')).join(' ');
    case 'or':
      return condition.conditions.map((part) => inGroup(part, false)).join(' OR ');
    case 'not':
      return `-${inGroup(condition.condition, isGroup(condition.condition))}`;
    default:
      return formatTerm(condition);
  }
};

const isGroup = ({ kind }: Condition): boolean => kind === 'and' || kind === 'or';
const inGroup = (condition: Condition, parentheses: boolean): string =>
  parentheses ? `(${formatCondition(condition)})` : formatCondition(condition);

const formatTerm = (term: Term): string => {
  switch (term.kind) {
    case 'text':
      return formatText(term.text, true);
    case 'contains':
      return `${term.field}:${formatText(term.text, false)}`;
    case 'matches':
      return `${term.field}:${formatPattern(term.pattern)}`;
    case 'header':
      return `${term.side === 'request' ? 'header' : 'resp.header'}.${term.name}:${formatPattern(term.pattern)}`;
    case 'method':
      return `method:${term.method}`;
    case 'outcome':
      return `outcome:${term.outcome}`;
    case 'action':
      return `action:${term.action}`;
    case 'credential':
      return `credential:${term.credential}`;
    case 'compare':
      return `${term.field}:${term.comparison === '=' ? '' : term.comparison}${formatNumber(term.field, term.value)}`;
    case 'range':
      return `${term.field}:${formatRange(term)}`;
  }
};

const formatRange = ({ field, from, to }: Extract<Term, { kind: 'range' }>): string => {
  const isClass = field === 'status' && from % 100 === 0 && from >= 100 && from <= 500 && to === from + 99;
  return isClass ? `${from / 100}xx` : `${formatNumber(field, from)}-${formatNumber(field, to)}`;
};

const formatNumber = (field: Extract<Term, { kind: 'compare' }>['field'], value: number): string => {
  if (field === 'status') return value === 0 ? 'none' : String(value).padStart(3, '0');
  if (value === 0) return '0';
  if (field === 'dur') return withUnit(value, DURATION_UNITS);
  const { b, kb, mb, gb } = SIZE_UNITS;
  return withUnit(value, { b, kb, mb, gb });
};

/** Uses the largest unit that gives a whole number. Bytes need no unit. */
const withUnit = (value: number, units: Readonly<Record<string, number>>): string => {
  const [unit = '', scale = 1] = Object.entries(units).findLast(([, size]) => value % size === 0) ?? [];
  return `${value / scale}${unit === 'b' ? '' : unit}`;
};

const needsQuotes = /[\s()"\\]/;

const CONTROL_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };
const hex = (byte: number): string => `\\x${byte.toString(16).padStart(2, '0')}`;

/** Escapes quotes, backslashes, ASCII control characters, bytes that are not UTF-8, and, with `alsoStars`, stars. */
const escape = (text: string, alsoStars: boolean): string =>
  Array.from(text, (char) => {
    if (char === '"' || char === '\\' || (char === '*' && alsoStars)) return `\\${char}`;
    const byte = byteOfEscape(char) ?? (char < ' ' || char === '\x7f' ? char.charCodeAt(0) : undefined);
    return ownMember(CONTROL_ESCAPES, char) ?? (byte === undefined ? char : hex(byte));
  }).join('');

/**
 * Quotes text that is empty or contains special characters. With `free`, also quotes text that would look like a keyword, a
 * negation or a field.
 */
const formatText = (text: string, free: boolean): string => {
  const ambiguous = free && /^(-|AND$|OR$|NOT$|[A-Za-z_][^\s"()\\]*:)/.test(text);
  return text === '' || needsQuotes.test(text) || ambiguous || escape(text, false) !== text
    ? `"${escape(text, false)}"`
    : text;
};

const formatPattern = (pattern: Pattern): string => {
  const text = pattern.map((piece) => escape(piece, true)).join('*');
  return text === '' || needsQuotes.test(pattern.join('')) ? `"${text}"` : text;
};
