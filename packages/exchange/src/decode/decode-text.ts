import { isUtf8 } from 'node:buffer';

/** The encodings that a byte order mark names. It takes precedence over the charset, as in browsers. */
const MARKS: readonly (readonly [encoding: string, mark: Buffer])[] = [
  ['utf-8', Buffer.from([0xef, 0xbb, 0xbf])],
  ['utf-16be', Buffer.from([0xfe, 0xff])],
  ['utf-16le', Buffer.from([0xff, 0xfe])],
];
const FIRST_MARK_BYTE = 0xef;

const startsWith = (bytes: Uint8Array, mark: Buffer): boolean => mark.equals(bytes.subarray(0, mark.length));

/** Bytes that are not ASCII are not allowed in the charset `us-ascii`, but many programs send UTF-8 in it. */
const UTF_8 = /^(?:utf-?8|(?:us-)?ascii)$/i;
const CHARSET = /;[ \t]*charset[ \t]*=[ \t]*(?:"([^"]*)"|([^\s;"]+))/i;

/** Returns the charset that a content type names, unless it is UTF-8. */
const namedCharset = (contentType: string): string | undefined => {
  if (!contentType.includes(';')) return undefined;
  const [, quoted, token = 'utf-8'] = CHARSET.exec(contentType) ?? [];
  const charset = (quoted ?? token).trim();
  return UTF_8.test(charset) ? undefined : charset;
};

const markedEncoding = (bytes: Uint8Array): string | undefined =>
  (bytes[0] ?? 0) < FIRST_MARK_BYTE ? undefined : MARKS.find(([, mark]) => startsWith(bytes, mark))?.[0];

/** Returns whether text with this content type may not be UTF-8. Creates no decoder. */
export const mayHaveCharset = (bytes: Uint8Array, contentType: string): boolean =>
  (markedEncoding(bytes) ?? namedCharset(contentType) ?? 'utf-8') !== 'utf-8';

/**
 * Returns the encoding of text with this content type: `utf-8` if it names none, or one that is not known.
 *
 * @param beforeDecoder is called before a decoder is created, which takes several microseconds, also if the charset is not known
 */
export const textEncoding = (
  bytes: Uint8Array,
  contentType: string,
  beforeDecoder: () => void = () => undefined,
): string => {
  const marked = markedEncoding(bytes);
  if (marked !== undefined) return marked;
  const charset = namedCharset(contentType);
  if (charset === undefined) return 'utf-8';
  beforeDecoder();
  try {
    return new TextDecoder(charset).encoding;
  } catch {
    return 'utf-8';
  }
};

const withoutMark = (bytes: Uint8Array, encoding: string): Uint8Array => {
  const mark = MARKS.find(([name]) => name === encoding)?.[1];
  return mark !== undefined && startsWith(bytes, mark) ? bytes.subarray(mark.length) : bytes;
};

/** Returns the text without its byte order mark, or undefined if the bytes do not match the encoding. */
export const decodeText = (bytes: Uint8Array, encoding: string): string | undefined => {
  const text = (bytes[0] ?? 0) < FIRST_MARK_BYTE ? bytes : withoutMark(bytes, encoding);
  if (encoding === 'utf-8')
    return isUtf8(text) ? Buffer.from(text.buffer, text.byteOffset, text.length).toString() : undefined;
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(text);
  } catch {
    return undefined;
  }
};
