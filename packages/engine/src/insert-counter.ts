import { randomUUID } from 'node:crypto';

/** The maximum number of concurrent waits. A process has one wait for each project whose log it follows, such as for open pages. */
const WAITING_MAX = 500;

/** Notifies readers of the embedded engine of inserts (see `INSERTS_PATH`). */
export interface InsertCounter {
  /** Identifies this process and its inserts so far. The mark of another process is never the current one. */
  mark(): string;
  /** Records that an insert has ended, successfully or not. */
  count(): void;
  /** Calls back when the mark has changed. Returns a function that ends the wait, or `undefined` if too many are waiting. */
  whenPast(mark: string, callback: () => void): (() => void) | undefined;
  /** Calls back all waiting readers immediately, and later ones as soon as they wait. */
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
