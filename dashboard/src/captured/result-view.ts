import { formatTime, type HeaderPair, type LogRow } from '@standin/contract';
import { bodyAsBuffer } from '@standin/exchange';
import { contentCodings, decodeContent } from '@standin/exchange/decode';
import { diffResponses } from '@standin/exchange/diff';
import type { ComparedResponse, ResponseDiff } from '@standin/exchange/response-diff';
import type { ReplayedExchange } from '@standin/logstore';

/** Maximum number of body bytes to show on the page. The diff does not have this limit. */
const SHOWN_BYTES_MAX = 64 * 1024;

/** The result of one replayed request, next to the captured request. */
export interface ResultView {
  readonly requestId: string;
  /** Undefined if the request is no longer stored. */
  readonly captured: { readonly method: string; readonly path: string; readonly receivedAt: string } | undefined;
  readonly sentAt: string;
  readonly method: string;
  readonly url: string;
  /** As sent, without the API key's value, in latin1. */
  readonly sentHeaders: readonly HeaderPair[];
  /** 0 if there was no response. `error` has the reason. */
  readonly status: number;
  readonly durationMs: number;
  readonly error: string;
  readonly headers: readonly HeaderPair[];
  /** Beginning of the body as text. Undefined if it is not text. */
  readonly bodyText: string | undefined;
  readonly bodyBytes: number;
  readonly isCut: boolean;
  /** Undefined if the captured or the new response is missing. */
  readonly diff: ResponseDiff | undefined;
}

const decodedText = (
  headers: readonly HeaderPair[],
  body: Uint8Array,
): { text: string; isCut: boolean } | undefined => {
  const content = decodeContent(contentCodings(headers), body, SHOWN_BYTES_MAX * 16);
  const decoded = content.kind === 'decoded' ? content.bytes : body;
  const isCut = decoded.length > SHOWN_BYTES_MAX;
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  try {
    // Truncation may split a character. `stream` omits the bytes of that character.
    return { text: utf8.decode(decoded.subarray(0, SHOWN_BYTES_MAX), { stream: isCut }), isCut };
  } catch {
    return undefined;
  }
};

const ofLog = (row: LogRow): ComparedResponse => ({
  status: row.status,
  durationMs: row.durationUs / 1_000,
  headers: row.responseHeaders,
  body: row.responseBody,
  truncated: row.responseTruncated,
  bodyBytes: row.responseBodyBytes,
});

const ofReplay = ({ response, durationMs }: ReplayedExchange, body: Uint8Array): ComparedResponse => ({
  status: response.status,
  durationMs,
  headers: response.headers,
  body,
  truncated: response.truncated,
  bodyBytes: response.bodyBytes,
});

/** Returns the view of a result, with the captured exchange if it is still stored. */
export const resultView = (row: LogRow | undefined, answer: ReplayedExchange): ResultView => {
  const { requestId, sentAt, method, url, status, durationMs, error, request, response } = answer;
  const body = bodyAsBuffer(response);
  const shown = decodedText(response.headers, body);
  return {
    requestId,
    sentAt,
    method,
    url,
    status,
    durationMs,
    error,
    captured: row && {
      method: row.method,
      path: `${row.path}${row.query === '' ? '' : `?${row.query}`}`,
      receivedAt: formatTime(row.receivedAtUs),
    },
    sentHeaders: request.headers,
    headers: response.headers,
    bodyText: shown?.text,
    bodyBytes: response.bodyBytes,
    isCut: response.truncated || (shown?.isCut ?? false),
    diff:
      row !== undefined && row.status > 0 && status > 0 ? diffResponses(ofLog(row), ofReplay(answer, body)) : undefined,
  };
};
