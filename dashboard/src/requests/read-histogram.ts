import { HISTOGRAM_BUCKETS_MAX, STATUS_CLASSES, type CountFilter } from '@standin/logstore';
import { readsContents } from '@standin/exchange/search';
import type { ProjectLog } from '../backend.ts';

const SECOND_MS = 1_000;
/** Bucket widths that are easy to read. With the last one, two years fit in the maximum number of buckets. */
const BUCKET_MS = [
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * SECOND_MS),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60 * SECOND_MS),
  ...[1, 2, 3, 6, 12, 24, 48, 168].map((hours) => hours * 3_600 * SECOND_MS),
];
const SPAN_MS_MIN = 60 * SECOND_MS;

const roundBuckets = (since: Date, until: Date) => {
  const start = Math.min(since.getTime(), until.getTime() - SPAN_MS_MIN);
  const span = until.getTime() - start;
  // Rounding both ends of the range can add a bucket.
  const widthMs =
    BUCKET_MS.find((width) => span / width <= HISTOGRAM_BUCKETS_MAX - 1) ??
    Math.ceil(span / (HISTOGRAM_BUCKETS_MAX - 1) / SECOND_MS) * SECOND_MS;
  const from = Math.floor(start / widthMs) * widthMs;
  const buckets = Math.max(1, Math.ceil((until.getTime() - from) / widthMs));
  return { from: new Date(from), to: new Date(from + buckets * widthMs), buckets, widthMs };
};

type Filter = Omit<CountFilter, 'projectUid'>;

/** The start of a range that has none. */
const firstReceived = async (log: ProjectLog, { untilUs }: Filter, until: Date): Promise<Date> => {
  const [first] = await log.summaries({ untilUs, order: 'oldest-first', limit: 1 });
  return first === undefined ? new Date(until.getTime() - SPAN_MS_MIN) : new Date(first.receivedAt);
};

/** Maximum number of rows whose headers and bodies can be searched within a second. */
const SEARCHED_ROWS_MAX = 500_000;

/** Requests over time. */
export interface RequestHistogram {
  /** Start of the first bucket, in RFC 3339 format. */
  readonly from: string;
  readonly widthMs: number;
  /** Counts by bucket. Each bucket has one count per status class, in the order of `STATUS_CLASSES`. */
  readonly counts: readonly (readonly number[])[];
  /** Number of requests that match the search. */
  readonly matched: number;
  /** Number of requests in the time range. */
  readonly total: number;
  /** Whether `matched` and `counts` are estimated from a sample, because exact counts would take seconds. */
  readonly isEstimate: boolean;
}

export interface HistogramOptions {
  /** Whether to estimate counts that would take longer than a second. */
  readonly mayEstimate: boolean;
}

/**
 * Returns the number of matching requests in each bucket by status class, their total number, and the number of all requests in the
 * range.
 */
export const readHistogram = async (
  log: ProjectLog,
  filter: Filter,
  now: Date,
  { mayEstimate }: HistogramOptions,
): Promise<RequestHistogram> => {
  const { search, sinceUs, untilUs } = filter;
  const until = untilUs === undefined ? now : new Date(Math.ceil(untilUs / 1_000));
  const since = sinceUs === undefined ? await firstReceived(log, filter, until) : new Date(Math.floor(sinceUs / 1_000));
  const range = roundBuckets(since, until < since ? since : until);
  const countAll = (): Promise<number> => log.count({ sinceUs, untilUs });
  const read = async (oneIn: number) => {
    const buckets = await log.histogram(filter, { ...range, oneIn });
    const counts = buckets.map((bucket) => STATUS_CLASSES.map((name) => bucket.counts[name]));
    const matched = counts.flat().reduce((sum, count) => sum + count, 0);
    return { from: range.from.toISOString(), widthMs: range.widthMs, counts, matched, isEstimate: oneIn > 1 };
  };
  if (search === undefined || search.kind === 'everything') {
    const view = await read(1);
    return { ...view, total: view.matched };
  }
  if (mayEstimate && readsContents(search)) {
    const total = await countAll();
    const view = await read(Math.max(1, Math.ceil(total / SEARCHED_ROWS_MAX)));
    return { ...view, matched: Math.min(view.matched, total), total };
  }
  const [view, total] = await Promise.all([read(1), countAll()]);
  return { ...view, total };
};
