import { capWithGap, countItems, oldestRow, endsWithGap, mergeItems, type FeedItem } from './feed-items.ts';
import { compareRows, type RowCursor, type RowPage, type TrafficRow } from '../requests/traffic-row.ts';

/** Rows that the tail delivers together. The tail is the stream of new requests. */
export interface RowBatch {
  /** The rows, newest first. */
  readonly rows: readonly TrafficRow[];
  /** The ids of older rows that were left out, because there were more rows than fit in one batch. */
  readonly skippedIds?: readonly string[] | undefined;
}

/** The reason why new requests wait: the user has scrolled to older requests, is reading a request, or has stopped the tail. */
export type PauseReason = 'scrolled' | 'reading' | 'stopped';

export interface FeedState {
  readonly items: readonly FeedItem[];
  readonly hasOlder: boolean;
  readonly pausedBy: ReadonlySet<PauseReason>;
  /** The number of requests that wait until the tail resumes. */
  readonly waiting: number;
}

export const FEED_LIMITS = {
  /** The maximum number of rows while the list follows new requests. Older rows can be loaded again. */
  followedRowsMax: 2_000,
  /** The maximum number of waiting rows while the tail is paused. If more requests wait, the oldest of them are only counted. */
  waitingRowsMax: 2_000,
  /** The maximum number of remembered ids. Remembered ids prevent a request that is sent twice from being shown twice. */
  knownIdsMax: 100_000,
} as const;

/**
 * The requests in the list. Except for visible gaps, they are all matching requests from the newest one back to the start of the
 * next page. New requests are added on top. While the tail is paused, new requests wait, so that nothing moves while a user is
 * reading.
 */
export class TrafficFeed {
  readonly #listeners = new Set<() => void>();
  /** Receive times of the requests in the list and of those that wait, by id. */
  readonly #known = new Map<string, string>();
  #waiting: readonly FeedItem[] = [];
  /** The last requests that arrived below the end of the list, by id. The next page may have been read before they arrived. */
  readonly #below = new Map<string, TrafficRow>();
  #state: FeedState;

  constructor({ rows, hasOlder }: RowPage, isStopped = false) {
    for (const row of rows) this.#known.set(row.id, row.receivedAt);
    const pausedBy = new Set<PauseReason>(isStopped ? ['stopped'] : []);
    this.#state = { items: rows.map((row) => ({ kind: 'row', row })), hasOlder, pausedBy, waiting: 0 };
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly state = (): FeedState => this.#state;

  #change(changes: Partial<FeedState>): void {
    this.#state = { ...this.#state, ...changes };
    for (const listener of this.#listeners) listener();
  }

  /** Returns the receive time of the newest request, shown or waiting. */
  newest(): string | undefined {
    const first = this.#waiting[0] ?? this.#state.items[0];
    return first?.kind === 'row' ? first.row.receivedAt : first?.below.receivedAt;
  }

  receive({ rows, skippedIds = [] }: RowBatch): void {
    const end = this.#state.hasOlder ? oldestRow(this.#state.items) : undefined;
    const missed = skippedIds.filter((id) => !this.#known.has(id)).length;
    const unknown = rows.filter(({ id }) => !this.#known.has(id));
    if (unknown.length < rows.length) this.#update(rows);
    // Rows below the end are part of the next page.
    const fresh = unknown.filter((row) => end === undefined || compareRows(row, end) < 0);
    for (const row of unknown.slice(fresh.length)) {
      this.#below.set(row.id, row);
      const [oldest] = this.#below.size > FEED_LIMITS.waitingRowsMax ? this.#below.keys() : [];
      if (oldest !== undefined) this.#below.delete(oldest);
    }
    for (const row of fresh) this.#remember(row);
    const arrived: FeedItem[] = fresh.map((row) => ({ kind: 'row', row }));
    const last = rows.at(-1);
    if (missed > 0 && last !== undefined) arrived.push({ kind: 'gap', below: last, count: missed });
    if (arrived.length === 0) return;
    if (this.#state.pausedBy.size > 0) {
      this.#waiting = capWithGap(mergeItems(arrived, this.#waiting), FEED_LIMITS.waitingRowsMax);
      this.#change({ waiting: countItems(this.#waiting) });
    } else {
      this.#change(this.#follow(arrived));
    }
  }

  /** Replaces the rows of requests that were in progress. */
  #update(rows: readonly TrafficRow[]): void {
    const byId = new Map(rows.map((row) => [row.id, row]));
    const update = (items: readonly FeedItem[]): readonly FeedItem[] =>
      items.map((item) => {
        const row = item.kind === 'row' && item.row.outcome === 'in_progress' ? byId.get(item.row.id) : undefined;
        return row === undefined ? item : { kind: 'row', row };
      });
    this.#waiting = update(this.#waiting);
    this.#change({ items: update(this.#state.items) });
  }

  /** Adds the page after the last request of the list. This page contains the requests that gaps at the end count. */
  addOlder({ rows, hasOlder }: RowPage): void {
    const fresh = rows.filter(({ id }) => !this.#known.has(id));
    for (const row of fresh) this.#remember(row);
    const older: readonly FeedItem[] = fresh.map((row) => ({ kind: 'row', row }));
    const { items } = this.#state;
    const whole = [...items.slice(0, items.findLastIndex(({ kind }) => kind === 'row') + 1), ...older];
    this.#change({ items: mergeItems(this.#takeBelow(hasOlder ? oldestRow(whole) : undefined), whole), hasOlder });
  }

  /** Returns the late requests that the list now reaches, newest first. */
  #takeBelow(end: RowCursor | undefined): readonly FeedItem[] {
    const reached = [...this.#below.values()].filter((row) => end === undefined || compareRows(row, end) <= 0);
    for (const { id } of reached) this.#below.delete(id);
    const fresh = reached.filter(({ id }) => !this.#known.has(id)).sort(compareRows);
    for (const row of fresh) this.#remember(row);
    return fresh.map((row) => ({ kind: 'row', row }));
  }

  pause(reason: PauseReason): void {
    const { pausedBy } = this.#state;
    if (!pausedBy.has(reason)) this.#change({ pausedBy: new Set([...pausedBy, reason]) });
  }

  /** Ends a pause, or all pauses if no reason is given. */
  resume(reason?: PauseReason): void {
    const before = this.#state.pausedBy;
    if (before.size === 0 || (reason !== undefined && !before.has(reason))) return;
    const pausedBy = new Set(reason === undefined ? [] : [...before].filter((other) => other !== reason));
    if (pausedBy.size > 0) {
      this.#change({ pausedBy });
      return;
    }
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#change({ pausedBy, waiting: 0, ...this.#follow(waiting) });
  }

  /** Adds requests on top and drops the rows over the limit. The next page contains what was dropped or only counted at the end. */
  #follow(arrived: readonly FeedItem[]): Pick<FeedState, 'items' | 'hasOlder'> {
    const merged = mergeItems(arrived, this.#state.items);
    const items = merged.slice(0, FEED_LIMITS.followedRowsMax);
    const end = oldestRow(items);
    if (end === undefined || (items.length === merged.length && !endsWithGap(items)))
      return { items, hasOlder: this.#state.hasOlder };
    for (const [id, receivedAt] of this.#known) if (compareRows({ id, receivedAt }, end) > 0) this.#known.delete(id);
    return { items, hasOlder: true };
  }

  #remember({ id, receivedAt }: TrafficRow): void {
    this.#known.set(id, receivedAt);
    const [oldest] = this.#known.size > FEED_LIMITS.knownIdsMax ? this.#known.keys() : [];
    if (oldest !== undefined) this.#known.delete(oldest);
  }
}
