import type { HeaderPair, Method, Outcome } from '@standin/contract';
import type { LogEntry } from '@standin/logstore';
import {
  redact,
  REDACTED_BODY_CHARS_MAX,
  type HiddenField,
  type RedactedBody,
  type RedactionRules,
} from '@standin/logstore/redact';
import { formatJson } from '../app/exchange/format-json.ts';

/** All that the holder of a link gets to know: neither where it was captured, nor from whom, nor where it was sent on to. */
export interface SharedExchange {
  readonly id: string;
  readonly receivedAt: string;
  readonly method: Method;
  /** latin1: path and query, without the project's URI. */
  readonly target: string;
  readonly httpVersion: string;
  readonly status: number;
  readonly outcome: Outcome;
  readonly durationMs: number;
  readonly request: SharedMessage;
  readonly response: SharedMessage;
  /** What was taken out, by name. */
  readonly hidden: readonly HiddenField[];
}

export interface SharedMessage {
  /** latin1, in wire order. */
  readonly headers: readonly HeaderPair[];
  readonly trailers: readonly HeaderPair[];
  /** JSON with line breaks and indentation. */
  readonly body: string;
  /** True size of the body, before anything was taken out of it. */
  readonly bytes: number;
  readonly state: RedactedBody;
}

/** Twice what is shown of a body: the rest is whitespace, which nesting can make as much of as it likes. */
const FORMATTED_CHARS_MAX = 2 * REDACTED_BODY_CHARS_MAX;

const shownBody = (body: string): string => {
  const formatted = /^\s*[[{]/.test(body) ? formatJson(body) : undefined;
  return formatted === undefined || formatted.length > FORMATTED_CHARS_MAX ? body : formatted;
};

/** What a Share with these rules shows of an entry: the preview and the public page both come from here. */
export const sharedExchange = (entry: LogEntry, rules: RedactionRules): SharedExchange => {
  const { entry: shown, hidden, request, response } = redact(entry, rules);
  return {
    id: entry.id,
    receivedAt: entry.receivedAt,
    method: entry.method,
    target: shown.query === '' ? shown.path : `${shown.path}?${shown.query}`,
    httpVersion: shown.request.httpVersion,
    status: entry.status,
    outcome: entry.outcome,
    durationMs: entry.durationMs,
    request: {
      headers: shown.request.headers,
      trailers: shown.request.trailers,
      body: shownBody(shown.request.body),
      bytes: Buffer.byteLength(entry.request.body, entry.request.bodyEncoding),
      state: request,
    },
    response: {
      headers: shown.response.headers,
      trailers: shown.response.trailers,
      body: shownBody(shown.response.body),
      bytes: entry.response.bodyBytes,
      state: response,
    },
    hidden,
  };
};
