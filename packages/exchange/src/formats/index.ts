/** Log entries in the formats of other programs. Does no I/O and uses no Node APIs, so it also works in a browser. */
export { decodeUtf8, fromBase64, latin1Text, utf8Bytes, wireText } from './wire-bytes.ts';
export type { EncodedBody, WireText } from './wire-bytes.ts';
export { requestHead, requestMessage } from './request-message.ts';
export type { RequestEntry } from './request-message.ts';
export { curlCommand } from './curl-command.ts';
export { exampleUrl } from './example-url.ts';
export { fetchSnippet } from './fetch-snippet.ts';
export { har, harEntry, HAR_BEGIN, HAR_END } from './har.ts';
export type { Har, HarEntry, HarPair } from './har.ts';
export { shellQuote } from './shell-quote.ts';
export { multipartBoundary, parseMultipart, partHeaders, partNames, splitMultipart } from './multipart.ts';
export type { MultipartItem } from './multipart.ts';
export type { Snippet, SnippetOptions } from './snippet.ts';
