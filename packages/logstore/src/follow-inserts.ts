import { setTimeout as delay } from 'node:timers/promises';
import { EVERY_PROJECT } from './log-filter.ts';
import { LogStoreError } from './log-store-error.ts';
import type { Inserts, InsertScope, InsertsFilter } from './read-inserts.ts';

/** Reports new rows in the log to one reader. */
export interface InsertFeed {
  /**
   * Resolves with the milliseconds of `inserted_at` that have rows which the reader has not received. These milliseconds may also
   * contain rows that the reader has received. The first call resolves with an empty list as soon as no later insert can be missed.
   * Later calls resolve when there are new rows, when the log responds again after a failure, or when the feed is closed. A closed
   * feed never waits. Rejects when a poll fails or takes too long.
   */
  next(): Promise<readonly number[]>;
  /** Whether the reader has closed the feed, or the log store is closed. */
  readonly isClosed: boolean;
  close(): void;
}

export interface FollowOptions extends InsertScope {
  /** The shortest interval between two polls. If a project has several readers, the smallest value applies. */
  readonly pollIntervalMs: number;
  /**
   * Calls a poll in the reader's turn. The poll never rejects. If a project has several readers, each poll waits for the turns of all
   * of them, and runs in the first one. `signal` then aborts, as it does when polling ends. By default, polls do not wait.
   */
  readonly inTurn?: PollInTurn | undefined;
}

type PollInTurn = (poll: () => Promise<void>, signal: AbortSignal) => Promise<void>;

/** The part of ClickHouse that pollers use. */
export interface InsertSource {
  read(filter: InsertsFilter): Promise<Inserts>;
  /** See `ClickHouse.nextInsert`. */
  next(mark: string, signal: AbortSignal): Promise<void>;
  /** A monotonic clock in milliseconds. The default is `performance.now`. */
  readonly now?: () => number;
}

/**
 * An insert stamps its rows when it begins and makes them visible when it ends. Replicas lag behind and have their own clocks. Each
 * poll therefore looks back by `OVERLAP_MS` from the newest insert or, if that insert is older than `QUIET_MS`, from `QUIET_MS`
 * before the current time. If there were no recent inserts, a poll reads no rows.
 */
const OVERLAP_MS = 3_000;
const QUIET_MS = 60_000;
/** At intervals, a poll looks this far back from the newest insert. No insert takes as long, because clients give up after 35 s. */
const WIDE_OVERLAP_MS = 60_000;
const WIDE_EVERY_MS = 10_000;
/**
 * If the newest insert is older than this, a poll with the wide overlap looks back from this long before the current time instead.
 * Replicas that serve reads lag less (ClickHouse's `max_replica_delay_for_distributed_queries`, 300 s).
 */
const WIDE_QUIET_MS = 600_000;
/**
 * A poll takes a few milliseconds. A poll that takes this long, including the wait for its turn, is reported as a failure, but the
 * poller still waits for it.
 */
const SILENCE_MS = 5_000;

type FeedOptions = Pick<FollowOptions, 'pollIntervalMs' | 'inTurn'>;

class Feed implements InsertFeed {
  readonly pollIntervalMs: number;
  readonly inTurn: PollInTurn;
  readonly #onClose: (feed: Feed) => void;
  #stamps = new Set<number>();
  #failure: { readonly error: unknown } | undefined;
  /** Whether `next` must resolve, even with an empty list. */
  #isDue = false;
  #woken: PromiseWithResolvers<void> = Promise.withResolvers();
  #isClosed = false;

  constructor({ pollIntervalMs, inTurn = (poll) => poll() }: FeedOptions, onClose: (feed: Feed) => void) {
    this.pollIntervalMs = pollIntervalMs;
    this.inTurn = inTurn;
    this.#onClose = onClose;
  }

  get isClosed(): boolean {
    return this.#isClosed;
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
    if (this.#isClosed) return [];
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
    this.#isClosed = true;
    this.#onClose(this);
    this.#woken.resolve();
  }
}

/** Polls for all readers of one project. A poller only detects that there are new rows. Each reader does its own search. */
class Poller {
  readonly #source: InsertSource;
  readonly #now: () => number;
  readonly #scope: InsertScope;
  readonly #feeds = new Set<Feed>();
  readonly #ended = new AbortController();
  /**
   * For each millisecond of `inserted_at`, the sum that the last poll with rows of that millisecond returned. Goes back as far as a
   * wide poll looks.
   */
  readonly #idSums = new Map<number, bigint>();
  /** The last poll and the newest insert, by ClickHouse's clock. Undefined before the first poll. */
  #last: { readonly polledMs: number; readonly newestMs: number } | undefined;
  #widePollAt = 0;
  /**
   * Whether inserts were found since the last wide poll. Another wide poll is then due, because a concurrent insert may have
   * stamped its rows earlier and makes them visible only later.
   */
  #hasNews = false;
  /** Whether a poll has failed since the last successful one. */
  #hasFailed = false;
  /** Makes the poll that is due wait for the turn of another reader, too. Undefined if no poll is due. */
  #offer: ((feed: Feed) => void) | undefined;

