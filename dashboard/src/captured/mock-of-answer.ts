import { LIMITS, type HeaderPair } from '@standin/contract';
import { stripHopByHop } from '@standin/egress';
import { bodyBytesOf, type LogEntry } from '@standin/exchange';
import { contentCodings, decodeContent } from '../diff/decode-content.ts';

/** The `spec.json` block of an Endpoint. */
interface MockSpec {
  readonly status: number;
  readonly headers?: readonly { readonly name: string; readonly value: string }[];
  readonly body?: string;
}

export type MockOfAnswer =
  | {
      readonly ok: true;
      readonly mock: MockSpec;
      /** Unique names of the response headers that the mock omits. */
      readonly dropped: readonly string[];
      /** Content codings that were removed from the body, such as `gzip`. */
      readonly decoded: readonly string[];
    }
  /** `reason` explains why this response cannot be a mock, and what to do about it. */
  | { readonly ok: false; readonly reason: string };

/** Responses with these statuses never have a body (RFC 9110). */
const BODYLESS_STATUSES: ReadonlySet<number> = new Set([204, 205, 304]);
/**
 * Headers that a mock omits. The gateway sets the length and the date, and the mock's body is not compressed. `standin-rejected`
 * would make the response look like a rejection.
 */
const WRITTEN_BY_GATEWAY: ReadonlySet<string> = new Set([
  'content-length',
  'content-encoding',
  'date',
  'standin-rejected',
]);

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const kilobytes = (bytes: number): string => `${Math.ceil(bytes / 1_000).toLocaleString('en')} kB`;

const refuse = (reason: string): MockOfAnswer => ({ ok: false, reason });

/** Returns the headers that a mock can have, in order. */
const mockHeaders = (headers: readonly HeaderPair[]): HeaderPair[] => {
  let hasContentType = false;
  return stripHopByHop(headers).filter(([name, value]) => {
    const lower = name.toLowerCase();
    if (WRITTEN_BY_GATEWAY.has(lower) || lower.length > LIMITS.headerNameLengthMax) return false;
    if (value.length > LIMITS.headerValueLengthMax) return false;
    if (lower !== 'content-type') return true;
    const isFirst = !hasContentType;
    hasContentType = true;
    return isFirst;
  });
};

type Body = { readonly text: string } | { readonly reason: string };

const bodyOf = ({ response }: LogEntry): Body => {
  const { headers, truncated, bodyBytes } = response;
  const max = kilobytes(LIMITS.mockBodyBytesMax);
  if (truncated)
    return {
      reason: `A mock needs the whole response, but only part of this response is stored. Its full size is ${kilobytes(bodyBytes)}`,
    };
  const codings = contentCodings(headers);
  const bytes = decodeContent(headers, bodyBytesOf(response), LIMITS.mockBodyBytesMax);
  if (bytes === undefined)
    return {
      reason: `This response is compressed (${codings.join(', ')}) and cannot be decompressed within the limit of ${max}`,
    };
  if (bytes.length > LIMITS.mockBodyBytesMax)
    return { reason: `A mock body must not exceed ${max}, but the body of this response is larger` };
  if (bytes.length === 0) return { text: '' };
  try {
    const text = utf8.decode(bytes);
    JSON.parse(text);
    return { text };
  } catch {
    const type = headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1];
    return {
      reason: `A mock must be a JSON document, but this response is not one. Its content type is ${type ?? 'missing'}`,
    };
  }
};

/**
 * Converts a captured response to a mock with the same status, headers and body. Decompresses the body. Omits hop-by-hop headers,
 * headers in `WRITTEN_BY_GATEWAY`, repeated content types, and headers that exceed the limits. Returns the reason if the response
 * cannot be a mock.
 */
export const mockOfAnswer = (entry: LogEntry): MockOfAnswer => {
  const { response, outcome, upstreamError } = entry;
  if (response.status === 0) return refuse('No response to this request was recorded.');
  if (outcome === 'template_failed')
    return refuse('This response is an error, because a template could not be rendered.');
  if (outcome !== 'forwarded' && outcome !== 'mocked' && outcome !== 'fallback')
    return refuse(
      `The upstream did not return a complete response${upstreamError === '' ? '.' : `: ${upstreamError}`}`,
    );
  if (response.status < 200 || response.status > 599)
    return refuse(`A mock needs a status from 200 to 599, but this response has ${response.status}.`);
  const body = bodyOf(entry);
  if ('reason' in body) return refuse(`${body.reason}.`);
  const isBodyless = BODYLESS_STATUSES.has(response.status);
  if (!isBodyless && body.text === '')
    return refuse('This response has no body. Only mocks with status 204, 205 or 304 can omit the body.');
  const headers = mockHeaders(response.headers).slice(0, LIMITS.mockHeadersMax);
  const kept = new Set(headers.map(([name]) => name.toLowerCase()));
  const dropped = new Set(response.headers.map(([name]) => name.toLowerCase()).filter((name) => !kept.has(name)));
  return {
    ok: true,
    mock: {
      status: response.status,
      ...(headers.length > 0 && { headers: headers.map(([name, value]) => ({ name, value })) }),
      ...(!isBodyless && { body: body.text }),
    },
    dropped: [...dropped],
    decoded: contentCodings(response.headers),
  };
};
