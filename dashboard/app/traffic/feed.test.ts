import { describe, expect, it } from 'vitest';
import { countItems, oldestRow, mergeItems } from './feed-items.ts';
import { FEED_LIMITS, TrafficFeed } from './feed.ts';
import type { TrafficRow } from '../requests/traffic-row.ts';

const START = Date.parse('2026-11-21T10:00:00Z');
const at = (n: number): string => `${new Date(START + n).toISOString().slice(0, -1)}000Z`;
const row = (n: number): TrafficRow => ({
  id: `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`,
  receivedAt: at(n),
  method: 'GET',
  path: '/',
  query: '',
  status: 200,
  durationMs: 1,
  bodyBytes: 0,
  endpoint: 'e',
  outcome: 'mocked',
  responseName: '',
});
/** Returns the rows `from` to `to`, newest first. */
const rows = (from: number, to: number): TrafficRow[] =>
  Array.from({ length: to - from + 1 }, (_row, index) => row(to - index));
const rowIds = (those: readonly TrafficRow[]): string[] => those.map(({ id }) => id);

const shown = (feed: TrafficFeed): (number | string)[] =>
  feed.state().items.map((item) => (item.kind === 'row' ? Number(item.row.id.slice(-12)) : `${item.count} skipped`));

describe('a live feed', () => {
  it('shows new requests at the top without duplicates', () => {
    const feed = new TrafficFeed({ rows: rows(1, 3), hasOlder: false });
    feed.receive({ rows: rows(2, 5) });
    feed.receive({ rows: rows(1, 5) });
    expect(shown(feed)).toEqual([5, 4, 3, 2, 1]);
    expect(feed.newest()).toBe(at(5));
  });

  it('shows how a request ended that was in progress, also while the list is paused', () => {
    const running = (n: number): TrafficRow => ({ ...row(n), status: 0, outcome: 'in_progress' });
    const feed = new TrafficFeed({ rows: [running(3), row(2), row(1)], hasOlder: false });
    feed.pause('reading');
    feed.receive({ rows: [running(4)] });
    feed.receive({ rows: [row(4), row(3), { ...row(2), path: '/other' }] });
    expect(feed.state().items[0]).toEqual({ kind: 'row', row: row(3) });
    feed.resume();
    expect(feed.state().items).toEqual([4, 3, 2, 1].map((n) => ({ kind: 'row', row: row(n) })));
  });

  it('inserts a late request in order', () => {
    const feed = new TrafficFeed({ rows: [row(5), row(1)], hasOlder: false });
    feed.receive({ rows: [row(6), row(3)] });
    expect(shown(feed)).toEqual([6, 5, 3, 1]);
  });

  it('leaves older requests for the next page', () => {
    const feed = new TrafficFeed({ rows: rows(10, 12), hasOlder: true });
    feed.receive({ rows: [row(13), row(5)] });
    expect(shown(feed)).toEqual([13, 12, 11, 10]);
    feed.addOlder({ rows: rows(5, 9), hasOlder: false });
    expect(shown(feed)).toEqual([13, 12, 11, 10, 9, 8, 7, 6, 5]);
  });

  it('lists late requests that the next page was read too early for, whatever the order in which they arrived', () => {
    const feed = new TrafficFeed({ rows: rows(10, 12), hasOlder: true });
    feed.receive({ rows: [row(7), row(6), row(2)] });
    feed.receive({ rows: [row(8), row(7)] });
    feed.addOlder({ rows: [row(9), row(6), row(5)], hasOlder: true });
    expect(shown(feed)).toEqual([12, 11, 10, 9, 8, 7, 6, 5]);
    feed.addOlder({ rows: [row(4), row(3)], hasOlder: false });
    expect(shown(feed)).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]);
  });

  it('drops the oldest rows when it exceeds the limit, and can load them again', () => {
    const feed = new TrafficFeed({ rows: rows(1, 10), hasOlder: false });
    feed.receive({ rows: rows(11, FEED_LIMITS.followedRowsMax + 5) });
    expect(feed.state().items).toHaveLength(FEED_LIMITS.followedRowsMax);
    expect(feed.state().hasOlder).toBe(true);
    feed.addOlder({ rows: rows(1, 5), hasOlder: false });
    expect(countItems(feed.state().items)).toBe(FEED_LIMITS.followedRowsMax + 5);
  });

  it('shows the number of skipped requests, not counting those in the list', () => {
    const feed = new TrafficFeed({ rows: rows(1, 4), hasOlder: false });
    // Of requests 1 to 20, the server sends 16 to 20 and skips the other 15. Four of the skipped requests are already in the list.
    feed.receive({ rows: rows(16, 20), skippedIds: rowIds(rows(1, 15)) });
    expect(shown(feed)).toEqual([20, 19, 18, 17, 16, '11 skipped', 4, 3, 2, 1]);
  });

  it('replaces all gaps at its end with the next page', () => {
    const feed = new TrafficFeed({ rows: rows(5, 6), hasOlder: true });
    feed.receive({ rows: rows(3, 4), skippedIds: rowIds([row(2)]) });
    feed.receive({ rows: [row(4)], skippedIds: rowIds([row(1)]) });
    feed.addOlder({ rows: rows(1, 4), hasOlder: false });
    expect(shown(feed)).toEqual([6, 5, 4, 3, 2, 1]);
  });

  it('counts all skipped requests if one of them arrived late', () => {
    const feed = new TrafficFeed({ rows: rows(2, 5), hasOlder: false });
    feed.receive({ rows: rows(8, 9), skippedIds: rowIds([row(7), row(6), row(1)]) });
    expect(shown(feed)).toEqual([9, 8, '3 skipped', 5, 4, 3, 2]);
  });
});

