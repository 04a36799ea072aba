import { REJECTED_HEADER, type HeaderPair } from '@standin/contract';
import { stripHopByHop } from '@standin/egress';
import type { RequestHead } from '../request/request-head.ts';

const isNamed = (name: string, wanted: string): boolean =>
  name.length === wanted.length && name.toLowerCase() === wanted;

interface UpstreamHeadersOptions {
  /** The headers that are not passed on, in lowercase. */
  readonly secretHeaders?: readonly string[] | undefined;
  /** The part of the caller's path that the upstream's path lacks. */
  readonly prefix: string;
}

/**
 * Returns the headers for the upstream, which are the caller's headers with their order and case, without the key and secrets, and with
 * `x-forwarded-for`, `x-forwarded-host`, `x-forwarded-proto` and `x-forwarded-prefix`. Keeps what a proxy has set, because the proxy
 * received the caller's original request. `egress` removes hop-by-hop headers, `host` and framing.
 */
export const upstreamHeaders = (
  head: RequestHead,
  peerAddress: string,
  { secretHeaders = [], prefix }: UpstreamHeadersOptions,
): HeaderPair[] => {
  const kept: HeaderPair[] = [];
  const forwardedFor: string[] = [];
  let prefixes = '';
  let hasHost = false;
  let hasProto = false;
  for (const [index, header] of head.headers.entries()) {
    const [name, value] = header;
    if (index === head.keyIndex || secretHeaders.some((secret) => isNamed(name, secret))) continue;
    if (isNamed(name, 'x-forwarded-for')) {
      if (value !== '') forwardedFor.push(value);
      continue;
    }
    if (isNamed(name, 'x-forwarded-prefix')) {
      prefixes += value.replace(/\/$/, '');
      continue;
    }
    if (isNamed(name, 'x-forwarded-host')) hasHost = true;
    if (isNamed(name, 'x-forwarded-proto')) hasProto = true;
    kept.push(header);
  }
  // The gateway adds its headers after this step, so that a caller cannot remove them by naming them in `Connection`.
  const forwarded = stripHopByHop(kept);
  forwarded.push(['x-forwarded-for', [...forwardedFor, peerAddress].join(', ')]);
  if (!hasHost) forwarded.push(['x-forwarded-host', head.host]);
  if (!hasProto) forwarded.push(['x-forwarded-proto', 'http']);
  forwarded.push(['x-forwarded-prefix', prefixes + prefix]);
  return forwarded;
};

/** The framing of the response body sent to the caller. */
export interface Framing {
  /** Undefined if the response is chunked. */
  readonly contentLength: number | undefined;
  readonly headers: readonly HeaderPair[];
}

/** Returns the length if it is valid, even if it is repeated (RFC 9110 section 8.6), and undefined otherwise. */
const parseContentLength = (values: readonly string[]): number | undefined => {
  const members = new Set(values.flatMap((value) => value.split(',')).map((member) => member.trim()));
  const [only = ''] = members;
  return members.size === 1 && /^\d{1,15}$/.test(only) ? Number(only) : undefined;
};

/**
 * Returns the response headers or trailers that an upstream may send to a caller, without those that concern the connection,
 * framing or a rejection.
 */
const withoutOurs = (lines: readonly HeaderPair[]): HeaderPair[] =>
  stripHopByHop(lines).filter(([name]) => !isNamed(name, 'content-length') && !isNamed(name, REJECTED_HEADER));

/**
 * Returns the framing and the headers of the response to the caller, or undefined if the upstream's Content-Length is invalid or
 * ambiguous.
 */
export const frameResponse = (status: number, headers: readonly HeaderPair[], date: string): Framing | undefined => {
  const lengths = headers.filter(([name]) => isNamed(name, 'content-length')).map(([, value]) => value);
  const isChunked = headers.some(([name]) => isNamed(name, 'transfer-encoding'));
  const contentLength = lengths.length === 0 || isChunked ? undefined : parseContentLength(lengths);
  if (lengths.length > 0 && !isChunked && contentLength === undefined) return undefined;
  const kept = withoutOurs(headers);
  // RFC 9110 section 8.6: a 204 response has no length, and a 304 response has the length that a 200 response would have had.
  if (contentLength !== undefined && status !== 204) kept.push(['content-length', String(contentLength)]);
  if (!kept.some(([name]) => isNamed(name, 'date'))) kept.push(['date', date]);
  return { contentLength: status === 204 || status === 304 ? 0 : contentLength, headers: kept };
};

export const acceptsTrailers = ({ headers }: RequestHead): boolean =>
  headers.some(([name, value]) => isNamed(name, 'te') && /(^|,)\s*trailers\s*(,|$)/i.test(value));

/**
 * Removes the trailers that would also be removed from the head, including those that the `Connection` header names, and `host`
 * (RFC 9110 section 6.5.1).
 *
 * @param headers of the same response
 */
export const passableTrailers = (trailers: readonly HeaderPair[], headers: readonly HeaderPair[]): HeaderPair[] => {
  const connection = headers.filter(([name]) => isNamed(name, 'connection'));
  return withoutOurs([...connection, ...trailers]).filter(([name]) => !isNamed(name, 'host'));
};
