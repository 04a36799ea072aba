import { RE2JS, RE2JSSyntaxException } from '@bufbuild/re2';
import { LIMITS } from '@standin/contract';
import { Automaton } from './automaton.ts';

/** A regular expression that matches whole values. */
export interface RegularExpression {
  /** At least the number of instructions that it compiles to. */
  readonly size: number;
  readonly automaton: Automaton;
}

export type ParsedRegularExpression =
  | { readonly ok: true; readonly expression: RegularExpression }
  /** What is wrong and what to change, as a phrase that begins in lower case and has no full stop. */
  | { readonly ok: false; readonly message: string };

const refuse = (message: string): ParsedRegularExpression => ({ ok: false, message });

/** A quoted string, a class, a count, flags for what follows, an escaped character or another character. */
const TOKEN =
  /\\Q(?:(?!\\E).)*(?:\\E)?|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]?|\{(\d+)(,?)(\d*)\}|\(\?[-a-zA-Z]*\)|\\x\{[^}]*\}?|\\.|./gsu;

/** Parses a regular expression in RE2's syntax, without Unicode classes. */
export const parseRegularExpression = (source: string): ParsedRegularExpression => {
  const size = programSize(source);
  const max = LIMITS.regularExpressionsSizeMax;
  if (size > max) return refuse(`is too large: it has about ${size} instructions, and ${max} are allowed`);
  if (hasWideRange(source))
    return refuse('has a range of characters that are not ASCII, with which (?i) is not supported: write both cases');
  try {
    // The library finds the characters of a Unicode class by trying all of them, which takes 0.1 s for each class.
    const { prog } = new RE2JS(withEscapedBraces(source), RE2JS.DISABLE_UNICODE_GROUPS).re2();
    return { ok: true, expression: { size, automaton: new Automaton(prog) } };
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    return refuse(explain(source, error));
  }
};

/** The library takes a brace that begins no count for a count, so that it refuses an operator after the brace. */
const withEscapedBraces = (source: string): string => {
  const tokens = Array.from(source.matchAll(TOKEN), ([token]) => token);
  const beginsGroup = (index: number): boolean => tokens[index - 2] === '(' && tokens[index - 1] === '?';
  return tokens.map((token, index) => (token === '{' && !beginsGroup(index) ? '\\{' : token)).join('');
};

/**
 * Returns at least the number of instructions that the expression compiles to, without compiling it: 20 characters can become a million
 * instructions.
 */
const programSize = (source: string): number => {
  const groups: { sum: number; last: number }[] = [];
  let group = { sum: 2, last: 1 };
  for (const [token, min, comma, max] of source.matchAll(TOKEN)) {
    // A count after flags repeats what is before them.
    if (token.startsWith('(?')) continue;
    if (token === '(') {
      groups.push(group);
      group = { sum: 2, last: 1 };
    } else if (token === ')' && groups.length > 0) {
      const { sum, last } = group;
      group = groups.pop() ?? group;
      group = { sum: group.sum + group.last, last: sum + last };
    } else if (min !== undefined) {
      // RE2 allows counts up to 1,000.
      const copies = Math.min(Math.max(Number(min), Number(max), 1), 1_001);
      group.last = group.last * copies + (comma === '' ? 0 : copies) + 1;
    } else if (/^[*+?]$/.test(token)) group.last += 2;
    else {
      group.sum += group.last + (token.startsWith('\\Q') ? token.length : 0);
      group.last = token === '|' ? 2 : 1;
    }
  }
  return [...groups, group].reduce((total, { sum, last }) => total + sum + last, 0);
};

/** Returns whether the library would look up the other case of thousands of characters, which takes a long time. */
const hasWideRange = (source: string): boolean =>
  /\(\?[a-zA-Z]*i/.test(source) &&
  [...source.matchAll(TOKEN)].some(
    ([token]) => token.startsWith('[') && /-(?:[^\0-\x7f]|\\x\{)/.test(token.replaceAll(/\\[^x]/gs, '')),
  );

const explain = (source: string, error: RE2JSSyntaxException): string => {
  const description = error.getDescription();
  const isUnbalanced = description.endsWith(' )') || description.startsWith('unexpected )');
  const pattern = isUnbalanced ? '' : (error.getPattern() ?? '');
  const part = source.includes(pattern) ? pattern : pattern.replaceAll('\\{', '{');
  const at = isUnbalanced ? unbalancedAt(source) : source.indexOf(part);
  const isPlaced = isUnbalanced || (part !== '' && at !== -1 && at === source.lastIndexOf(part));
  const what = `${part === '' ? '' : ` ${part}`}${isPlaced ? ` at character ${at + 1}` : ''}`;
  if (/^\(\?<?[=!]/.test(part)) return `has${what}: RE2 has no look-around; add another condition instead`;
  if (/^\\(?:[1-9]|k)/.test(part)) return `has${what}: RE2 has no back references`;
  if (/^\\[pP]/.test(part))
    return `has${what}: classes of Unicode characters are not supported; list the characters instead`;
  return `is not a regular expression in RE2's syntax: ${description}${part === '' ? '' : ','}${what}`;
};

/** Returns the index of the first parenthesis that closes nothing, or of the last one that is not closed. */
const unbalancedAt = (source: string): number => {
  const open: number[] = [];
  for (const { 0: token, index } of source.matchAll(TOKEN)) {
    if (token === '(') open.push(index);
    else if (token === ')' && open.pop() === undefined) return index;
  }
  return open.at(-1) ?? 0;
};
