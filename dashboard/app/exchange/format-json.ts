const INDENT = '  ';
/** Nesting is the sender's choice: indentation must not make a page of a few bytes. */
const FORMATTED_LENGTH_MAX = 4 * 1024 * 1024;

/** A string, a run of whitespace, one of the six structural characters, or anything else up to the next of these. */
const TOKENS = /"(?:[^"\\]|\\[^])*(?:"|\\?$)|[ \t\r\n]+|[{}[\],:]|[^"{}[\],:\s]+|\s/g;

/**
 * JSON with line breaks and indentation, and no other change: only whitespace between tokens is touched. No literal, number, escape
 * or order of keys is, for nothing is parsed. Takes text that breaks off, too. `undefined` where it would become too long.
 */
export const formatJson = (text: string): string | undefined => {
  const out: string[] = [];
  let length = 0;
  let depth = 0;
  let pending = '';
  const put = (piece: string): void => {
    out.push(piece);
    length += piece.length;
  };
  const lineBreak = (): string => `\n${INDENT.repeat(depth)}`;
  for (const [token] of text.matchAll(TOKENS)) {
    if (/^\s/.test(token)) continue;
    const isClosing = token === '}' || token === ']';
    if (isClosing) depth = Math.max(0, depth - 1);
    // What follows an opening bracket goes on a new line, unless that closes it at once: {} stays in one piece.
    if (pending === 'opened') put(isClosing ? '' : lineBreak());
    else if (isClosing || pending === 'next') put(lineBreak());
    else if (pending === 'value') put(' ');
    put(token);
    pending = '';
    if (token === '{' || token === '[') {
      depth += 1;
      pending = 'opened';
    } else if (token === ',') pending = 'next';
    else if (token === ':') pending = 'value';
    if (length > FORMATTED_LENGTH_MAX) return undefined;
  }
  return out.join('');
};

/** Whether the text is one JSON document. */
export const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};
