import { gzipSync } from 'node:zlib';
import { LIMITS } from '@standin/contract';
import { mayHaveText } from '../../../packages/exchange/src/decode/body-text.ts';
import { contentCodings, decodeContent } from '../../../packages/exchange/src/decode/decode-content.ts';
import { decodeText } from '../../../packages/exchange/src/decode/decode-text.ts';
import { COMPARED_BYTES_MAX, diffResponses } from '../../../packages/exchange/src/diff/diff-responses.ts';
import { diffHeaders } from '../../../packages/exchange/src/diff/diff-headers.ts';
import { diffJson } from '../../../packages/exchange/src/diff/diff-json.ts';
import { diffLines } from '../../../packages/exchange/src/diff/diff-lines.ts';
import {
  supportedViews,
  decodePair,
  isBinary,
  mediaType,
  splitPairs,
} from '../../../dashboard/app/exchange/body-views.ts';
import { BODY_SHOWN_BYTES_MAX } from '../../../dashboard/app/exchange/exchange-view.ts';
import { formatJson } from '../../../dashboard/src/captured/format-json.ts';
import { HEX_ROW_BYTES, hexRow } from '../../../dashboard/app/exchange/hex-rows.ts';
import { requestConditions } from '../../../dashboard/src/captured/request-conditions.ts';
import { guessSlug } from '../../../dashboard/src/endpoints/guess-slug.ts';
import { mockOfResponse } from '../../../dashboard/src/captured/mock-of-response.ts';
import { parseHeaderText } from '../../../dashboard/app/replays/replay-values.ts';
import { bodyPreview } from '../../../dashboard/src/requests/body-preview.ts';
import { csvLine } from '../../../dashboard/src/requests/csv.ts';
import { matchScore } from '../../../dashboard/app/shell/navigation-targets.ts';
import { findProblem, searchTerms, withoutTerm } from '../../../dashboard/app/traffic/filter-terms.ts';
import { readCookies } from '../../../dashboard/src/access/cookies.ts';
import { sharedExchange } from '../../../dashboard/src/captured/shared-exchange.ts';
import { testEntry } from '@standin/exchange/entry-testing';
import type { GrowthEntry } from '../entry.ts';
import { BYTES, distinct, framed, nested, repeated, type Generators } from '../generators.ts';

const SHOWN = BODY_SHOWN_BYTES_MAX;
const HEAD = LIMITS.requestHeadBytesMax;
const SEARCH = 2_000;
/** The limit for diffs. It is longer than the default, because a diff parses, numbers and compares two large documents. */
const DIFF_MS = 3_000;

const bodyViews = (body: string, contentType: string) =>
  supportedViews({
    body,
    bodyEncoding: 'utf8',
    contentType,
    bytes: body.length,
    bytesCaptured: body.length,
    bytesShown: body.length,
  });

/**
 * Changes the first `1` in the second half of the text, or appends a line if the text contains no `1`, so that the comparison first
 * has to read a long part that is equal.
 */
const changed = (text: string): string => {
  const middle = Math.floor(text.length / 2);
  return (
    text.slice(0, middle) + (text.includes('1') ? text.slice(middle).replace('1', '2') : `${text.slice(middle)}\nz`)
  );
};
const responseWithBody = (text: string) => {
  const body = Buffer.from(text);
  return { status: 200, durationMs: 1, headers: [], body, truncated: false, bodyBytes: body.length };
};

