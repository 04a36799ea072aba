import { engineException } from './engine-exception.ts';

/**
 * A significant SQL token. For a quoted name or a string, `text` is the text between the quotes. A bit string (`x'4a'`) keeps its
 * quotes.
 */
export interface Token {
  readonly kind: 'word' | 'name' | 'string' | 'number' | 'sign';
  readonly text: string;
  readonly start: number;
  /** The position after the token's last character. */
  readonly end: number;
}

const BLANK = /[ \t\n\r\f\v]*/y;
const WORD = /[A-Za-z_][A-Za-z0-9_]*/y;
/** Also matches `1e-5` and `0x1p-3`. A sign is part of a number only if a digit follows. */
const NUMBER = /(?:\d|\.\d)(?:[eEpP][+-](?=\d)|[A-Za-z0-9_.])*/y;
const BIT_STRING = /[xXbB]'[0-9A-Fa-f]*'/y;
const STRING_STOP = /['\\]/g;
const NAME_STOP = /["\\]/g;
const BACKTICK_STOP = /[`\\]/g;
const SIGN = /[(){}[\],;.:=<>!+\-*/%?|@^&~]/y;

const syntaxError = (at: number, message: string): Error =>
  engineException(62, 'SYNTAX_ERROR', `${message} (position ${at + 1})`);

/**
 * Returns the position after the closing quote of the text that begins at `start`. A quote that is doubled or follows a backslash
 * is part of the text.
 */
const endOfQuoted = (sql: string, start: number): number => {
  const quote = sql.charAt(start);
  const stop = quote === "'" ? STRING_STOP : quote === '"' ? NAME_STOP : BACKTICK_STOP;
  for (let at = start + 1; ; at += 2) {
    stop.lastIndex = at;
    const found = stop.exec(sql);
    if (found === null) throw syntaxError(start, `The quote ${quote} is not closed`);
    at = found.index;
    if (found[0] === quote && sql.charAt(at + 1) !== quote) return at + 1;
  }
};

/** Returns the position after whitespace and comments. */
const skipBlank = (sql: string, from: number): number => {
  let at = from;
  for (;;) {
    BLANK.lastIndex = at;
    at += BLANK.exec(sql)?.[0].length ?? 0;
    if (sql.startsWith('--', at)) {
      const line = sql.indexOf('\n', at);
      at = line < 0 ? sql.length : line;
    } else if (sql.startsWith('/*', at)) {
      const end = sql.indexOf('*/', at + 2);
      const inner = sql.indexOf('/*', at + 2);
      if (end < 0) throw syntaxError(at, 'The comment is not closed');
      if (inner >= 0 && inner < end) throw syntaxError(inner, 'Nested comments are not allowed; remove the inner one');
      at = end + 2;
    } else return at;
  }
};

/**
 * Splits SQL like ClickHouse's lexer (src/Parsers/Lexer.cpp), or throws an `EngineException`. Refuses ambiguous syntax, namely
 * heredocs, `//` and `#` comments, nested comments, typographic quotes, and backslashes in names. Splits lazily, because data may
 * follow an INSERT.
 */
export function* sqlTokens(sql: string): Generator<Token, undefined> {
  const nul = sql.indexOf('\0');
  if (nul >= 0) throw syntaxError(nul, 'A statement cannot contain a NUL character');
  for (let at = skipBlank(sql, 0); at < sql.length; at = skipBlank(sql, at)) {
    const token = readToken(sql, at);
    yield token;
    at = token.end;
  }
}

const readToken = (sql: string, start: number): Token => {
  const char = sql.charAt(start);
  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = start;
    return pattern.exec(sql)?.[0];
  };
  const token = (kind: Token['kind'], text: string, length = text.length): Token => ({
    kind,
    text,
    start,
    end: start + length,
  });
  if (char === "'" || char === '"' || char === '`') {
    const end = endOfQuoted(sql, start);
    const text = sql.slice(start + 1, end - 1);
    if (char === "'") return token('string', text, end - start);
    if (text.includes('\\')) throw syntaxError(start, 'A quoted name cannot contain a backslash here');
    return token('name', text.replaceAll(char + char, char), end - start);
  }
  const bits = match(BIT_STRING);
  if (bits !== undefined) return token('string', bits);
  const word = match(WORD);
  if (word !== undefined) {
    const next = sql.charAt(start + word.length);
    if (/^[xb]$/i.test(word) && next === "'")
      throw syntaxError(start, 'The string contains characters other than digits');
    return token('word', word);
  }
  const number = match(NUMBER);
  if (number !== undefined) {
    // ClickHouse would read the sign as part of the number, so the rest would not be a comment.
    if (/[eEpP]$/.test(number) && /[+-]/.test(sql.charAt(start + number.length)))
      throw syntaxError(start, 'The number has an incomplete exponent');
    return token('number', number);
  }
  const sign = match(SIGN);
  if (sign !== undefined && !sql.startsWith('//', start)) return token('sign', sign);
  throw syntaxError(start, `${JSON.stringify(char)} is allowed only inside quotes here`);
};
