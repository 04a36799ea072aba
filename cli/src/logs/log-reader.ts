import type { LogCursor, LogEntry } from '@standin/logstore';
import { stderr } from '../terminal.ts';
import type { LineEntry } from './format-entry.ts';

/** What is needed of a captured request to list it. */
export type Listed = LineEntry & LogCursor;

interface Listing {
  /** The newest first. */
  readonly listed: readonly Listed[];
  /** The first `count` of them as whole entries, the oldest first; those that expired meanwhile are left out. */
  entries(count: number): AsyncIterable<LogEntry>;
}

/** Where `standin logs` and `standin tail` read what their options choose: a log store, or the API of a dashboard. */
export interface LogReader {
  newest(limit: number): Promise<Listing>;
  /** What was received from a time on and what comes, each once, until `signal` aborts. */
  followLines(since: Date, signal: AbortSignal): AsyncIterable<Listed>;
  followEntries(since: Date, signal: AbortSignal): AsyncIterable<LogEntry>;
  /** Rejects with a `PlainError` where it is known that there is no such project, nor a request of one that was. */
  checkProject(): Promise<void>;
  close(): Promise<void>;
}

/** An outage is said once, and again when it lasts. */
const NOTICE_INTERVAL_MS = 30_000;

export const outageNotice = (): ((error: unknown) => void) => {
  let saidAt = -Infinity;
  return (error) => {
    if (performance.now() - saidAt < NOTICE_INTERVAL_MS) return;
    saidAt = performance.now();
    stderr.line(`standin: ${(error as Error).message}; trying again`);
  };
};