const JSON_TEXTS: Generators = {
  'objects within objects': nested('{"a":', '}', '1'),
  'objects within arrays': nested('[{"a":', '}]', '1'),
  'nesting deeper than the stack': nested('[', ']', '1'),
  'the deepest comparable nesting': (length) => {
    const depth = Math.min(1_200, Math.ceil(length / 100));
    const members = distinct((index) => `"b${index}":0,`)(Math.max(8, Math.floor(length / depth) - 10));
    return `${`{${members}"a":`.repeat(depth)}1${'}'.repeat(depth)}`;
  },
  'arrays of objects': framed(
    '[',
    distinct((index) => `{"id":${index}},`),
    '1]',
  ),
  'one repeated key': framed('{', repeated('"a":1,'), '"a":1}'),
  'many keys': framed(
    '{',
    distinct((index) => `"k${index}":0,`),
    '"a":1}',
  ),
  'spaces within a value': framed('{"a":"', repeated(' '), '1"}'),
  'spaces between values': framed('[1,', repeated(' '), '2]'),
};
const LINES: Generators = {
  'distinct lines': distinct((index) => `line ${index}\n`),
  'repeated lines': repeated('a\nb\na\nc\n'),
  'empty lines': repeated('\n'),
};

export const DASHBOARD: readonly GrowthEntry[] = [
  {
    of: 'dashboard/src/captured/format-json.ts#formatJson',
    limit: SHOWN,
    run: formatJson,
    near: { ...JSON_TEXTS, 'unclosed strings': repeated('"\\a') },
  },
  {
    of: 'dashboard/app/exchange/body-views.ts#supportedViews',
    limit: SHOWN,
    run: (text) => bodyViews(text, 'application/json'),
    near: { 'spaces before JSON': framed('', repeated(' '), '{') },
  },
  {
    of: 'dashboard/app/exchange/body-views.ts#supportedViews',
    limit: HEAD,
    run: (type) => bodyViews('x', `multipart/mixed;${type}`),
    near: { charsets: repeated(';charset '), 'spaces before a charset': framed(';', repeated(' '), 'x') },
  },
  {
    of: 'dashboard/app/exchange/body-views.ts#splitPairs',
    limit: SHOWN,
    run: splitPairs,
    near: { 'empty pairs': repeated('&='), 'broken escapes': repeated('%&') },
  },
  {
    of: 'dashboard/app/exchange/body-views.ts#decodePair',
    limit: SHOWN,
    run: decodePair,
    near: { 'equals signs': repeated('='), 'broken escapes': repeated('%') },
  },
  { of: 'dashboard/app/exchange/body-views.ts#isBinary', limit: SHOWN, run: isBinary },
  { of: 'dashboard/app/exchange/body-views.ts#mediaType', limit: HEAD, run: mediaType },
  {
    of: 'dashboard/app/exchange/hex-rows.ts#hexRow',
    limit: SHOWN,
    near: BYTES,
    nearOnly: true,
    run: (text) => {
      const bytes = new TextEncoder().encode(text);
      for (let row = 0; row * HEX_ROW_BYTES < bytes.length; row += 1) hexRow(bytes, row);
    },
  },
  {
    of: 'packages/exchange/src/diff/diff-json.ts#diffJson',
    limit: COMPARED_BYTES_MAX,
    run: (text) => diffJson(text, changed(text)),
    near: JSON_TEXTS,
    cpuMsMax: DIFF_MS,
  },
  {
    of: 'packages/exchange/src/diff/diff-lines.ts#diffLines',
    limit: COMPARED_BYTES_MAX,
    run: (text) => diffLines(text, changed(text)),
    near: LINES,
    cpuMsMax: DIFF_MS,
  },
  {
    of: 'packages/exchange/src/diff/diff-responses.ts#diffResponses',
    limit: COMPARED_BYTES_MAX,
    run: (text) => diffResponses(responseWithBody(text), responseWithBody(changed(text))),
    near: {
      'JSON with many keys': framed(
        '{',
        distinct((index) => `"k${index}":0,`),
        '"a":1}',
      ),
      ...LINES,
    },
    nearOnly: true,
    cpuMsMax: DIFF_MS,
  },
  {
    of: 'packages/exchange/src/diff/diff-headers.ts#diffHeaders',
    limit: LIMITS.upstreamHeadBytesMax,
    run: (text) => {
      const headers = text.split('\n').map((line) => ['set-cookie', line] as const);
      return diffHeaders(headers, headers.toReversed());
    },
    near: LINES,
  },
  {
    of: 'packages/exchange/src/decode/decode-content.ts#contentCodings',
    limit: LIMITS.upstreamHeadBytesMax,
    run: (text) => contentCodings([['content-encoding', text]]),
    near: { codings: repeated('gzip,') },
  },
  {
    of: 'packages/exchange/src/decode/decode-content.ts#decodeContent',
    // The limit applies to the decompressed size, which can be a thousand times the transferred size.
    limit: LIMITS.responseCaptureBytesMax / 4,
    near: BYTES,
    nearOnly: true,
    run: (text) => decodeContent(['gzip', 'gzip'], gzipSync(gzipSync(text)), COMPARED_BYTES_MAX),
  },
  {
    // Not named like a parser, but runs for the headers of each request.
    of: 'packages/exchange/src/decode/body-text.ts#mayHaveText',
    limit: LIMITS.upstreamHeadBytesMax,
    run: (text) => mayHaveText([['content-type', `;${text}`]], Buffer.from('a')),
    near: { charsets: repeated(';charset '), 'spaces before a charset': framed(';', repeated(' '), 'x') },
  },
  {
    of: 'packages/exchange/src/decode/decode-text.ts#decodeText',
    limit: LIMITS.expressionTextLengthMax,
    run: (text) =>
      ['utf-8', 'utf-16le', 'windows-1251', 'gb18030', 'iso-2022-jp'].map((name) =>
        decodeText(Buffer.from(text, 'latin1'), name),
      ),
  },
  {
    of: 'dashboard/src/captured/mock-of-response.ts#mockOfResponse',
    limit: LIMITS.mockBodyBytesMax,
    run: (text) =>
      mockOfResponse(
        testEntry({
          responseBody: text,
          responseHeaders: text.split('\n', 1_000).map((line) => [line, line] as const),
        }),
        'response',
      ),
    near: JSON_TEXTS,
  },
  {
    of: 'dashboard/src/captured/request-conditions.ts#requestConditions',
    limit: LIMITS.requestTargetBytesMax,
    run: (text) =>
      requestConditions(
        testEntry({
          path: `/a/${text}`,
          query: text,
          headers: text.split('\n', 1_000).map((line) => [line, line] as const),
        }),
        '/{first}/{rest...}',
      ),
    near: { 'one name': repeated('a=1&'), 'many names': distinct((index) => `a${index}=1&`), segments: repeated('/a') },
  },
  {
    of: 'dashboard/src/endpoints/guess-slug.ts#guessSlug',
    limit: LIMITS.slugLengthMax,
    run: (text) => guessSlug(`/${text}`),
    near: { ids: repeated('/1'), digests: repeated('deadbeef') },
  },
  {
    of: 'dashboard/app/replays/replay-values.ts#parseHeaderText',
    limit: LIMITS.replayEditBytesMax,
    run: parseHeaderText,
    near: LINES,
  },
  {
    of: 'dashboard/src/requests/body-preview.ts#bodyPreview',
    limit: SHOWN,
    run: (text) => bodyPreview({ bytes: Buffer.from(text), bytesWhole: text.length }),
    near: { spaces: framed('x', repeated(' '), 'x') },
  },
  {
    of: 'dashboard/src/requests/csv.ts#csvLine',
    limit: LIMITS.requestTargetBytesMax,
    run: (text) => csvLine({ ...testEntry({ path: text, query: text }), bodyBytes: 0, insertedAtMs: 0 }),
  },
  {
    of: 'dashboard/app/shell/navigation-targets.ts#matchScore',
    limit: SEARCH,
    run: (name) => matchScore(name, 'aaaa'),
    near: { 'one character': repeated('a'), 'almost a match': repeated('aaab') },
  },
  { of: 'dashboard/app/traffic/filter-terms.ts#searchTerms', limit: SEARCH, run: searchTerms },
  { of: 'dashboard/app/traffic/filter-terms.ts#withoutTerm', limit: SEARCH, run: (text) => withoutTerm(text, 0) },
  { of: 'dashboard/app/traffic/filter-terms.ts#findProblem', limit: SEARCH, run: findProblem },
  {
    of: 'dashboard/src/access/cookies.ts#readCookies',
    limit: HEAD,
    run: readCookies,
    near: { 'cookies without a name': repeated('=;'), 'many cookies': distinct((index) => `c${index}=v;`) },
  },
  {
    of: 'dashboard/src/captured/shared-exchange.ts#sharedExchange',
    limit: SHOWN,
    run: (body) =>
      sharedExchange(testEntry({ body }), { headers: [], query: ['*a*b*c'], jsonPaths: ['$..a..b', '$..*.c'] }),
    near: JSON_TEXTS,
    nearOnly: true,
    cpuMsMax: DIFF_MS,
  },
];
