/** The text of bodies with a content coding or a charset. Uses Node's zlib and ICU, so it does not work in a browser. */
export { bodyText, mayHaveText, type BodyTextOptions } from './body-text.ts';
export { contentCodings, decodeContent } from './decode-content.ts';
export { decodeText, textEncoding } from './decode-text.ts';
export { CHARSET_UNITS, DECODER_UNITS } from './decoding-units.ts';
