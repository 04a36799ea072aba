const ESCAPE_BASE = 0xdc00;
const escaped = /[\udc80-\udcff]/;
const nonAscii = /\P{ASCII}/u;
const loneSurrogate = /\p{Cs}/u;

/**
 * Returns the text that stands for one byte. An ASCII byte is its own character, and any other byte is a lone surrogate (see
 * `Filter`).
 */
export const escapedByte = (byte: number): string => String.fromCharCode(byte < 0x80 ? byte : ESCAPE_BASE + byte);

/** Returns the byte that a lone surrogate in a `Filter` stands for, or undefined for any other character. */
export const byteOfEscape = (char: string): number | undefined =>
  char.length === 1 && escaped.test(char) ? char.charCodeAt(0) - ESCAPE_BASE : undefined;

/** Returns whether the text can be encoded: every lone surrogate in it must stand for a byte. */
export const hasBytes = (text: string): boolean =>
  !Array.from(text).some((char) => loneSurrogate.test(char) && byteOfEscape(char) === undefined);

const encoder = new TextEncoder();

/** Escaped bytes stay unchanged. */
export const filterUtf8Bytes = (text: string): Uint8Array => {
  const bytes: number[] = [];
  for (const char of text) {
    const byte = byteOfEscape(char);
    if (byte === undefined) bytes.push(...encoder.encode(char));
    else bytes.push(byte);
  }
  return Uint8Array.from(bytes);
};

/**
 * Returns the bytes that the text can mean on the wire, or `undefined` if only UTF-8 is possible. Targets and headers are shown
 * with one character per byte, so a user who types or copies `Ã©` or `é` may mean bytes with these numbers.
 */
export const filterLatin1Bytes = (text: string): Uint8Array | undefined => {
  if (!nonAscii.test(text)) return undefined;
  const bytes: number[] = [];
  for (const char of text) {
    const byte = byteOfEscape(char) ?? char.codePointAt(0) ?? 0;
    if (byte > 0xff) return undefined;
    bytes.push(byte);
  }
  return Uint8Array.from(bytes);
};

/** Converts ASCII letters to lower case, like ClickHouse's `lower`. All other characters stay unchanged. */
export const lowerAscii = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
