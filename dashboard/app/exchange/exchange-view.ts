import type { HeaderPair } from '@standin/contract';
import type { LogEntry } from '@standin/exchange';
import type { EncodedBody } from '@standin/exchange/formats';

/** A page contains this much of each body. The rest is available as a download. */
export const BODY_SHOWN_BYTES_MAX = 256 * 1024;

export const BODY_PARTS = ['request', 'response'] as const;
/** One side of an exchange. */
export type BodyPart = (typeof BODY_PARTS)[number];

/** The beginning of a body. UTF-8 text ends at the end of a character. */
export interface BodyView extends EncodedBody {
  /** As sent. Empty: there was none. */
  readonly contentType: string;
  /** Its true size. */
  readonly bytes: number;
  /** The bytes in the log: fewer than `bytes` if the capture was cut. */
  readonly bytesCaptured: number;
  /** The bytes in `body`: fewer than `bytesCaptured` if the body is long. */
  readonly bytesShown: number;
}

interface MessageView {
  /** latin1, as in `LogEntry`. */
  readonly headers: readonly HeaderPair[];
  readonly trailers: readonly HeaderPair[];
  readonly body: BodyView;
}

interface RequestView extends MessageView {
  /** latin1, as received. */
  readonly target: string;
  readonly httpVersion: string;
}

/** One exchange, as its panel and its page show it: a log entry with the beginnings of its bodies. */
export interface ExchangeView extends Omit<LogEntry, 'request' | 'response'> {
  readonly request: RequestView;
  readonly response: MessageView;
}

/** The value of the first header with this name, in any case. */
export const headerValue = (headers: readonly HeaderPair[], name: string): string | undefined =>
  headers.find(([known]) => known.toLowerCase() === name)?.[1];
