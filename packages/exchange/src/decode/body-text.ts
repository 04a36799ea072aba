import type { HeaderPair } from '@standin/contract';
import { contentCodings, decodeContent } from './decode-content.ts';
import { decodeText, mayHaveCharset, textEncoding } from './decode-text.ts';
import { CHARSET_UNITS, DECODER_UNITS } from './decoding-units.ts';

const CONTENT_ENCODING = 'content-encoding';
const CONTENT_TYPE = 'content-type';

/**
 * Returns whether a body may have a text that is not its bytes, so that `bodyText` must find out. Reads only the headers and a byte
 * order mark, because gateways call it for each body.
 */
export const mayHaveText = (headers: readonly HeaderPair[], body: Uint8Array): boolean => {
  if (body.length === 0) return false;
  let contentType: string | undefined;
  for (const [name, value] of headers) {
    if (name.length === CONTENT_ENCODING.length && name.toLowerCase() === CONTENT_ENCODING) return true;
    if (name.length === CONTENT_TYPE.length && name.toLowerCase() === CONTENT_TYPE) contentType ??= value;
  }
  return mayHaveCharset(body, contentType ?? '');
};

export interface BodyTextOptions {
  /** The maximum length of what each coding decodes to, and of the text. */
  readonly bytesMax: number;
  /** Called with what decoding takes, at most, in units of 10 ns. */
  readonly charge: (units: number) => void;
}

/**
 * Returns a body without its content codings, in UTF-8. Returns undefined if these bytes are empty, too long or those of the body, and
 * if the body is not in the coding that its headers name. An unknown coding or charset is ignored, and so is a charset that does not
 * match the bytes.
 */
export const bodyText = (
  headers: readonly HeaderPair[],
  body: Uint8Array,
  { bytesMax, charge }: BodyTextOptions,
): Uint8Array | undefined => {
  const codings = contentCodings(headers);
  const decoded = decodeContent(codings, body, bytesMax, charge);
  if (decoded.kind === 'tooLarge' || decoded.kind === 'invalid') return undefined;
  const content = decoded.kind === 'unknown' ? body : decoded.bytes;
  if (content.length > bytesMax) return undefined;
  const contentType = headers.find(([name]) => name.toLowerCase() === CONTENT_TYPE)?.[1] ?? '';
  const encoding = textEncoding(content, contentType, () => charge(DECODER_UNITS));
  const text = encoding === 'utf-8' ? content : (inUtf8(content, encoding, charge) ?? content);
  return text.length === 0 || text.length > bytesMax || Buffer.compare(text, body) === 0 ? undefined : text;
};

const inUtf8 = (bytes: Uint8Array, encoding: string, charge: BodyTextOptions['charge']): Buffer | undefined => {
  charge(DECODER_UNITS + bytes.length * CHARSET_UNITS);
  const text = decodeText(bytes, encoding);
  return text === undefined ? undefined : Buffer.from(text);
};
