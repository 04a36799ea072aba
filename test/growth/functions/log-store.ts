import { LIMITS } from '@standin/contract';
import { cutCharacter } from '../../../packages/logstore/src/read-log.ts';
import {
  bodyTextsSize,
  decodeBodyTexts,
  decodeRow,
  decodeRowStart,
  decodeSummaryRow,
  putBodyTexts,
} from '../../../packages/logstore/src/codecs.generated.ts';
import { encodeRow } from '../../../packages/logstore/src/encode-row.ts';
import { curlCommand } from '../../../packages/exchange/src/formats/curl-command.ts';
import { fetchSnippet } from '../../../packages/exchange/src/formats/fetch-snippet.ts';
import { harEntry } from '../../../packages/exchange/src/formats/har.ts';
import { multipartBoundary, parseMultipart, splitMultipart } from '../../../packages/exchange/src/formats/multipart.ts';
import { requestMessage } from '../../../packages/exchange/src/formats/request-message.ts';
import { isPasteable, shellQuote, shellWord } from '../../../packages/exchange/src/formats/shell-quote.ts';
import {
  decodeUtf8,
  fromBase64,
  latin1Bytes,
  latin1Text,
  toBase64,
  wireText,
} from '../../../packages/exchange/src/formats/wire-bytes.ts';
import { parseInstant } from '../../../packages/contract/src/instant.ts';
import { decodeBody } from '../../../packages/exchange/src/log-entry.ts';
import { newLogRow } from '../../../packages/exchange/src/log-row.testing.ts';
import { testEntry } from '@standin/exchange/entry-testing';
import { latin1Size, putLatin1 } from '../../../packages/logstore/src/row-binary.ts';
import { RowBinaryReader } from '../../../packages/logstore/src/row-binary-reader.ts';
import { compileFilter } from '../../../packages/logstore/src/search/compile-filter.ts';
import { completionAt } from '../../../packages/exchange/src/search/complete.ts';
import { FILTER_LIMITS } from '../../../packages/exchange/src/search/filter.ts';
import { formatFilter } from '../../../packages/exchange/src/search/format-filter.ts';
import { tokenize } from '../../../packages/exchange/src/search/lexer.ts';
import { matchSearch } from '../../../packages/exchange/src/search/near-misses.ts';
import { parseFilter } from '../../../packages/exchange/src/search/parse-filter.ts';
import {
  parseDurationValue,
  parseSizeValue,
  parseStatusValue,
} from '../../../packages/exchange/src/search/parse-number.ts';
import type { GrowthEntry } from '../entry.ts';
import { BYTES, distinct, framed, repeated, type Generators } from '../generators.ts';

const HEAD = LIMITS.requestHeadBytesMax;
const BODY = LIMITS.requestBodyBytesMax;
/** The size of the largest input for functions that copy each byte once. A complete body takes at most ten times as long. */
const COPIED = BODY / 10;
const SEARCH = FILTER_LIMITS.textLengthMax;
/** The time limit for functions that copy and encode the whole body several times. It is longer than the default. */
const WHOLE_BODY_MS = 2_000;

const utf8Bytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

/** More than `requests:assert` compares of each body. */
const COMPARED = 64 * 1024;
const LONG_SEARCH = parseFilter(`body:${'a'.repeat(SEARCH / 2)}b path:*a*b*a*c`) as Parameters<typeof matchSearch>[0];

const bodyPreview = (body: string): Parameters<typeof matchSearch>[1] => ({
  entry: testEntry({ body, path: body }),
  requestBodyBytes: body.length,
  responseBodyBytes: 0,
  requestBodyBytesShown: body.length,
  responseBodyBytesShown: 0,
  requestText: undefined,
  responseText: undefined,
});

/** Inputs for multipart parsers. Parsing the first one once took quadratic time. */
export const MULTIPART: Generators = {
  'parts without a head': repeated('--b\r\nx\r\n'),
  'parts with a head': repeated('--b\r\nx: y\r\n\r\nz\r\n'),
  'near misses of the delimiter': repeated('\r\n--c'),
  'dashes after line ends': repeated('\r\n-'),
  'an unterminated head': framed('--b\r\n', repeated('a: b\r\n')),
  'names in a content disposition': framed('--b\r\ncontent-disposition:', repeated(';name='), '\r\n\r\nx\r\n--b--'),
  'dispositions in one line': framed('--b\r\n', repeated('content-disposition:'), '\r\n\r\nx\r\n--b--'),
  'unclosed quotes in names': framed('--b\r\ncontent-disposition:', repeated(';name="\\'), '\r\n\r\nx\r\n--b--'),
  'spaces after names': framed('--b\r\ncontent-disposition: ;name', repeated(' '), 'x\r\n\r\nx\r\n--b--'),
};

