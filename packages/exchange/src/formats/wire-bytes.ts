import type { BodyEncoding } from '../log-entry.ts';

/** Used instead of Node's Buffer, because this file also runs in browsers. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** One byte per character, which is how headers and targets are represented. */
export const latin1Bytes = (text: string): Uint8Array<ArrayBuffer> => {
  // `Uint8Array.from` with a function is a hundred times slower.
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  return bytes;
};

export const utf8Bytes = (text: string): Uint8Array<ArrayBuffer> => encoder.encode(text);

/** Decodes UTF-8 and keeps a byte order mark. Returns `undefined` if the bytes are not UTF-8. */
export const decodeUtf8 = (bytes: Uint8Array): string | undefined => {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
};

export const fromBase64 = (text: string): Uint8Array<ArrayBuffer> => latin1Bytes(atob(text));

/** The number of bytes per call of `String.fromCharCode`, which takes them as arguments. Engines limit the number of arguments. */
const CHUNK = 8_192;

export const latin1Text = (bytes: Uint8Array): string => {
  const parts: string[] = [];
  // Spread arguments would go through an iterator, byte by byte, which is ten times slower.
  for (let at = 0; at < bytes.length; at += CHUNK)
    parts.push(String.fromCharCode.apply(undefined, bytes.subarray(at, at + CHUNK) as unknown as number[]));
  return parts.join('');
};

export const toBase64 = (bytes: Uint8Array): string => btoa(latin1Text(bytes));

export interface EncodedBody {
  readonly body: string;
  readonly bodyEncoding: BodyEncoding;
}

export const wireBytes = ({ body, bodyEncoding }: EncodedBody): Uint8Array<ArrayBuffer> =>
  bodyEncoding === 'utf8' ? utf8Bytes(body) : fromBase64(body);

/** Does not decode base64. */
export const wireLength = ({ body, bodyEncoding }: EncodedBody): number => {
  if (bodyEncoding === 'utf8') return utf8Bytes(body).length;
  const padding = body.endsWith('==') ? 2 : body.endsWith('=') ? 1 : 0;
  return (body.length / 4) * 3 - padding;
};

export interface WireText {
  readonly text: string;
  /** How the bytes were decoded. Headers have no declared charset, but valid UTF-8 is almost certainly UTF-8. */
  readonly charset: 'ascii' | 'utf-8' | 'latin-1';
}

/** Returns a header name, a header value or a target in readable form. `latin1` has one byte per character. */
export const wireText = (latin1: string): WireText => {
  if (!/[\u0080-\u00ff]/.test(latin1)) return { text: latin1, charset: 'ascii' };
  const text = decodeUtf8(latin1Bytes(latin1));
  return text === undefined ? { text: latin1, charset: 'latin-1' } : { text, charset: 'utf-8' };
};
