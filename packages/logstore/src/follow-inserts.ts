import { setTimeout as delay } from 'node:timers/promises';
import type { LogFilter } from './log-filter.ts';
import { LogStoreError } from './log-store-error.ts';
import type { Inserts, InsertsFilter } from './read-inserts.ts';

/** Tells one reader which rows are new to the log. */
export interface InsertFeed {
  /**
   * Milliseconds of `inserted_at` that have rows which the reader has not received, possibly among rows that it has. The first call
   * resolves with none, as soon as nothing later is missed; others once there are some, or the log answers again after a failure, or
   * the feed is closed. Rejects for each failed poll.
   */
  next(): Promise<readonly number[]>;
  close(): void;
}

export interface FollowOptions {
  readonly projectUid: LogFilter['projectUid'];
  /** Between two polls, at least. Of several readers of a project, the smallest counts. */
  readonly pollIntervalMs: number;
}

/** Where the pollers read. */
export interface InsertSource {
  read(filter: InsertsFilter): Promise<Inserts>;
  /** See `ClickHouse.nextInsert`. */
  next(mark: string, signal: AbortSignal): Promise<void>;
  /** `performance.now()`, but in tests. */
  readonly now?: () => number;
}

/**
 * An insert stamps its rows when it begins and shows them when it ends, and replicas lag and have clocks of their own. So each poll looks
 * back behind the newest insert, but hardly further than a minute: where nothing happens, nothing is read.
 */
const OVERLAP_MS = 3_000;
const QUIET_MS = 60_000;
/** Now and then a poll looks further back than an insert may take (the client gives up after 35 s) … */
const WIDE_OVERLAP_MS = 60_000;
const WIDE_EVERY_MS = 10_000;
/** … and than replicas may lag that are read from (ClickHouse's `max_replica_delay_for_distributed_queries`, 300 s). */
const WIDE_QUIET_MS = 600_000;
/** A poll takes some milliseconds; one that takes this long is reported as a failure, and still waited for. */
const SILENCE_MS = 5_000;

class Feed implements InsertFeed {
  readonly pollIntervalMs: number;
  readonly #onClose: (feed: Feed) => void;
  #stamps = new Set<number>();
  #failure: { readonly error: unknown } | undefined;
  /** There is something to resolve with, be it an empty list. */
  #isDue = false;
  #woken: PromiseWithResolvers<void> = Promise.withResolvers();

  constructor(pollIntervalMs: number, onClose: (feed: Feed) => void) {
    this.pollIntervalMs = pollIntervalMs;
    this.#onClose = onClose;
  }

  tell(stamps: Iterable<number>): void {
    for (const stamp of stamps) this.#stamps.add(stamp);
    this.#failure = undefined;
    this.#isDue = true;
    this.#woken.resolve();
  }

  fail(error: unknown): void {
    this.#failure = { error };
    this.#woken.resolve();
  }