const TERMS: Generators = {
  negations: repeated('-'),
  'negated words': repeated('-a '),
  'open parentheses': repeated('('),
  'words without spaces': repeated('a('),
  'fields without values': repeated('path:'),
  'unknown fields': distinct((index) => `f${index}:x `),
  'header names': framed('header.', repeated('a.')),
  wildcards: framed('path:', repeated('*')),
  'escaped bytes': framed('body:"', repeated(String.raw`\xe9`), '"'),
  keywords: repeated('a OR '),
  'ranges without numbers': framed('size:', repeated('1-')),
};

const parsedFilter = (text: string) => {
  const result = parseFilter(text);
  return result.kind === 'parsed' ? result.filter : ({ kind: 'text', text } as const);
};

export const LOG_STORE: readonly GrowthEntry[] = [
  {
    of: 'packages/exchange/src/formats/multipart.ts#parseMultipart',
    limit: BODY,
    run: (text) => parseMultipart(text, 'b'),
    near: MULTIPART,
  },
  {
    of: 'packages/exchange/src/formats/multipart.ts#splitMultipart',
    limit: BODY,
    run: (text) => splitMultipart(text, 'b'.repeat(200)),
    nearOnly: true,
    near: {
      ...MULTIPART,
      'near misses of a long delimiter': repeated(`\r\n--${'b'.repeat(199)}c`),
      'a long run of boundary characters': repeated('b'),
    },
  },
  {
    of: 'packages/exchange/src/formats/multipart.ts#multipartBoundary',
    limit: LIMITS.upstreamHeadBytesMax,
    run: (text) => multipartBoundary(`multipart/mixed${text}`),
    near: {
      'many boundaries': repeated('; boundary'),
      'spaces after boundaries': repeated('; boundary   '),
      'open quotes': repeated('; boundary="\\'),
    },
  },
  {
    of: 'packages/exchange/src/formats/wire-bytes.ts#latin1Bytes',
    limit: COPIED,
    near: BYTES,
    nearOnly: true,
    run: latin1Bytes,
  },
  {
    of: 'packages/exchange/src/formats/wire-bytes.ts#latin1Text',
    limit: COPIED,
    near: BYTES,
    nearOnly: true,
    run: (text) => latin1Text(utf8Bytes(text)),
    cpuMsMax: WHOLE_BODY_MS,
  },
  {
    of: 'packages/exchange/src/formats/wire-bytes.ts#decodeUtf8',
    limit: COPIED,
    near: BYTES,
    nearOnly: true,
    run: (text) => decodeUtf8(utf8Bytes(text)),
  },
  {
    of: 'packages/exchange/src/formats/wire-bytes.ts#toBase64',
    limit: COPIED,
    near: BYTES,
    nearOnly: true,
    run: (text) => toBase64(utf8Bytes(text)),
    cpuMsMax: WHOLE_BODY_MS,
  },
  {
    of: 'packages/exchange/src/formats/wire-bytes.ts#fromBase64',
    limit: COPIED,
    run: (text) => fromBase64(text),
    near: { base64: repeated('QUJD') },
  },
  { of: 'packages/exchange/src/formats/wire-bytes.ts#wireText', limit: LIMITS.upstreamHeadBytesMax, run: wireText },
  {
    of: 'packages/exchange/src/formats/shell-quote.ts#shellQuote',
    limit: COPIED,
    run: shellQuote,
    near: { quotes: repeated("'") },
    cpuMsMax: WHOLE_BODY_MS,
  },
  {
    of: 'packages/exchange/src/formats/shell-quote.ts#isPasteable',
    limit: COPIED,
    near: BYTES,
    nearOnly: true,
    run: isPasteable,
    cpuMsMax: WHOLE_BODY_MS,
  },
  {
    of: 'packages/exchange/src/formats/shell-quote.ts#shellWord',
    limit: HEAD,
    run: shellWord,
    near: { 'bytes between letters': repeated('a\x80') },
  },
  {
    of: 'packages/exchange/src/formats/request-message.ts#requestMessage',
    limit: COPIED,
    near: BYTES,
    nearOnly: true,
    run: (body) => requestMessage(testEntry({ body: '' }), Buffer.from(body)),
  },
  {
    of: 'packages/exchange/src/formats/curl-command.ts#curlCommand',
    limit: COPIED,
    near: BYTES,
    nearOnly: true,
    run: (body) => curlCommand(testEntry({ body })),
    cpuMsMax: WHOLE_BODY_MS,
  },
  {
    of: 'packages/exchange/src/formats/fetch-snippet.ts#fetchSnippet',
    limit: COPIED,
    near: BYTES,
    nearOnly: true,
    run: (body) => fetchSnippet(testEntry({ body })),
    cpuMsMax: WHOLE_BODY_MS,
  },
  {
    of: 'packages/exchange/src/formats/har.ts#harEntry',
    limit: HEAD,
    run: (text) =>
      harEntry(
        testEntry({ query: text, headers: [['cookie', text]], responseHeaders: [['set-cookie', text]], body: text }),
      ),
  },
  {
    of: 'packages/exchange/src/log-entry.ts#decodeBody',
    limit: COPIED,
    near: BYTES,
    nearOnly: true,
    run: (text) => decodeBody(utf8Bytes(text)),
  },
  {
    of: 'packages/contract/src/instant.ts#parseInstant',
    limit: HEAD,
    run: parseInstant,
    near: { 'fractions of a second': framed('2026-01-01T00:00:00.', repeated('1'), 'x') },
  },
  {
    of: 'packages/logstore/src/read-log.ts#cutCharacter',
    limit: COPIED,
    near: BYTES,
    nearOnly: true,
    run: (text) => cutCharacter(utf8Bytes(text), Infinity),
  },
  {
    of: 'packages/logstore/src/row-binary-reader.ts#RowBinaryReader',
    limit: HEAD,
    run: (text) => decodeRow(new RowBinaryReader(Buffer.from(text, 'latin1'))),
    near: { 'an endless number': repeated('\xff'), 'long counts': repeated('\x80\x80\x80\x01') },
  },
  {
    of: 'packages/logstore/src/codecs.generated.ts#decodeRow',
    limit: HEAD,
    run: (text) => {
      const requestHeaders = text.split('\n').map((line) => [line, line] as const);
      return decodeRow(new RowBinaryReader(encodeRow(newLogRow({ target: text, requestHeaders }))));
    },
  },
  {
    of: 'packages/logstore/src/codecs.generated.ts#decodeSummaryRow',
    limit: HEAD,
    run: (text) => {
      const path = Buffer.alloc(latin1Size(text));
      putLatin1(path, text, 0);
      // The path is between an id, a time and four empty texts, and the other columns.
      return decodeSummaryRow(new RowBinaryReader(Buffer.concat([Buffer.alloc(28), path, Buffer.alloc(17)])));
    },
  },
  {
    of: 'packages/logstore/src/codecs.generated.ts#decodeRowStart',
    limit: HEAD,
    run: (text) => {
      const requestHeaders = text.split('\n').map((line) => [line, line] as const);
      return decodeRowStart(new RowBinaryReader(encodeRow(newLogRow({ target: text, requestHeaders }))));
    },
  },
  {
    of: 'packages/logstore/src/codecs.generated.ts#decodeBodyTexts',
    limit: BODY,
    run: (text) => {
      const row = { requestText: Buffer.from(text), responseText: Buffer.from(text) };
      const bytes = Buffer.alloc(bodyTextsSize(row));
      putBodyTexts(bytes, row, 0);
      return decodeBodyTexts(new RowBinaryReader(bytes));
    },
    near: BYTES,
    nearOnly: true,
  },
  { of: 'packages/exchange/src/search/lexer.ts#tokenize', limit: SEARCH, run: tokenize, near: TERMS },
  { of: 'packages/exchange/src/search/parse-filter.ts#parseFilter', limit: SEARCH, run: parseFilter, near: TERMS },
  {
    of: 'packages/exchange/src/search/format-filter.ts#formatFilter',
    limit: SEARCH,
    run: (text) => formatFilter(parsedFilter(text)),
    near: TERMS,
  },
  {
    of: 'packages/logstore/src/search/compile-filter.ts#compileFilter',
    limit: SEARCH,
    run: (text) => compileFilter(parsedFilter(text)),
    near: TERMS,
  },
  {
    of: 'packages/exchange/src/search/near-misses.ts#matchSearch',
    limit: COMPARED,
    run: (body) => matchSearch(LONG_SEARCH, bodyPreview(body)),
    near: { 'the beginning of the text': repeated('a') },
  },
  // The search box suggests names before it reports that the text is too long.
  {
    of: 'packages/exchange/src/search/complete.ts#completionAt',
    limit: 64 * 1024,
    run: (text) => completionAt(text, text.length),
    near: TERMS,
  },
  { of: 'packages/exchange/src/search/parse-number.ts#parseStatusValue', limit: SEARCH, run: parseStatusValue },
  { of: 'packages/exchange/src/search/parse-number.ts#parseDurationValue', limit: SEARCH, run: parseDurationValue },
  {
    of: 'packages/exchange/src/search/parse-number.ts#parseSizeValue',
    limit: SEARCH,
    run: (text) => parseSizeValue('size', text),
  },
];
