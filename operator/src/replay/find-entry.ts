import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '@standin/kube';
import type { LogEntry } from '@standin/exchange';
import type { LogStore } from '@standin/logstore';

export interface FindOptions {
  readonly store: Pick<LogStore, 'get'>;
  readonly projectUid: string;
  readonly clock: Clock;
  /** Repeats work that needs the log store until the store is available. */
  readonly retry: <T>(work: () => Promise<T>) => Promise<T>;
  readonly signal: AbortSignal;
}

/** A row is visible 1.5 s after its request (p95). */
const APPEARS_MS_MAX = 5_000;
const APPEARS_POLL_MS = 200;
const RECENT_MS = 60_000;

/** Whether a UUIDv7 was created within the last minute. */
const isRecent = (id: string, now: Date): boolean =>
  now.getTime() - Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) < RECENT_MS;

/** An entry of this project. Waits for a recent entry, which may not be visible yet. Rejects when `signal` aborts. */
export const findEntry = async (id: string, options: FindOptions): Promise<LogEntry | undefined> => {
  const { store, projectUid, clock, retry, signal } = options;
  const deadline = clock.now() + (isRecent(id, clock.date()) ? APPEARS_MS_MAX : 0);
  for (;;) {
    const entry = await retry(() => store.get(id));
    if (entry?.projectUid === projectUid) return entry;
    if (entry !== undefined || clock.now() > deadline) return undefined;
    await delay(APPEARS_POLL_MS, undefined, { signal });
  }
};
