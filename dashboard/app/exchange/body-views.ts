import { fromBase64, multipartBoundary, utf8Bytes } from '@standin/exchange/formats';
import type { BodyView } from './exchange-view.ts';
import { isJson } from '../../src/captured/format-json.ts';

/** A body view, as named in the URL. */
export type BodyViewName = 'pretty' | 'form' | 'parts' | 'image' | 'raw' | 'hex';

/** Media types that are shown as images. Excludes SVG, which can contain scripts and references. */
export const IMAGE_TYPES: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/bmp',
  'image/x-icon',
  'image/vnd.microsoft.icon',
]);

/** Returns the media type in lower case and without parameters: `Application/JSON; charset=utf-8` → `application/json`. */
export const mediaType = (contentType: string): string => (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();

/**
 * Decodes text in the charset of its content type. Returns undefined if the charset is missing or unknown, or if the bytes are not
 * valid in that charset.
 */
const decodeDeclared = (bytes: Uint8Array, contentType: string): string | undefined => {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType)?.[1];
  if (charset === undefined) return undefined;
  try {
    return new TextDecoder(charset, { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
};

export const bodyBytes = ({ body, bodyEncoding }: Pick<BodyView, 'body' | 'bodyEncoding'>): Uint8Array =>
  bodyEncoding === 'utf8' ? utf8Bytes(body) : fromBase64(body);

/**
 * Returns the text on the page: the decoded body, or the body itself. Returns undefined if it is neither UTF-8 nor in the charset of its
 * content type.
 */
export const bodyText = (view: BodyView): string | undefined =>
  view.decoded?.text ??
  (view.bodyEncoding === 'utf8' ? view.body : decodeDeclared(fromBase64(view.body), view.contentType));

/** Returns whether the text on the page is the whole text of what was captured. */
export const isTextWhole = ({ decoded, bytesShown, bytesCaptured }: BodyView): boolean =>
  decoded === undefined ? bytesShown === bytesCaptured : !decoded.isCut;

const isJsonType = (type: string): boolean => type.endsWith('/json') || type.endsWith('+json');
/**
 * Returns whether decoded text is actually binary data, which can be valid UTF-8 by accident. Control characters other than tabs
 * and line breaks count as binary.
 */
export const isBinary = (text: string): boolean => /[\p{Cc}]/u.test(text.replace(/[\t\r\n]/g, ''));

/** Returns the views that a body supports, best first. Returns no views if the captured body is empty. */
export const supportedViews = (view: BodyView): readonly BodyViewName[] => {
  if (view.bytesShown === 0) return [];
  const type = mediaType(view.contentType);
  const text = bodyText(view);
  const isWhole = isTextWhole(view) && view.bytesCaptured === view.bytes;
  if (IMAGE_TYPES.has(type)) return ['image', 'hex'];
  // Parts are read from the body as it was sent.
  if (multipartBoundary(view.contentType) !== undefined && view.decoded === undefined)
    return text === undefined ? ['parts', 'hex'] : ['parts', 'raw', 'hex'];
  if (text === undefined) return ['hex'];
  // JSON often has a different media type. For example, curl -d declares a form.
  const startsLikeJson = /^\s*[[{]/.test(text);
  if (isWhole ? (isJsonType(type) || startsLikeJson) && isJson(text) : isJsonType(type))
    return ['pretty', 'raw', 'hex'];
  if (type === 'application/x-www-form-urlencoded') return ['form', 'raw', 'hex'];
  return isBinary(text) ? ['hex', 'raw'] : ['raw', 'hex'];
};

/** Splits a form or a query string into pairs without decoding them. */
export const splitPairs = (text: string): readonly string[] => text.split('&').filter((pair) => pair !== '');

/** Decodes one pair. A name or value with an invalid escape is not decoded, except that `+` becomes a space. */
export const decodePair = (pair: string): readonly [name: string, value: string] => {
  const equals = pair.indexOf('=');
  const [name, value] = equals === -1 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)];
  return [decodeComponent(name), decodeComponent(value)];
};

const BROKEN_ESCAPE = /%(?![0-9a-f]{2})/i;

const decodeComponent = (text: string): string => {
  const spaced = text.replaceAll('+', ' ');
  // Avoids most exceptions of `decodeURIComponent`, because throwing one for each of many pairs would be slow.
  if (BROKEN_ESCAPE.test(spaced)) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced;
  }
};
