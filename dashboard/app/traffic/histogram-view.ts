import type { RequestHistogram } from '../../src/requests/read-histogram.ts';
import { formatCount, formatInstant, type Zone } from '../requests/traffic-row.ts';

/**
 * Status classes in the order of the counts in a bucket, which is one bar of the chart. `none` means no response. A copy of
 * `STATUS_CLASSES`, because browsers do not load the log store that exports it.
 */
export const HISTOGRAM_CLASSES = ['none', '1xx', '2xx', '3xx', '4xx', '5xx'] as const;

/** A range of adjacent buckets, including `first` and `last`. A bucket is one bar of the chart. */
export interface Brush {
  readonly first: number;
  readonly last: number;
}

export const total = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);

export const toBrush = (anchor: number, cursor: number): Brush => ({
  first: Math.min(anchor, cursor),
  last: Math.max(anchor, cursor),
});

/** Returns the start and the exclusive end of a brush. */
export const brushSpan = ({ from, widthMs }: RequestHistogram, { first, last }: Brush) => ({
  since: new Date(Date.parse(from) + first * widthMs),
  until: new Date(Date.parse(from) + (last + 1) * widthMs),
});

export interface Span {
  readonly since: Date;
  readonly until: Date;
}

/** Describes a brush, or a range within it: `2026-11-21 10:00:00 to 10:05:00: 12 requests (3 5xx)`. */
export const describeBrush = (
  view: RequestHistogram,
  brush: Brush,
  zone: Zone,
  { since, until }: Span = brushSpan(view, brush),
): string => {
  const totals = HISTOGRAM_CLASSES.map((_name, index) =>
    view.counts.slice(brush.first, brush.last + 1).reduce((sum, counts) => sum + (counts[index] ?? 0), 0),
  );
  const start = formatInstant(since, zone).slice(0, 19);
  const end = formatInstant(until, zone).slice(0, 19);
  const classes = HISTOGRAM_CLASSES.flatMap((name, index) => {
    const count = totals[index] ?? 0;
    return count === 0 ? [] : [`${formatCount(count)} ${name === 'none' ? 'without a response' : name}`];
  });
  const sameDay = start.slice(0, 10) === end.slice(0, 10);
  const many = total(totals);
  const what = `${formatCount(many)} ${many === 1 ? 'request' : 'requests'}`;
  return `${start} to ${sameDay ? end.slice(11) : end}: ${what}${classes.length > 0 ? ` (${classes.join(', ')})` : ''}`;
};

/**
 * Returns the parts of a bar from the bottom up, as fractions of the highest bar. Parts that are not empty are at least `visible`
 * high, unless the bar would then be higher than the chart.
 */
export const stackHeights = (counts: readonly number[], highest: number, visible: number): readonly number[] => {
  const heights = counts.map((count) => (count === 0 ? 0 : Math.max(visible, count / highest)));
  const over = total(heights);
  return over > 1 ? heights.map((height) => height / over) : heights;
};
