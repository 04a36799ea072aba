import type { HeaderPair, RequestMethod, Outcome } from '@standin/contract';
import type { LogEntry } from '@standin/exchange';
import {
  redact,
  REDACTED_BODY_CHARS_MAX,
  type HiddenField,
  type RedactedBody,
  type RedactionRules,
} from '@standin/exchange/redact';
import { formatJson } from './format-json.ts';

/**
 * Everything that a shared link reveals. It omits where the request was captured, who sent it, and where it was
 * forwarded.
 */
export interface SharedExchange {
  readonly id: string;
  readonly receivedAt: string;
  readonly method: RequestMethod;
  /** Path and query without the project URI, in latin1. */
  readonly target: string;
  readonly httpVersion: string;
  readonly status: number;
  readonly outcome: Outcome;
  readonly durationMs: number;
  readonly request: SharedMessage;
  readonly response: SharedMessage;
  /** Names of the removed values. */
  readonly hidden: readonly HiddenField[];
}

export interface SharedMessage {
  /** In latin1 and wire order. */
  readonly headers: readonly HeaderPair[];
  readonly trailers: readonly HeaderPair[];
  /** The redacted body. If it is JSON, it has line breaks and indentation. */
  readonly body: string;
  /** Full size of the body before redaction. */
  readonly bytes: number;
  readonly state: RedactedBody;
}

/**
 * The maximum length of a formatted body. Half of it is left for indentation, which deep nesting could otherwise increase without
 * limit.
 */
const FORMATTED_CHARS_MAX = 2 * REDACTED_BODY_CHARS_MAX;

const shownBody = (body: string): string => {
  const formatted = /^\s*[[{]/.test(body) ? formatJson(body) : undefined;
  return formatted === undefined || formatted.length > FORMATTED_CHARS_MAX ? body : formatted;
};

/** Returns what a Share with these rules shows of an entry. The preview and the public page both use it. */
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