  constructor(source: InsertSource, scope: InsertScope) {
    this.#source = source;
    this.#now = source.now ?? (() => performance.now());
    this.#scope = scope;
  }

  get isIdle(): boolean {
    return this.#feeds.size === 0;
  }

  open(options: FeedOptions, onIdle: () => void): InsertFeed {
    const feed = new Feed(options, () => {
      this.#feeds.delete(feed);
      if (this.isIdle) this.end();
      if (this.isIdle) onIdle();
    });
    this.#feeds.add(feed);
    // The new reader need not wait for a poll, because the next poll reports all changes since the previous one.
    if (this.#last !== undefined) feed.tell([]);
    this.#offer?.(feed);
    return feed;
  }

  end(): void {
    this.#ended.abort();
  }

  close(): void {
    for (const feed of this.#feeds) feed.close();
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
    const isWaiting = (): boolean => this.#offer !== undefined;
    const slow = setTimeout(() => this.#fail(isWaiting() ? noTurn() : noAnswer()), SILENCE_MS);
    try {
      const isWide = startedMs >= this.#widePollAt;
      const sinceMs = this.#sinceMs(isWide);
      const filter: InsertsFilter = { ...this.#scope, sinceMs, lookBackMs: WIDE_OVERLAP_MS };
      const inserts = await this.#readInTurn(filter);
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

  /** Reads in the turn of the first reader that has one, so that a reader who waits long for turns does not delay the others. */
  #readInTurn(filter: InsertsFilter): Promise<Inserts> {
    const { promise, resolve, reject } = Promise.withResolvers<Inserts>();
    const decided = new AbortController();
    const decide = (): void => {
      this.#offer = undefined;
      decided.abort();
    };
    const poll = async (): Promise<void> => {
      if (decided.signal.aborted) return;
      decide();
      const inserts = this.#source.read(filter);
      resolve(inserts);
      // The turn lasts until the read has ended.
      await inserts.catch(() => undefined);
    };
    const giveUp = (error: unknown): void => {
      if (decided.signal.aborted) return;
      decide();
      reject(error);
    };
    let turns = 0;
    const offer = (feed: Feed): void => {
      turns += 1;
      feed.inTurn(poll, decided.signal).catch((error: unknown) => {
        turns -= 1;
        if (turns === 0) giveUp(error);
      });
    };
    const { signal } = this.#ended;
    signal.addEventListener('abort', () => giveUp(signal.reason), { signal: decided.signal });
    this.#offer = offer;
    for (const feed of this.#feeds) offer(feed);
    return promise;
  }

  #sinceMs(isWide: boolean): number | undefined {
    if (this.#last === undefined) return undefined;
    const { polledMs } = this.#last;
    // A server with a fast clock stamps rows with future times.
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
      // The first poll reports no rows, because readers begin by reading the existing ones.
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

  /**
   * Waits until the next poll is due: after the interval, and with the embedded engine also for the next insert or the next wide
   * poll.
   */
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
    // If the wait fails, the next poll reports the reason.
    await this.#source.next(mark, AbortSignal.any([signal, due.signal])).catch(() => undefined);
    clearTimeout(timer);
    await sleep(Math.max(0, intervalMs - (this.#now() - startedMs)));
  }
}

const noAnswer = (): LogStoreError =>
  new LogStoreError(`could not follow the log: no response from ClickHouse within ${SILENCE_MS / 1_000} s`, {
    kind: 'retryable',
    code: 'ETIMEDOUT',
  });

const noTurn = (): LogStoreError =>
  new LogStoreError(`could not follow the log: other queries take longer than ${SILENCE_MS / 1_000} s`, {
    kind: 'retryable',
    code: 'EBUSY',
  });

const closedFeed = (options: FeedOptions): InsertFeed => {
  const feed = new Feed(options, () => undefined);
  feed.close();
  return feed;
};

export interface InsertFollower {
  /** Reports inserts from now on. Readers of the same project share one poller. */
  follow(options: FollowOptions): InsertFeed;
  /** Closes all feeds, and with them ends all polling. A feed that is opened later is closed. */
  close(): void;
}

const scopeKey = ({ projectUid, namespace, project }: InsertScope): string =>
  JSON.stringify([projectUid === EVERY_PROJECT ? null : projectUid, namespace, project]);

export const createInsertFollower = (source: InsertSource): InsertFollower => {
  const pollers = new Map<string, Poller>();
  let isClosed = false;
  return {
    follow: ({ pollIntervalMs, inTurn, ...scope }) => {
      const options: FeedOptions = { pollIntervalMs, inTurn };
      if (isClosed) return closedFeed(options);
      const key = scopeKey(scope);
      const running = pollers.get(key);
      const poller = running ?? new Poller(source, scope);
      const feed = poller.open(options, () => {
        if (pollers.get(key) === poller) pollers.delete(key);
      });
      if (running === undefined) {
        pollers.set(key, poller);
        void poller.run();
      }
      return feed;
    },
    close: () => {
      isClosed = true;
      for (const poller of pollers.values()) poller.close();
    },
  };
};
