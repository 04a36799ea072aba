import { compareRows, type RowCursor, type TrafficRow } from '../requests/traffic-row.ts';

/** The list, newest first: requests, and the gaps between them. */
export type FeedItem =
  | { readonly kind: 'row'; readonly row: TrafficRow }
  /** `count` requests were skipped directly below `below`, because too many came at once. */
  | { readonly kind: 'gap'; readonly below: RowCursor; readonly count: number };

const cursorOf = (item: FeedItem): RowCursor => (item.kind === 'row' ? item.row : item.below);

/** A gap comes after the row that it is below. */
const compareItems = (a: FeedItem, b: FeedItem): number => {
  const order = compareRows(cursorOf(a), cursorOf(b));
  return order === 0 ? Number(a.kind === 'gap') - Number(b.kind === 'gap') : order;
};

/** Merges two lists, both newest first. New items mostly belong before all existing ones, which costs no more than a copy. */
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
    merged.push(item);
  }
  return [...merged, ...items.slice(at)];
};

/** The number of requests, including those that gaps stand for. */
export const countItems = (items: readonly FeedItem[]): number =>
  items.reduce((sum, item) => sum + (item.kind === 'row' ? 1 : item.count), 0);

/** At most `max` items, and below them a gap for all others. */
export const capWithGap = (items: readonly FeedItem[], max: number): readonly FeedItem[] => {
  if (items.length <= max) return items;
  const kept = items.slice(0, max - 1);
  const last = kept.at(-1);
  if (last === undefined) return items;
  return [...kept, { kind: 'gap', below: cursorOf(last), count: countItems(items.slice(max - 1)) }];
};

/** The oldest request of a list. The next page continues there. */
export const endOf = (items: readonly FeedItem[]): RowCursor | undefined => {
  const item = items.findLast(({ kind }) => kind === 'row');
  return item && cursorOf(item);
};
