import { isUtf8 } from 'node:buffer';

/** The encodings that a byte order mark names. It takes precedence over the charset, as in browsers. */
const MARKS: readonly (readonly [encoding: string, mark: Buffer])[] = [
  ['utf-8', Buffer.from([0xef, 0xbb, 0xbf])],
  ['utf-16be', Buffer.from([0xfe, 0xff])],
  ['utf-16le', Buffer.from([0xff, 0xfe])],
];
/** Bytes that are not ASCII are not allowed in this charset, but many programs send UTF-8 in it. */
const ASCII = /^(?:us-)?ascii$/i;
const CHARSET = /;[ \t]*charset[ \t]*=[ \t]*(?:"([^"]*)"|([^\s;"]+))/i;

/** Returns the encoding of text with this content type: `utf-8` if it names none, or one that is not known. */
export const textEncoding = (bytes: Uint8Array, contentType: string): string => {
  const marked = MARKS.find(([, mark]) => mark.equals(bytes.subarray(0, mark.length)));
  if (marked !== undefined) return marked[0];
  const [, quoted, token = 'utf-8'] = CHARSET.exec(contentType) ?? [];
  const charset = (quoted ?? token).trim();
  if (ASCII.test(charset)) return 'utf-8';
  try {
    return new TextDecoder(charset).encoding;
  } catch {
    return 'utf-8';
  }
};

/** Returns the text without its byte order mark, or undefined if the bytes do not match the encoding. */
export const decodeText = (bytes: Uint8Array, encoding: string): string | undefined => {
  const [mark] = MARKS.flatMap(([name, one]) => (name === encoding ? [one] : []));
  const text = mark?.equals(bytes.subarray(0, mark.length)) === true ? bytes.subarray(mark.length) : bytes;
  if (encoding === 'utf-8')
    return isUtf8(text) ? Buffer.from(text.buffer, text.byteOffset, text.length).toString() : undefined;
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(text);
  } catch {
    return undefined;
  }
};
