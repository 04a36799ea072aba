import type { HeaderPair } from '@standin/contract';
import type { LogEntry, TextStart } from '@standin/exchange';
import type { EncodedBody } from '@standin/exchange/formats';

/** The maximum number of bytes of a body on a page. Users can download the whole captured body. */
export const BODY_SHOWN_BYTES_MAX = 256 * 1024;

export const BODY_PARTS = ['request', 'response'] as const;
/** One side of an exchange. */
export type BodyPart = (typeof BODY_PARTS)[number];

/** The beginning of a body. UTF-8 text is never cut within a character. */
export interface BodyView extends EncodedBody {
  /** The Content-Type header as sent. Empty if it was missing. */
  readonly contentType: string;
  /** The size of the whole body, in bytes. */
  readonly bytes: number;
  /** The number of bytes in the log. Less than `bytes` if the capture was truncated. */
  readonly bytesCaptured: number;
  /** The number of bytes that `body` encodes. Less than `bytesCaptured` if more than `BODY_SHOWN_BYTES_MAX` bytes were captured. */
  readonly bytesShown: number;
  /** The body without its content codings and in UTF-8. Undefined if this is the body itself, or if there is no such text. */
  readonly decoded?: TextStart | undefined;
}

interface MessageView {
  /** The headers in latin1, as in `LogEntry`. */
  readonly headers: readonly HeaderPair[];
  readonly trailers: readonly HeaderPair[];
  readonly body: BodyView;
}

interface RequestView extends MessageView {
  /** The request target in latin1, as received. */
  readonly target: string;
  readonly httpVersion: string;
}

/** One exchange, as its panel and its page show it. This is a log entry that contains only the beginning of each body. */
export interface ExchangeView extends Omit<LogEntry, 'request' | 'response'> {
  readonly request: RequestView;
  readonly response: MessageView;
  /** The deliveries with the same id that this endpoint accepted before. Undefined if there are none, or there is no id. */
  readonly earlier: { readonly count: number; readonly first: Pick<LogEntry, 'id' | 'receivedAt'> } | undefined;
  /** Whether the response can be saved as a mock, as far as this can be determined without its bytes. */
  readonly canBeMock: boolean;
}

/** Returns the value of the first header with this name, which must be in lower case. The headers may have any case. */
export const headerValue = (headers: readonly HeaderPair[], name: string): string | undefined =>
  headers.find(([known]) => known.toLowerCase() === name)?.[1];
