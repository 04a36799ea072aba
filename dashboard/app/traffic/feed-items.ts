import { compareRows, type RowCursor, type TrafficRow } from '../requests/traffic-row.ts';

/** An item of the list: a request, or a gap between requests. */
export type FeedItem =
  | { readonly kind: 'row'; readonly row: TrafficRow }
  /**
   * `count` requests directly below the row `below` are not in the list, because too many arrived at once or while the list was
   * paused.
   */
  | { readonly kind: 'gap'; readonly below: RowCursor; readonly count: number };

const itemCursor = (item: FeedItem): RowCursor => (item.kind === 'row' ? item.row : item.below);

/** Sorts a gap directly after the row that it belongs to. */
const compareItems = (a: FeedItem, b: FeedItem): number => {
  const order = compareRows(itemCursor(a), itemCursor(b));
  return order === 0 ? Number(a.kind === 'gap') - Number(b.kind === 'gap') : order;
};

/** Merges two lists that are sorted newest first. An item of both lists is kept once. If all new items are newer, which is the usual case, only joins the lists. */
export const mergeItems = (newer: readonly FeedItem[], items: readonly FeedItem[]): readonly FeedItem[] => {
  const [lastNewer, first] = [newer.at(-1), items[0]];
  if (lastNewer === undefined) return items;
  if (first === undefined || compareItems(lastNewer, first) < 0) return [...newer, ...items];
  const merged: FeedItem[] = [];
  let at = 0;
  for (const item of newer) {
    for (let next = items[at]; next !== undefined && compareItems(next, item) < 0; next = items[at]) {
      merged.push(next);
      at += 1;
    }
    const same = items[at];
    if (same === undefined || compareItems(same, item) !== 0) merged.push(item);
  }
  return [...merged, ...items.slice(at)];
};

/** Returns the number of requests, including those in gaps. */
export const countItems = (items: readonly FeedItem[]): number =>
  items.reduce((sum, item) => sum + (item.kind === 'row' ? 1 : item.count), 0);

/** Returns at most `max` items. If there are more, the last returned item is a gap that counts the rest. */
export const capWithGap = (items: readonly FeedItem[], max: number): readonly FeedItem[] => {
  if (items.length <= max) return items;
  const kept = items.slice(0, max - 1);
  const last = kept.at(-1);
  if (last === undefined) return items;
  return [...kept, { kind: 'gap', below: itemCursor(last), count: countItems(items.slice(max - 1)) }];
};

/** The next page starts after this row. */
export const oldestRow = (items: readonly FeedItem[]): RowCursor | undefined => {
  const item = items.findLast(({ kind }) => kind === 'row');
  return item && itemCursor(item);
};

export const endsWithGap = (items: readonly FeedItem[]): boolean => items.at(-1)?.kind === 'gap';
