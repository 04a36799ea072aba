/**
 * Characters that a terminal interprets or a reader cannot see: control characters (C0, DEL, C1), line and paragraph separators,
 * and the controls that reorder text (UAX #9).
 */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

const escapeControl = (character: string): string => {
  const code = character.charCodeAt(0);
  return code <= 0xff ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
};

export const hasControls = (text: string): boolean => text.search(CONTROLS) !== -1;

/**
 * Returns one line of text that is safe to print on a terminal. Escapes controls as `\x1b` or `\u202e`, and leaves printable text
 * unchanged.
 */
export const printable = (text: string): string => text.replace(CONTROLS, escapeControl);

/**
 * Returns JSON that is equivalent to `json` and safe to print on a terminal. Of the characters in `CONTROLS`, `JSON.stringify`
 * escapes only C0. Outside strings, JSON contains none of them except whitespace, so a trailing line break stays.
 */
export const printableJson = (json: string): string =>
  json.replace(CONTROLS, (character) =>
    character < ' ' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