  async next(): Promise<readonly number[]> {
    await this.#woken.promise;
    this.#woken = Promise.withResolvers();
    if (this.#failure !== undefined) {
      const { error } = this.#failure;
      this.#failure = undefined;
      if (this.#isDue) this.#woken.resolve();
      throw error;
    }
    this.#isDue = false;
    const stamps = [...this.#stamps].sort((a, b) => a - b);
    this.#stamps = new Set();
    return stamps;
  }

  close(): void {
    this.#onClose(this);
    this.#woken.resolve();
  }
}

/** Polls for all readers of one project. What one of them searches for is its own business: this finds out when there is something to read. */
class Poller {
  readonly #source: InsertSource;
  readonly #now: () => number;
  readonly #projectUid: LogFilter['projectUid'];
  readonly #feeds = new Set<Feed>();
  readonly #ended = new AbortController();
  /** As of the last polls, as far back as a wide one looks. */
  readonly #idSums = new Map<number, bigint>();
  /** By ClickHouse's clock: the last poll, and the newest insert. Undefined: nothing was polled yet. */
  #last: { readonly polledMs: number; readonly newestMs: number } | undefined;
  #widePollAt = 0;
  /** There were inserts since the last wide poll: another one may still show rows that it stamped before them. */
  #hasNews = false;
  /** Since the last poll that worked. */
  #hasFailed = false;

  constructor(source: InsertSource, projectUid: LogFilter['projectUid']) {
    this.#source = source;
    this.#now = source.now ?? (() => performance.now());
    this.#projectUid = projectUid;
  }

  get isIdle(): boolean {
    return this.#feeds.size === 0;
  }

  open(pollIntervalMs: number, onIdle: () => void): InsertFeed {
    const feed = new Feed(pollIntervalMs, () => {
      this.#feeds.delete(feed);
      if (this.isIdle) this.end();
      if (this.isIdle) onIdle();
    });
    this.#feeds.add(feed);
    // What changed since the last poll is told after the next one.
    if (this.#last !== undefined) feed.tell([]);
    return feed;
  }

  end(): void {
    this.#ended.abort();
  }

  async run(): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      const startedMs = this.#now();
      const mark = await this.#poll(startedMs);
      await this.#rest(mark, startedMs);
    }
  }

  async #poll(startedMs: number): Promise<string | undefined> {
    const slow = setTimeout(() => this.#fail(noAnswer()), SILENCE_MS);
    try {
      const isWide = startedMs >= this.#widePollAt;
      const sinceMs = this.#sinceMs(isWide);
      const filter: InsertsFilter = { projectUid: this.#projectUid, sinceMs, lookBackMs: WIDE_OVERLAP_MS };
      const inserts = await this.#source.read(filter);
      if (isWide) this.#widePollAt = startedMs + WIDE_EVERY_MS;
      if (isWide) this.#hasNews = false;
      if (isWide && sinceMs !== undefined) this.#forgetBefore(sinceMs);
      this.#compare(inserts);
      return inserts.mark;
    } catch (error) {
      this.#fail(error);
      return undefined;
    } finally {
      clearTimeout(slow);
    }
  }

  #sinceMs(isWide: boolean): number | undefined {
    if (this.#last === undefined) return undefined;
    const { polledMs } = this.#last;
    // A server whose clock is fast stamps rows with a time to come.
    const newestMs = Math.min(this.#last.newestMs, polledMs);
    return isWide
      ? Math.max(newestMs, polledMs - WIDE_QUIET_MS) - WIDE_OVERLAP_MS
      : Math.max(newestMs, polledMs - QUIET_MS) - OVERLAP_MS;
  }

  #compare({ nowMs, idSums }: Inserts): void {
    const isFirst = this.#last === undefined;
    let newestMs = this.#last?.newestMs ?? -Infinity;
    const changed: number[] = [];
    for (const [stamp, idSum] of idSums) {
      newestMs = Math.max(newestMs, stamp);
      if (this.#idSums.get(stamp) === idSum) continue;
      this.#idSums.set(stamp, idSum);
      changed.push(stamp);
    }
    this.#last = { polledMs: nowMs, newestMs };
    if (changed.length > 0) this.#hasNews = true;
    const wasSilent = this.#hasFailed;
    this.#hasFailed = false;
    if (isFirst || wasSilent || changed.length > 0) {
      // Readers begin by reading what there is.
      for (const feed of this.#feeds) feed.tell(isFirst ? [] : changed);
    }
  }

  #forgetBefore(ms: number): void {
    for (const stamp of this.#idSums.keys()) if (stamp < ms) this.#idSums.delete(stamp);
  }

  #fail(error: unknown): void {
    this.#hasFailed = true;
    for (const feed of this.#feeds) feed.fail(error);
  }

  /** Until the next poll is due. */
  async #rest(mark: string | undefined, startedMs: number): Promise<void> {
    const { signal } = this.#ended;
    const intervalMs = Math.min(...[...this.#feeds].map(({ pollIntervalMs }) => pollIntervalMs));
    const sleep = (ms: number): Promise<void> => delay(ms, undefined, { signal }).catch(() => undefined);
    if (mark === undefined || signal.aborted) {
      await sleep(intervalMs);
      return;
    }
    const dueMs = this.#hasNews ? this.#widePollAt - startedMs : QUIET_MS;
    const due = new AbortController();
    const timer = setTimeout(() => due.abort(), dueMs);
    // Where waiting fails, the next poll says why.
    await this.#source.next(mark, AbortSignal.any([signal, due.signal])).catch(() => undefined);
    clearTimeout(timer);
    await sleep(Math.max(0, intervalMs - (this.#now() - startedMs)));
  }
}

const noAnswer = (): LogStoreError =>
  new LogStoreError(`could not follow the log: no answer from ClickHouse within ${SILENCE_MS / 1_000} s`, {
    ...{ kind: 'retryable', code: 'ETIMEDOUT', cause: undefined },
  });

export interface InsertFollower {
  /** Tells of inserts from now on. Readers of the same project share one poller. */
  follow(options: FollowOptions): InsertFeed;
  /** Ends all polling. */
  close(): void;
}

export const createInsertFollower = (source: InsertSource): InsertFollower => {
  const pollers = new Map<LogFilter['projectUid'], Poller>();
  return {
    follow: ({ projectUid, pollIntervalMs }) => {
      const running = pollers.get(projectUid);
      const poller = running ?? new Poller(source, projectUid);
      const feed = poller.open(pollIntervalMs, () => pollers.delete(projectUid));
      if (running === undefined) {
        pollers.set(projectUid, poller);
        void poller.run();
      }
      return feed;
    },
    close: () => {
      for (const poller of pollers.values()) poller.end();
      pollers.clear();
    },
  };
};
