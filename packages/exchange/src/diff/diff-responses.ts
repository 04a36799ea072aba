import { createHash } from 'node:crypto';
import { contentCodings, decodeContent } from '../decode/index.ts';
import { decodeUtf8 } from '../formats/index.ts';
import type { ComparedResponse, ResponseDiff, BodyDiff, BytesView } from './response-diff.ts';
import { diffHeaders } from './diff-headers.ts';
import { diffJson, type IsIgnored } from './diff-json.ts';
import { diffLines } from './diff-lines.ts';

/**
 * Of larger bodies, only the size and the digest are shown, because their differences are too long to read on a page and slow
 * to compute.
 */
export const COMPARED_BYTES_MAX = 512 * 1024;

const decodeText = (bytes: Uint8Array): string | undefined => {
  const text = decodeUtf8(bytes);
  // Bytes with a NUL can be valid UTF-8 by accident, but they are not text.
  return text?.includes('\0') === true ? undefined : text;
};

const bytesView = ({ body, bodyBytes, truncated }: ComparedResponse): BytesView => ({
  bytes: bodyBytes,
  sha256: truncated ? undefined : createHash('sha256').update(body).digest('hex'),
});

const isSameBytes = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

const decodedBody = ({ headers, body }: ComparedResponse): Uint8Array | undefined => {
  const content = decodeContent(contentCodings(headers), body, COMPARED_BYTES_MAX);
  return content.kind === 'decoded' ? content.bytes : undefined;
};

const diffBodies = (before: ComparedResponse, after: ComparedResponse, isIgnored: IsIgnored | undefined): BodyDiff => {
  const asBytes = (why: string): BodyDiff => ({
    kind: 'bytes',
    why,
    before: bytesView(before),
    after: bytesView(after),
  });
  if (before.truncated || after.truncated) return asBytes('Only the beginning of at least one body is stored.');
  if (isSameBytes(before.body, after.body)) return { kind: 'same', bytes: after.bodyBytes };
  const [old, now] = [before, after].map(decodedBody);
  if (old === undefined || now === undefined) return asBytes('At least one body cannot be decompressed.');
  if (isSameBytes(old, now)) return { kind: 'same', bytes: now.length };
  if (Math.max(old.length, now.length) > COMPARED_BYTES_MAX)
    return asBytes('At least one body is too large to compare in detail.');
  const [oldText, nowText] = [decodeText(old), decodeText(now)];
  if (oldText === undefined || nowText === undefined) return asBytes('At least one body is not text.');
  const json = diffJson(oldText, nowText, isIgnored);
  return json === undefined ? { kind: 'text', ...diffLines(oldText, nowText) } : { kind: 'json', ...json };
};

/** Compares a captured response with a later one to the same request. */
export const diffResponses = (
  before: ComparedResponse,
  after: ComparedResponse,
  isIgnored?: IsIgnored,
): ResponseDiff => ({
  status: { before: before.status, after: after.status },
  durationMs: { before: before.durationMs, after: after.durationMs },
  headers: diffHeaders(before.headers, after.headers),
  body: diffBodies(before, after, isIgnored),
});
