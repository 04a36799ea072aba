import type { LogEntry } from '@standin/exchange';
import type { LogCursor } from '@standin/logstore';
import type { LineEntry } from './format-entry.ts';

/** The fields that a list of captured requests needs. */
export type Listed = LineEntry & LogCursor;

interface Listing {
  /** Newest first. */
  readonly listed: readonly Listed[];
  /** Yields the first `count` listed requests as full entries, oldest first. Omits requests that have expired in the meantime. */
  entries(count: number): AsyncIterable<LogEntry>;
}

/** The source from which `standin logs` and `standin tail` read the selected requests: a log store, or a dashboard's API. */
export interface LogReader {
  newest(limit: number): Promise<Listing>;
  /** Yields all full entries, oldest first. Ends at the newest one, which may have arrived after the call. */
  all(): AsyncIterable<LogEntry>;
  /**
   * Yields each request that was received since a time in microseconds since the epoch, and then each new one, once, until `signal`
   * aborts. Yields a request that was in progress again when it has ended.
   */
  followLines(sinceUs: number, signal: AbortSignal): AsyncIterable<Listed>;
  followEntries(sinceUs: number, signal: AbortSignal): AsyncIterable<LogEntry>;
  /**
   * Rejects with a `PlainError` if the project or the endpoint is known not to exist, and the log has no requests to a former one
   * with that name.
   */
  checkNames(): Promise<void>;
  close(): Promise<void>;
}
