const INDENT = '  ';
/**
 * Maximum length of the result, in characters. The sender chooses how deep values are nested, so indentation could turn a few bytes
 * into a large page.
 */
const FORMATTED_LENGTH_MAX = 1024 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]);
const COMMA = 0x2c;
const COLON = 0x3a;
const ASCII_END = 0x80;

const isSpace = (code: number): boolean =>
  code <= 0x20
    ? code === 0x20 || (code >= 0x09 && code <= 0x0d)
    : code >= ASCII_END && /\s/.test(String.fromCharCode(code));

const isStructure = (code: number): boolean =>
  code === COMMA || code === COLON || OPENING.has(code) || CLOSING.has(code);

/**
 * Returns the index after the string that starts at `at`. If the text is truncated within the string, returns the length of the
 * text.
 */
const behindString = (text: string, at: number): number => {
  for (let next = at + 1; next < text.length; next += 1) {
    const code = text.charCodeAt(next);
    if (code === QUOTE) return next + 1;
    if (code === BACKSLASH) next += 1;
  }
  return text.length;
};

/** Returns the index after a token that is not a string, punctuation or whitespace. */
const behindLiteral = (text: string, at: number): number => {
  for (let next = at + 1; next < text.length; next += 1) {
    const code = text.charCodeAt(next);
    if (code === QUOTE || isSpace(code) || isStructure(code)) return next;
  }
  return text.length;
};

/**
 * Adds line breaks and indentation to JSON. Changes only whitespace between tokens. The text is not parsed, so literals, numbers,
 * escapes and the order of keys stay the same. Also accepts truncated text. Returns undefined if the result would be too long.
 */
export const formatJson = (text: string): string | undefined => {
  // Works character by character. Creating an object per token would take 100 ms for a page of small values.
  let out = '';
  let depth = 0;
  let lineBreak = '\n';
  let pending: 'opened' | 'next' | 'value' | undefined;
  for (let at = 0; at < text.length;) {
    const code = text.charCodeAt(at);
    if (isSpace(code)) {
      at += 1;
      continue;
    }
    const isClosing = CLOSING.has(code);
    const isOpening = OPENING.has(code);
    if (isClosing && depth > 0) depth -= 1;
    if (isClosing) lineBreak = `\n${INDENT.repeat(depth)}`;
    // The content of brackets starts on a new line. Empty brackets such as {} stay on one line.
    if (pending === 'opened') out += isClosing ? '' : lineBreak;
    else if (isClosing || pending === 'next') out += lineBreak;
    else if (pending === 'value') out += ' ';
    const end = code === QUOTE ? behindString(text, at) : isStructure(code) ? at + 1 : behindLiteral(text, at);
    out += text.slice(at, end);
    at = end;
    pending = isOpening ? 'opened' : code === COMMA ? 'next' : code === COLON ? 'value' : undefined;
    if (isOpening) {
      depth += 1;
      lineBreak = `\n${INDENT.repeat(depth)}`;
    }
    if (out.length > FORMATTED_LENGTH_MAX) return undefined;
  }
  return out;
};

/** Returns whether the text is a single JSON document. */
export const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};
