import { randomUUID } from 'node:crypto';

/**
 * How readers of the embedded engine learn of inserts without asking for them: every answer has the mark of the inserts before it, and a
 * request to `INSERTS_PATH` with `?after=MARK` is answered when another insert has ended. ClickHouse has nothing like it.
 */
export const INSERT_MARK_HEADER = 'x-standin-insert-mark';
export const INSERTS_PATH = '/inserts';
/** A wait is answered after this time, insert or not: who hears nothing for much longer knows that the engine hangs. */
export const INSERT_WAIT_MS = 4_000;

/** Requests that wait at the same time. Each open page and each `standin tail` has one. */
const WAITING_MAX = 500;

export interface InsertCounter {
  /** Names the inserts so far, and the process: a mark of another process is never the current one. */
  mark(): string;
  /** An insert has ended, well or not. */
  count(): void;
  /** Calls back once the mark is another one; returns how to end the wait. `undefined`: too many wait. */
  whenPast(mark: string, callback: () => void): (() => void) | undefined;
  /** Calls everyone back, now and from now on. */
  close(): void;
}

export const createInsertCounter = (): InsertCounter => {
  const run = randomUUID();
  const waiting = new Set<() => void>();
  let inserts = 0;
  let isClosed = false;
  const mark = (): string => `${run}-${inserts}`;
  const callAll = (): void => {
    const all = [...waiting];
    waiting.clear();
    for (const callback of all) callback();
  };
  return {
    mark,
    count: () => {
      inserts += 1;
      callAll();
    },
    whenPast: (known, callback) => {
      if (isClosed || known !== mark()) {
        callback();
        return () => undefined;
      }
      if (waiting.size >= WAITING_MAX) return undefined;
      waiting.add(callback);
      return () => void waiting.delete(callback);
    },
    close: () => {
      isClosed = true;
      callAll();
    },
  };
};
