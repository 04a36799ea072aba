import type { LogEntry } from '@standin/exchange';
import type { LogCursor } from '@standin/logstore';
import { stderr } from '../terminal.ts';
import type { LineEntry } from './format-entry.ts';

/** The fields that a list of captured requests needs. */
export type Listed = LineEntry & LogCursor;

interface Listing {
  /** Newest first. */
  readonly listed: readonly Listed[];
  /** Yields the first `count` of them as full entries, oldest first. Omits those that have expired in the meantime. */
  entries(count: number): AsyncIterable<LogEntry>;
}

/** Where `standin logs` and `standin tail` read the selected requests: a log store, or the API of a dashboard. */
export interface LogReader {
  newest(limit: number): Promise<Listing>;
  /** Yields requests received since a time and all later ones, each once, until `signal` aborts. */
  followLines(since: Date, signal: AbortSignal): AsyncIterable<Listed>;
  followEntries(since: Date, signal: AbortSignal): AsyncIterable<LogEntry>;
  /**
   * Rejects with a `PlainError` if the project is known not to exist, and the log has no requests from a former project with that
   * name.
   */
  checkProject(): Promise<void>;
  close(): Promise<void>;
}

/** Reports an outage once, and repeats the report while it lasts. */
const NOTICE_INTERVAL_MS = 30_000;

export const outageNotice = (): ((error: unknown) => void) => {
  let saidAt = -Infinity;
  return (error) => {
    if (performance.now() - saidAt < NOTICE_INTERVAL_MS) return;
    saidAt = performance.now();
    stderr.line(`standin: ${(error as Error).message}; trying again`);
  };
};
