import { ownMember } from '@standin/contract';
import { escapedByte } from './text-bytes.ts';
import { FilterSyntaxError } from './problem.ts';

interface Span {
  readonly from: number;
  readonly to: number;
}

export interface ValueToken extends Span {
  /** The text between the wildcards, with escapes resolved. */
  readonly pieces: readonly [string, ...string[]];
  readonly quoted: boolean;
}

export type Token =
  | (Span & { readonly kind: 'open' | 'close' | 'not' | 'and' | 'or' })
  | (Span & {
      readonly kind: 'term';
      /** Undefined for free text. */
      readonly field: (Span & { readonly name: string }) | undefined;
      readonly value: ValueToken;
    });

const KEYWORDS: Readonly<Record<string, 'and' | 'or' | 'not'>> = { AND: 'and', OR: 'or', NOT: 'not' };
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };
const LITERAL_ESCAPES = '"\\*()-: ';

const isSpace = (char: string): boolean => /\s/.test(char);
const endsWord = (char: string): boolean => char === '(' || char === ')' || char === '"' || isSpace(char);

/** Matches `field:` at the beginning of a word. A header name may contain more kinds of characters, but not at the beginning. */
const fieldStart = /^([A-Za-z_][!#$%&'*+.^_`|~0-9A-Za-z-]*):/;

/** Splits the text into tokens. Throws a `FilterSyntaxError` if the text has invalid syntax. */
export const tokenize = (text: string): Token[] => {
  const tokens: Token[] = [];
  for (let at = 0; at < text.length;) {
    if (isSpace(text.charAt(at))) {
      at++;
      continue;
    }
    const token = nextToken(text, at);
    tokens.push(token);
    at = token.to;
  }
  return tokens;
};

const nextToken = (text: string, from: number): Token => {
  const char = text.charAt(from);
  if (char === '(' || char === ')') return { kind: char === '(' ? 'open' : 'close', from, to: from + 1 };
  if (char === '-') {
    const next = text.charAt(from + 1);
    if (next !== '' && !isSpace(next) && next !== ')') return { kind: 'not', from, to: from + 1 };
    throw new FilterSyntaxError(
      'A minus negates the condition directly after it, as in -status:200. To search for a minus, write "-".',
      { from, to: from + 1 },
    );
  }
  const field = fieldAt(text, from);
  const valueFrom = field === undefined ? from : field.to + 1;
  const value = text.charAt(valueFrom) === '"' ? quotedValue(text, valueFrom) : wordValue(text, valueFrom);
  const { to } = value;
  const keyword = ownMember(KEYWORDS, text.slice(from, to));
  if (keyword !== undefined) return { kind: keyword, from, to };
  assertApart(text, from, value);
  return { kind: 'term', from, to, field, value };
};

const fieldAt = (text: string, from: number): (Span & { readonly name: string }) | undefined => {
  const name = fieldStart.exec(text.slice(from))?.[1];
  return name === undefined ? undefined : { name, from, to: from + name.length };
};

/** Rejects `a"b"`, `"a"b` and `a(b)`. Each of these is probably meant as one value, which must be quoted as a whole. */
const assertApart = (text: string, from: number, value: ValueToken): void => {
  const next = text.charAt(value.to);
  if (next === '' || isSpace(next) || next === ')') return;
  const what = next === '(' ? 'a parenthesis' : value.quoted ? 'text after the closing quote' : 'a quote';
  const advice =
    next === '('
      ? 'put a space before it, or quote the whole value'
      : String.raw`quote the whole value and write \" for a quote inside`;
  throw new FilterSyntaxError(`There is ${what} in the middle of a word: ${advice}.`, { from, to: value.to + 1 });
};

const quotedValue = (text: string, from: number): ValueToken => {
  const { pieces, at } = readPieces(text, from + 1, (char) => char === '"');
  if (text.charAt(at) !== '"') {
    throw new FilterSyntaxError('The closing quote is missing.', { from, to: text.length });
  }
  return { pieces, quoted: true, from, to: at + 1 };
};

const wordValue = (text: string, from: number): ValueToken => {
  const { pieces, at } = readPieces(text, from, endsWord);
  return { pieces, quoted: false, from, to: at };
};

/** Reads up to `isEnd`, resolves escapes and splits at wildcards. */
const readPieces = (
  text: string,
  from: number,
  isEnd: (char: string) => boolean,
): { pieces: [string, ...string[]]; at: number } => {
  const pieces: [string, ...string[]] = [''];
  let at = from;
  const append = (part: string): void => {
    pieces.push(`${pieces.pop() ?? ''}${part}`);
  };
  while (at < text.length && !isEnd(text.charAt(at))) {
    const char = text.charAt(at);
    if (char === '*') {
      pieces.push('');
      at++;
    } else if (char === '\\') {
      const escape = readEscape(text, at);
      append(escape.text);
      at = escape.to;
    } else {
      append(char);
      at++;
    }
  }
  return { pieces, at };
};

const readEscape = (text: string, from: number): { text: string; to: number } => {
  const char = text.charAt(from + 1);
  if (char !== '' && LITERAL_ESCAPES.includes(char)) return { text: char, to: from + 2 };
  const control = ownMember(ESCAPES, char);
  if (control !== undefined) return { text: control, to: from + 2 };
  const byte = /^\\x([0-9a-fA-F]{2})/.exec(text.slice(from, from + 4))?.[1];
  if (byte !== undefined) return { text: escapedByte(Number.parseInt(byte, 16)), to: from + 4 };
  throw new FilterSyntaxError(
    String.raw`Unknown escape. Use \" \\ \* \( \) \n \r \t, or \xe9 for a byte. For a literal backslash, write \\.`,
    { from, to: Math.min(from + 2, text.length) },
  );
};
