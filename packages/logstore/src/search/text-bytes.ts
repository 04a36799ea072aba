const ESCAPE_BASE = 0xdc00;
const escaped = /[\udc80-\udcff]/;
const nonAscii = /\P{ASCII}/u;
const loneSurrogate = /\p{Cs}/u;

/** The text that stands for one byte: itself if it is ASCII, else a lone surrogate (see `Filter`). */
export const escapedByte = (byte: number): string => String.fromCharCode(byte < 0x80 ? byte : ESCAPE_BASE + byte);

/** The byte that a character of `Filter`'s texts stands for, if it is such an escape. */
export const byteOfEscape = (char: string): number | undefined =>
  char.length === 1 && escaped.test(char) ? char.charCodeAt(0) - ESCAPE_BASE : undefined;

/** Whether the text has bytes: no lone surrogates but those that stand for one. */
export const hasBytes = (text: string): boolean =>
  !Array.from(text).some((char) => loneSurrogate.test(char) && byteOfEscape(char) === undefined);

const encoder = new TextEncoder();

/** The bytes that the text means: UTF-8, and the escaped bytes as they are. */
export const utf8Bytes = (text: string): Uint8Array => {
  const bytes: number[] = [];
  for (const char of text) {
    const byte = byteOfEscape(char);
    if (byte === undefined) bytes.push(...encoder.encode(char));
    else bytes.push(byte);
  }
  return Uint8Array.from(bytes);
};

/**
 * The bytes that the text means in what was on the wire: targets and headers are shown with one character per byte, so a person
 * who types or copies `Ã©` or `é` may mean bytes of these numbers; `undefined` where that is nothing else than UTF-8.
 */
export const latin1Bytes = (text: string): Uint8Array | undefined => {
  if (!nonAscii.test(text)) return undefined;
  const bytes: number[] = [];
  for (const char of text) {
    const byte = byteOfEscape(char) ?? char.codePointAt(0) ?? 0;
    if (byte > 0xff) return undefined;
    bytes.push(byte);
  }
  return Uint8Array.from(bytes);
};

/** ASCII only, as ClickHouse's `lower`: other bytes stay as they are. */
export const lowerAscii = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
