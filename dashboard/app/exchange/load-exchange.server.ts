import type { LogEntry } from '@standin/logstore';
import type { ProjectLog } from '../../src/backend.ts';
import { BODY_SHOWN_BYTES_MAX, headerValue, type BodyView, type ExchangeView } from './exchange-view.ts';

type Message = Pick<LogEntry['request'], 'headers' | 'body' | 'bodyEncoding'>;

/** A UTF-8 character's bytes after its first are 10xxxxxx: the cut goes before the one that it would split. */
const characterStart = (bytes: Buffer, at: number): number => {
  let start = at;
  while (start > 0 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1;
  return start;
};

const beginningOf = ({ body, bodyEncoding }: Message): { body: string; bytesCaptured: number; bytesShown: number } => {
  const bytesCaptured = Buffer.byteLength(body, bodyEncoding);
  if (bytesCaptured <= BODY_SHOWN_BYTES_MAX) return { body, bytesCaptured, bytesShown: bytesCaptured };
  // A character is at least one byte, or three quarters of one: these are enough, and few.
  const bytes = Buffer.from(body.slice(0, BODY_SHOWN_BYTES_MAX * 2), bodyEncoding);
  const bytesShown =
    bodyEncoding === 'utf8'
      ? characterStart(bytes, BODY_SHOWN_BYTES_MAX)
      : Math.min(bytes.length, BODY_SHOWN_BYTES_MAX);
  return { body: bytes.toString(bodyEncoding, 0, bytesShown), bytesCaptured, bytesShown };
};

const bodyView = (message: Message, bytes?: number): BodyView => {
  const { body, bytesCaptured, bytesShown } = beginningOf(message);
  return {
    contentType: headerValue(message.headers, 'content-type') ?? '',
    body,
    bodyEncoding: message.bodyEncoding,
    bytes: bytes ?? bytesCaptured,
    bytesCaptured,
    bytesShown,
  };
};

/** Cuts the bodies to what a page shows of them. */
export const toExchangeView = ({ request, response, ...entry }: LogEntry): ExchangeView => ({
  ...entry,
  request: {
    target: request.target,
    httpVersion: request.httpVersion,
    headers: request.headers,
    trailers: request.trailers,
    body: bodyView(request),
  },
  response: {
    headers: response.headers,
    trailers: response.trailers,
    body: bodyView(response, response.bodyBytes),
  },
});

/** `undefined` where the project's log has no such entry: it never had, or it expired. Rejects with a `LogStoreError`. */
export const loadExchange = async (log: Pick<ProjectLog, 'get'>, id: string): Promise<ExchangeView | undefined> => {
  const entry = await log.get(id);
  return entry && toExchangeView(entry);
};
