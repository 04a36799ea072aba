/** The position at which a string is no longer valid JSON (RFC 8259). */
export interface JsonFault {
  /** Starts at 1. */
  readonly line: number;
  /** Starts at 1, in UTF-16 units. */
  readonly column: number;
  /** For example, `expected a value, found }`. */
  readonly message: string;
}

/**
 * Returns where and why a string is not valid JSON, or undefined if V8 parses it. V8's messages do not always contain the position,
 * so this module finds the position.
 */
export const jsonFault = (text: string): JsonFault | undefined => {
  try {
    JSON.parse(text);
    return undefined;
  } catch {
    return locate(text);
  }
};

const TOKEN =
  /(?<mark>[{}[\],:])|(?<string>"(?:[ !#-[\]-\u{10ffff}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)(?![0-9A-Za-z_.+-])/uy;
const SPACE = /[ \t\n\r]*/y;
const FOUND_LENGTH_MAX = 20;

/**
 * The element that is allowed next. `item` is a value, or the end of an empty array. `member` is a key, or the end of an empty
 * object.
 */
type Expected = 'value' | 'item' | 'key' | 'member' | 'colon' | 'comma' | 'end';
const WORDS: Readonly<Record<Expected, string>> = {
  value: 'a value',
  item: 'a value or ]',
  key: 'a key in double quotes',
  member: 'a key in double quotes or }',
  colon: ':',
  comma: ', or the closing bracket',
  end: 'the end of the document',
};

const locate = (text: string): JsonFault => {
  const open: ('{' | '[')[] = [];
  const after = (): Expected => (open.length === 0 ? 'end' : 'comma');
  let expected: Expected = 'value';
  let position = 0;
  for (;;) {
    SPACE.lastIndex = position;
    SPACE.exec(text);
    position = SPACE.lastIndex;
    TOKEN.lastIndex = position;
    const token = TOKEN.exec(text);
    const next: Expected | undefined = token === null ? undefined : step(expected, token, open, after);
    if (token === null || next === undefined) return faultAt(text, position, expected);
    expected = next;
    position += token[0].length;
  }
};

/**
 * Returns the element that is allowed after the token, or undefined if the token is not allowed here. Tracks the open brackets in
 * `open`.
 */
const step = (
  expected: Expected,
  token: RegExpExecArray,
  open: ('{' | '[')[],
  after: () => Expected,
): Expected | undefined => {
  const mark = token.groups?.['mark'];
  const innermost = open.at(-1);
  const closes = (mark === '}' && innermost === '{') || (mark === ']' && innermost === '[');
  if (closes && (expected === 'comma' || expected === (mark === '}' ? 'member' : 'item'))) {
    open.pop();
    return after();
  }
  if (expected === 'comma') return mark !== ',' ? undefined : innermost === '{' ? 'key' : 'value';
  if (expected === 'colon') return mark === ':' ? 'value' : undefined;
  if (expected === 'key' || expected === 'member') {
    return token.groups?.['string'] === undefined ? undefined : 'colon';
  }
  if (expected === 'end') return undefined;
  if (mark === '{' || mark === '[') {
    open.push(mark);
    return mark === '{' ? 'member' : 'item';
  }
  return mark === undefined ? after() : undefined;
};

const faultAt = (text: string, position: number, expected: Expected): JsonFault => {
  const before = text.slice(0, position);
  const rest = text.slice(position);
  const word = (/^[\w.+-]+/.exec(rest)?.[0] ?? String.fromCodePoint(rest.codePointAt(0) ?? 0)).slice(
    0,
    FOUND_LENGTH_MAX,
  );
  const found = rest === '' ? 'the end of the text' : describe(word);
  return {
    line: before.split('\n').length,
    column: position - before.lastIndexOf('\n'),
    message: `expected ${WORDS[expected]}, found ${found}`,
  };
};

const describe = (word: string): string => {
  if (word === '"') return 'a string that is not closed, or contains a line break or an invalid escape';
  if (word === "'") return "' (JSON strings need double quotes)";
  return /^[\x21-\x7e]+$/.test(word) ? word : `U+${(word.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
};
