import { capWithGap, countItems, endOf, mergeItems, type FeedItem } from './feed-items.ts';
import { compareRows, type RowPage, type TrafficRow } from '../requests/traffic-row.ts';

/** What a tail brings at once. */
export interface RowBatch {
  /** Newest first. */
  readonly rows: readonly TrafficRow[];
  /** More than is sent at once: `count` older ones were left out, the first of them received at `since`. */
  readonly skipped?: { readonly count: number; readonly since: string } | undefined;
}

/** Why new requests wait: somebody looks at older ones, at one of them, or stopped the tail by hand. */
export type PauseReason = 'scrolled' | 'reading' | 'stopped';

export interface FeedState {
  readonly items: readonly FeedItem[];
  readonly hasOlder: boolean;
  readonly pausedBy: ReadonlySet<PauseReason>;
  /** Requests that wait for the tail to go on. */
  readonly waiting: number;
}

export const FEED_LIMITS = {
  /** While new requests come in on top; older ones can be loaded again. */
  followedRowsMax: 2_000,
  /** While the tail is paused; beyond it they are counted. */
  waitingRowsMax: 2_000,
  /** Ids that are remembered, so that what is sent twice is shown once. */
  knownIdsMax: 100_000,
} as const;

/**
 * The requests of the screen: a stretch of the log without holes but those that it shows, from the newest back to where the next
 * page begins. New ones go on top, or wait while the tail is paused: nothing moves under somebody's eyes.
 */
export class TrafficFeed {
  readonly #listeners = new Set<() => void>();
  /** When the requests were received, by id. */
  readonly #known = new Map<string, string>();
  #waiting: readonly FeedItem[] = [];
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

  /** When the newest request was received that is shown or waits. */
  newest(): string | undefined {
    const first = this.#waiting[0] ?? this.#state.items[0];
    return first?.kind === 'row' ? first.row.receivedAt : first?.below.receivedAt;
  }

  receive({ rows, skipped }: RowBatch): void {
    const end = this.#state.hasOlder ? endOf(this.#state.items) : undefined;
    const missed = skipped === undefined ? 0 : skipped.count - this.#countKnown(skipped.since, rows.at(-1)?.receivedAt);
    // What lies behind the end comes with the next page.
    const fresh = rows.filter((row) => !this.#known.has(row.id) && (end === undefined || compareRows(row, end) < 0));
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

  addOlder({ rows, hasOlder }: RowPage): void {
    const fresh = rows.filter(({ id }) => !this.#known.has(id));
    for (const row of fresh) this.#remember(row);
    const older: readonly FeedItem[] = fresh.map((row) => ({ kind: 'row', row }));
    this.#change({ items: [...this.#state.items, ...older], hasOlder });
  }

  pause(reason: PauseReason): void {
    const { pausedBy } = this.#state;
    if (!pausedBy.has(reason)) this.#change({ pausedBy: new Set([...pausedBy, reason]) });
  }

  /** Without a reason: whatever it was paused by. */
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

  /** With these on top, and only so many as are worth keeping: the others are a page away. */
  #follow(arrived: readonly FeedItem[]): Pick<FeedState, 'items' | 'hasOlder'> {
    const items = mergeItems(arrived, this.#state.items);
    if (items.length <= FEED_LIMITS.followedRowsMax) return { items, hasOlder: this.#state.hasOlder };
    for (const item of items.slice(FEED_LIMITS.followedRowsMax)) {
      if (item.kind === 'row') this.#known.delete(item.row.id);
    }
    return { items: items.slice(0, FEED_LIMITS.followedRowsMax), hasOlder: true };
  }

  #remember({ id, receivedAt }: TrafficRow): void {
    this.#known.set(id, receivedAt);
    const [oldest] = this.#known.size > FEED_LIMITS.knownIdsMax ? this.#known.keys() : [];
    if (oldest !== undefined) this.#known.delete(oldest);
  }

  #countKnown(since: string, before = ''): number {
    let count = 0;
    for (const at of this.#known.values()) if (at >= since && at < before) count += 1;
    return count;
  }
}
