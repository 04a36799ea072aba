import { readTarget, type HeaderPair } from '@standin/contract';
import type { LogEntry } from '../log-entry.ts';
import { headerValue, requestBaseUrl } from './snippet.ts';
import type { SnippetOptions } from './snippet.ts';
import { wireLength } from './wire-bytes.ts';

/**
 * HTTP Archive 1.2, http://www.softwareishard.com/blog/har-12-spec/ . Names that begin with `_` are extensions, which the format
 * allows.
 */
export interface Har {
  readonly log: {
    readonly version: '1.2';
    readonly creator: { readonly name: string; readonly version: string };
    readonly entries: readonly HarEntry[];
  };
}

export interface HarPair {
  readonly name: string;
  readonly value: string;
}

interface HarMessage {
  readonly httpVersion: string;
  readonly cookies: readonly HarPair[];
  readonly headers: readonly HarPair[];
  readonly headersSize: number;
  readonly bodySize: number;
  readonly comment?: string;
}

export interface HarEntry {
  readonly startedDateTime: string;
  /** The sum of `timings`. Both are in milliseconds. */
  readonly time: number;
  readonly request: HarMessage & {
    readonly method: string;
    readonly url: string;
    readonly queryString: readonly HarPair[];
    readonly postData?: {
      readonly mimeType: string;
      readonly text: string;
      /** An extension, because HAR itself has no encoding for request bodies. */
      readonly _encoding?: 'base64';
      readonly comment?: string;
    };
  };
  readonly response: HarMessage & {
    readonly status: number;
    readonly statusText: string;
    readonly redirectURL: string;
    readonly content: {
      readonly size: number;
      readonly mimeType: string;
      readonly text?: string;
      readonly encoding?: 'base64';
      readonly comment?: string;
    };
  };
  readonly cache: Readonly<Record<string, never>>;
  readonly timings: { readonly send: number; readonly wait: number; readonly receive: number };
  readonly comment?: string;
  readonly _id: string;
  readonly _endpoint: string;
  readonly _outcome: string;
  readonly _responseName?: string;
  readonly _delayMs?: number;
  readonly _upstreamUrl?: string;
  readonly _upstreamError?: string;
  readonly _templateError?: string;
  readonly _deliveryId?: string;
}

const UNKNOWN_SIZE = -1;

const harHeaders = (headers: readonly HeaderPair[]): readonly HarPair[] =>
  headers.map(([name, value]) => ({ name, value }));

const splitPair = (text: string): HarPair => {
  const equals = text.indexOf('=');
  return equals === -1 ? { name: text, value: '' } : { name: text.slice(0, equals), value: text.slice(equals + 1) };
};

const harCookies = (headers: readonly HeaderPair[], name: 'cookie' | 'set-cookie'): readonly HarPair[] =>
  headers
    .filter(([known]) => known.toLowerCase() === name)
    .flatMap(([, value]) => (name === 'cookie' ? value.split(';') : value.split(';', 1)))
    .map((text) => splitPair(text.trim()))
    .filter((cookie) => cookie.name !== '');

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
};
const harQuery = (query: string): readonly HarPair[] =>
  query
    .split('&')
    .filter((text) => text !== '')
    .map(splitPair)
    .map(({ name, value }) => ({ name: decode(name), value: decode(value) }));

const trailersComment = (trailers: readonly HeaderPair[]): { readonly comment?: string } =>
  trailers.length === 0
    ? {}
    : { comment: `Trailers: ${trailers.map(([name, value]) => `${name}: ${value}`).join(', ')}` };

const harRequest = (entry: LogEntry, options: SnippetOptions): HarEntry['request'] => {
  const { method, query, request } = entry;
  const mimeType = headerValue(request.headers, 'content-type') ?? '';
  const isBinary = request.bodyEncoding === 'base64';
  return {
    method,
    url: requestBaseUrl(entry, options) + readTarget(request.target).originForm,
    httpVersion: `HTTP/${request.httpVersion}`,
    cookies: harCookies(request.headers, 'cookie'),
    headers: harHeaders(request.headers),
    queryString: harQuery(query),
    ...(request.body !== '' && {
      postData: {
        mimeType,
        text: request.body,
        ...(isBinary && { _encoding: 'base64', comment: 'The body is not UTF-8, so its text is base64.' }),
      },
    }),
    headersSize: UNKNOWN_SIZE,
    bodySize: wireLength(request),
    ...trailersComment(request.trailers),
  };
};

const harResponse = ({ status, request, response }: LogEntry): HarEntry['response'] => {
  const { headers, body, bodyEncoding, bodyBytes, truncated, trailers } = response;
  return {
    status,
    statusText: '',
    httpVersion: `HTTP/${request.httpVersion}`,
    cookies: harCookies(headers, 'set-cookie'),
    headers: harHeaders(headers),
    redirectURL: headerValue(headers, 'location') ?? '',
    headersSize: UNKNOWN_SIZE,
    bodySize: bodyBytes,
    content: {
      size: bodyBytes,
      mimeType: headerValue(headers, 'content-type') ?? '',
      ...(body !== '' && { text: body, ...(bodyEncoding === 'base64' && { encoding: 'base64' }) }),
      ...(truncated && { comment: `Captured ${wireLength(response)} of ${bodyBytes} bytes.` }),
    },
    ...trailersComment(trailers),
  };
};

/**
 * Converts a log entry to a HAR entry. The characters in headers are bytes (latin1), as in `LogEntry`. The value of x-api-key is
 * the key's fingerprint.
 */
export const harEntry = (entry: LogEntry, options: SnippetOptions = {}): HarEntry => {
  const { durationMs, requestMs, upstreamFirstByteMs, upstreamUrl, upstreamError, status } = entry;
  const { responseName, delayMs, templateError, deliveryId } = entry;
  const send = Math.min(requestMs, durationMs);
  const rest = durationMs - send;
  const wait = upstreamFirstByteMs > 0 ? Math.min(upstreamFirstByteMs, rest) : rest;
  return {
    startedDateTime: entry.receivedAt,
    time: durationMs,
    request: harRequest(entry, options),
    response: harResponse(entry),
    cache: {},
    timings: { send, wait, receive: rest - wait },
    ...(status === 0 && {
      comment: entry.outcome === 'in_progress' ? 'The request is in progress.' : 'No response was recorded.',
    }),
    _id: entry.id,
    _endpoint: `${entry.namespace}/${entry.endpoint}`,
    _outcome: entry.outcome,
    ...(responseName !== '' && { _responseName: responseName }),
    ...(delayMs > 0 && { _delayMs: delayMs }),
    ...(upstreamUrl !== '' && { _upstreamUrl: upstreamUrl }),
    ...(upstreamError !== '' && { _upstreamError: upstreamError }),
    ...(templateError !== '' && { _templateError: templateError }),
    ...(deliveryId !== '' && { _deliveryId: deliveryId }),
  };
};

const VERSION = '0.1.0';

export const har = (entries: readonly HarEntry[]): Har => ({
  log: { version: '1.2', creator: { name: 'Standin', version: VERSION }, entries },
});

const ENTRIES = '"entries":[';
const empty = JSON.stringify(har([]));
/**
 * For a file that is too large for memory, write `HAR_BEGIN`, then the entries as JSON with commas between them, and then
 * `HAR_END`.
 */
export const HAR_BEGIN = empty.slice(0, empty.indexOf(ENTRIES) + ENTRIES.length);
export const HAR_END = empty.slice(HAR_BEGIN.length);