describe('a paused feed', () => {
  it('counts new requests and shows them when it resumes', () => {
    const feed = new TrafficFeed({ rows: rows(1, 2), hasOlder: false });
    const before = feed.state().items;
    feed.pause('scrolled');
    feed.receive({ rows: rows(3, 5) });
    expect(feed.state().items).toBe(before);
    expect(feed.state().waiting).toBe(3);
    feed.resume('scrolled');
    expect(shown(feed)).toEqual([5, 4, 3, 2, 1]);
    expect(feed.state().waiting).toBe(0);
  });

  it('resumes when the last reason to pause ends, or on request', () => {
    const feed = new TrafficFeed({ rows: rows(1, 2), hasOlder: false }, true);
    feed.pause('reading');
    feed.receive({ rows: [row(3)] });
    feed.resume('reading');
    expect(feed.state().waiting).toBe(1);
    feed.pause('scrolled');
    feed.resume();
    expect(feed.state().pausedBy.size).toBe(0);
    expect(shown(feed)).toEqual([3, 2, 1]);
  });

  it('keeps only the newest requests when it exceeds the limit, and a gap with the number of the others', () => {
    const feed = new TrafficFeed({ rows: [row(0)], hasOlder: false });
    feed.pause('stopped');
    const total = FEED_LIMITS.waitingRowsMax + 500;
    for (let n = 1; n <= total; n += 100) feed.receive({ rows: rows(n, n + 99) });
    expect(feed.state().waiting).toBe(total);
    feed.resume();
    const { items } = feed.state();
    expect(items.find(({ kind }) => kind === 'gap')).toMatchObject({ count: 501 });
    // The gap counts exactly the requests that are not shown. Row 0 was dropped from the list and is on an older page.
    expect(countItems(items)).toBe(total);
    expect(feed.state().hasOlder).toBe(true);
  });
});

describe('the pages below a list that counted requests while it was paused', () => {
  const TOTAL = 10_000;
  /** Reads to the end as the page does, with the requests 1 to `newest` in the log. Returns the number of pages. */
  const readToTheEnd = (feed: TrafficFeed, newest: number): number => {
    let pages = 0;
    for (; feed.state().hasOlder && pages < 100; pages += 1) {
      const end = oldestRow(feed.state().items);
      const last = end === undefined ? newest : Number(end.id.slice(-12)) - 1;
      const first = Math.max(1, last - 1_999);
      feed.addOlder({ rows: rows(first, last), hasOlder: first > 1 });
    }
    return pages;
  };

  it.each<[string, number]>([
    ['a list with requests', 3],
    ['an empty list', 0],
    ['a list of one page', 200],
    ['a full list', FEED_LIMITS.followedRowsMax],
  ])('list every request once, below %s', (_, listed) => {
    const feed = new TrafficFeed({ rows: rows(1, listed), hasOlder: false });
    feed.pause('reading');
    for (let n = listed; n < listed + TOTAL; n += 100) feed.receive({ rows: rows(n + 1, n + 100) });
    expect(feed.state().waiting).toBe(TOTAL);
    feed.resume();
    expect(readToTheEnd(feed, listed + TOTAL)).toBeLessThan(10);
    expect(shown(feed)).toEqual(rows(1, listed + TOTAL).map(({ id }) => Number(id.slice(-12))));
  });

  it('list a request that arrived late and was only counted', () => {
    const feed = new TrafficFeed({ rows: rows(1, 10), hasOlder: false });
    feed.pause('stopped');
    feed.receive({ rows: rows(21, 20 + TOTAL) });
    feed.receive({ rows: rows(11, 20) });
    feed.resume();
    readToTheEnd(feed, 20 + TOTAL);
    expect(shown(feed)).toEqual(rows(1, 20 + TOTAL).map(({ id }) => Number(id.slice(-12))));
  });
});

it('a list shows a request once, even if it has forgotten its id', () => {
  const feed = new TrafficFeed({ rows: rows(FEED_LIMITS.knownIdsMax, FEED_LIMITS.knownIdsMax + 9), hasOlder: true });
  feed.addOlder({ rows: rows(1, FEED_LIMITS.knownIdsMax - 1), hasOlder: false });
  feed.receive({ rows: rows(FEED_LIMITS.knownIdsMax, FEED_LIMITS.knownIdsMax + 10) });
  expect(shown(feed).slice(0, 12)).toEqual(
    Array.from({ length: 12 }, (_row, index) => FEED_LIMITS.knownIdsMax + 10 - index),
  );
});

it('merges lists in order and keeps each gap after its row', () => {
  const item = (n: number) => ({ kind: 'row', row: row(n) }) as const;
  const gap = (n: number) => ({ kind: 'gap', below: row(n), count: 7 }) as const;
  expect(mergeItems([item(9), gap(9), item(4)], [item(8), gap(5), item(3)])).toEqual([
    item(9),
    gap(9),
    item(8),
    gap(5),
    item(4),
    item(3),
  ]);
});
