/** The text of bodies with a content coding or a charset. Uses Node's zlib and ICU, so it does not work in a browser. */
export { contentCodings, decodeContent } from './decode-content.ts';
export { decodeText, textEncoding } from './decode-text.ts';
