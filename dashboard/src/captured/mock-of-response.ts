import { LIMITS, type HeaderPair } from '@standin/contract';
import { stripHopByHop } from '@standin/egress';
import { bodyAsBuffer, type LogEntry } from '@standin/exchange';
import { contentCodings, decodeContent } from '@standin/exchange/decode';
import { decodeUtf8 } from '@standin/exchange/formats';

/** `spec.json`, or the part of a response with conditions that is returned. Only the latter can have `bodyBase64`. */
export interface MockSpec {
  readonly status: number;
  readonly headers?: readonly { readonly name: string; readonly value: string }[];
  readonly body?: string;
  readonly bodyBase64?: string;
}

/** What the mock becomes: `spec.json`, or a response with conditions. */
export type MockPlace = 'json' | 'response';

export type MockOfResponse =
  | {
      readonly ok: true;
      readonly mock: MockSpec;
      /** Unique names of the response headers that the mock omits. */
      readonly dropped: readonly string[];
      /** Content codings that were removed from the body, such as `gzip`. */
      readonly decoded: readonly string[];
      /** The content type that was added, because the response has none and is not JSON. Undefined if none was added. */
      readonly addedType: string | undefined;
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

const kilobytes = (bytes: number): string => `${Math.ceil(bytes / 1_000).toLocaleString('en')} kB`;

const refuse = (reason: string): MockOfResponse => ({ ok: false, reason });

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

type Bytes = { readonly bytes: Uint8Array } | { readonly reason: string };

const mockableBytes = ({ response }: LogEntry): Bytes => {
  const { headers, truncated, bodyBytes } = response;
  const max = kilobytes(LIMITS.mockBodyBytesMax);
  if (truncated)
    return {
      reason: `A mock needs the whole response, but only part of this response is stored. Its full size is ${kilobytes(bodyBytes)}`,
    };
  const codings = contentCodings(headers);
  const content = decodeContent(codings, bodyAsBuffer(response), LIMITS.mockBodyBytesMax);
  if (content.kind !== 'decoded')
    return {
      reason: `This response is compressed (${codings.join(', ')}) and cannot be decompressed within the limit of ${max}`,
    };
  const { bytes } = content;
  if (bytes.length > LIMITS.mockBodyBytesMax)
    return { reason: `A mock body must not exceed ${max}, but the body of this response is larger` };
  return { bytes };
};

type Body =
  (Pick<MockSpec, 'body' | 'bodyBase64'> & { readonly addedType: string | undefined }) | { readonly reason: string };

/** @param type the content type of the response. Undefined if it has none */
const toMockBody = (bytes: Uint8Array, type: string | undefined, place: MockPlace): Body => {
  const text = decodeUtf8(bytes);
  const isJson = text !== undefined && (text === '' || isJsonText(text));
  // A mock whose content type is JSON must be a JSON document.
  if (!isJson && type !== undefined && JSON_TYPE.test(type))
    return { reason: `This response is not a JSON document, but its content type is ${type}` };
  if (text === undefined) {
    if (place === 'json')
      return {
        reason: `This response is binary, and the mock can only be text. Add a response instead. The content type is ${type ?? 'missing'}`,
      };
    const bodyBase64 = Buffer.from(bytes).toString('base64');
    return { bodyBase64, addedType: type === undefined ? 'application/octet-stream' : undefined };
  }
  return { body: text, addedType: isJson || type !== undefined ? undefined : 'text/plain; charset=utf-8' };
};

const JSON_TYPE = /^[^;]*[/+]json[ \t]*(;|$)/i;

const isJsonText = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** Explains why a response cannot be a mock, regardless of its content. Returns undefined if it can be one. */
export const unmockableReason = ({ method, response, outcome, upstreamError }: LogEntry): string | undefined => {
  if (method === 'HEAD') return 'A response to HEAD has no body: use the response to a GET.';
  if (outcome === 'caller_gone') return 'The caller disconnected before the response was complete.';
  if (outcome === 'in_progress') return 'This request is in progress.';
  if (response.status === 0) return 'No response to this request was recorded.';
  if (outcome === 'exchange_timeout') return 'The gateway ended this exchange, because it took too long.';
  if (outcome === 'template_failed') return 'This response is an error, because a template could not be rendered.';
  if (outcome !== 'forwarded' && outcome !== 'mocked' && outcome !== 'fallback')
    return `The upstream did not return a complete response${upstreamError === '' ? '.' : `: ${upstreamError}`}`;
  if (response.status < 200 || response.status > 599)
    return `A mock needs a status from 200 to 599, but this response has ${response.status}.`;
  return undefined;
};

/**
 * Converts a captured response to a mock with the same status, headers and body. Decompresses the body. Omits hop-by-hop headers,
 * headers in `WRITTEN_BY_GATEWAY`, repeated content types, and headers that exceed the limits. Returns the reason if the response
 * cannot be a mock.
 */
export const mockOfResponse = (entry: LogEntry, place: MockPlace): MockOfResponse => {
  const { response } = entry;
  const refusal = unmockableReason(entry);
  if (refusal !== undefined) return refuse(refusal);
  const stored = mockableBytes(entry);
  if ('reason' in stored) return refuse(`${stored.reason}.`);
  const isBodyless = BODYLESS_STATUSES.has(response.status);
  const possible = mockHeaders(response.headers);
  const type = possible.find(([name]) => name.toLowerCase() === 'content-type')?.[1];
  const body = isBodyless ? { addedType: undefined } : toMockBody(stored.bytes, type, place);
  if ('reason' in body) return refuse(`${body.reason}.`);
  const { addedType, ...content } = body;
  const max = place === 'json' ? LIMITS.mockHeadersMax : LIMITS.responseHeadersMax;
  const headers: readonly HeaderPair[] = [
    ...(addedType === undefined ? [] : [['content-type', addedType] as const]),
    ...withinLimit(possible, addedType === undefined ? max : max - 1),
  ];
  const kept = new Set(headers.map(([name]) => name.toLowerCase()));
  const dropped = new Set(response.headers.map(([name]) => name.toLowerCase()).filter((name) => !kept.has(name)));
  return {
    ok: true,
    mock: {
      status: response.status,
      ...(headers.length > 0 && { headers: headers.map(([name, value]) => ({ name, value })) }),
      ...content,
    },
    dropped: [...dropped],
    decoded: contentCodings(response.headers),
    addedType,
  };
};

/** Returns the first headers, and the content type in any case, because it decides how the body is read. */
const withinLimit = (headers: readonly HeaderPair[], max: number): readonly HeaderPair[] => {
  const typeAt = headers.findIndex(([name]) => name.toLowerCase() === 'content-type');
  return headers.filter((_, index) => index === typeAt || index < (typeAt >= max ? max - 1 : max));
};
