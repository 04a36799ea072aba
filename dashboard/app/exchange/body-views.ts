import { boundaryOf, fromBase64, utf8Bytes } from '@standin/exchange/formats';
import type { BodyView } from './exchange-view.ts';
import { isJson } from '../../src/captured/format-json.ts';

/** Views of a body, by their names in the URL. */
export type BodyViewName = 'pretty' | 'form' | 'parts' | 'image' | 'raw' | 'hex';

/** Shown as an image. Types that can contain scripts or references (SVG) are excluded. */
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

/** `application/json` of `Application/JSON; charset=utf-8`. */
export const mediaType = (contentType: string): string => (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();

const charsetOf = (contentType: string): string | undefined => /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType)?.[1];

/** Decodes text in the charset that the sender states: ISO 8859-1, UTF-16, Shift JIS, … Undefined: unknown charset. */
const decodeDeclared = (bytes: Uint8Array, contentType: string): string | undefined => {
  const charset = charsetOf(contentType);
  if (charset === undefined) return undefined;
  try {
    return new TextDecoder(charset, { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
};

export const bodyBytes = ({ body, bodyEncoding }: Pick<BodyView, 'body' | 'bodyEncoding'>): Uint8Array =>
  bodyEncoding === 'utf8' ? utf8Bytes(body) : fromBase64(body);

/** The shown part as text. Undefined: not text. */
export const bodyText = (view: BodyView): string | undefined =>
  view.bodyEncoding === 'utf8' ? view.body : decodeDeclared(fromBase64(view.body), view.contentType);

const isJsonType = (type: string): boolean => type.endsWith('/json') || type.endsWith('+json');
/** Valid UTF-8 may be an accident. Control characters other than tab and line ends are not text. */
export const isBinary = (text: string): boolean => /[\p{Cc}]/u.test(text.replace(/[\t\r\n]/g, ''));

/** The possible views of a body, best first. Empty: there is no body. */
export const bodyViewsOf = (view: BodyView): readonly BodyViewName[] => {
  if (view.bytesShown === 0) return [];
  const type = mediaType(view.contentType);
  const text = bodyText(view);
  const isWhole = view.bytesShown === view.bytes;
  if (IMAGE_TYPES.has(type)) return ['image', 'hex'];
  if (boundaryOf(view.contentType) !== undefined)
    return text === undefined ? ['parts', 'hex'] : ['parts', 'raw', 'hex'];
  if (text === undefined) return ['hex'];
  // Much JSON has another media type: curl -d sends everything as a form.
  const startsLikeJson = /^\s*[[{]/.test(text);
  if (isWhole ? (isJsonType(type) || startsLikeJson) && isJson(text) : isJsonType(type))
    return ['pretty', 'raw', 'hex'];
  if (type === 'application/x-www-form-urlencoded') return ['form', 'raw', 'hex'];
  return isBinary(text) ? ['hex', 'raw'] : ['raw', 'hex'];
};

/** The names and values of a form or a query string, not decoded. */
export const splitPairs = (text: string): readonly string[] => text.split('&').filter((pair) => pair !== '');

/** Decodes one pair. Invalid escapes stay as they are. */
export const decodePair = (pair: string): readonly [name: string, value: string] => {
  const equals = pair.indexOf('=');
  const [name, value] = equals === -1 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)];
  return [decodeComponent(name), decodeComponent(value)];
};

const BROKEN_ESCAPE = /%(?![0-9a-f]{2})/i;

const decodeComponent = (text: string): string => {
  const spaced = text.replaceAll('+', ' ');
  // An exception for each of very many pairs takes long.
  if (BROKEN_ESCAPE.test(spaced)) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced;
  }
};
