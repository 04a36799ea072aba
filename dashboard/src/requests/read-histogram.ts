import { HISTOGRAM_BUCKETS_MAX, STATUS_CLASSES, type CountFilter } from '@standin/logstore';
import { readsContents } from '@standin/exchange/search';
import type { ProjectLog } from '../backend.ts';

const SECOND_MS = 1_000;
/** Bucket widths that are easy to read. The last one fits two years into the maximum number of buckets. */
const BUCKET_MS = [
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * SECOND_MS),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60 * SECOND_MS),
  ...[1, 2, 3, 6, 12, 24, 48, 168].map((hours) => hours * 3_600 * SECOND_MS),
];
const SPAN_MS_MIN = 60 * SECOND_MS;

/** Buckets begin at round times. */
const bucketsOf = (since: Date, until: Date) => {
  const start = Math.min(since.getTime(), until.getTime() - SPAN_MS_MIN);
  const span = until.getTime() - start;
  // Rounding both ends may add one bucket.
  const widthMs =
    BUCKET_MS.find((width) => span / width <= HISTOGRAM_BUCKETS_MAX - 1) ??
    Math.ceil(span / (HISTOGRAM_BUCKETS_MAX - 1) / SECOND_MS) * SECOND_MS;
  const from = Math.floor(start / widthMs) * widthMs;
  const buckets = Math.max(1, Math.ceil((until.getTime() - from) / widthMs));
  return { from: new Date(from), to: new Date(from + buckets * widthMs), buckets, widthMs };
};

type Filter = Omit<CountFilter, 'projectUid'>;

/** For a range without a beginning: where the log begins. */
const beginningOf = async (log: ProjectLog, { until }: Filter, now: Date): Promise<Date> => {
  const [first] = await log.summaries({ until, order: 'oldest-first', limit: 1 });
  return first === undefined ? new Date((until ?? now).getTime() - SPAN_MS_MIN) : new Date(first.receivedAt);
};

/** The headers and bodies of this many rows are read and searched within a second. */
const SEARCHED_ROWS_MAX = 500_000;

/** Requests over time. */
export interface RequestHistogram {
  /** The start of the first bucket, RFC 3339. */
  readonly from: string;
  readonly widthMs: number;
  /** The counts by bucket, then in the order of `STATUS_CLASSES`. */
  readonly counts: readonly (readonly number[])[];
  /** Requests that match the search. */
  readonly matched: number;
  /** Requests in the time range. */
  readonly total: number;
  /** `matched` and `counts` are from a sample, because exact ones take seconds. */
  readonly isEstimate: boolean;
}

export interface HistogramOptions {
  /** Counts that take longer than a second are estimated. */
  readonly mayEstimate: boolean;
}

/** Requests over time by status class, the number of matches, and the number of all requests in that time. */
export const readHistogram = async (
  log: ProjectLog,
  filter: Filter,
  now: Date,
  { mayEstimate }: HistogramOptions,
): Promise<RequestHistogram> => {
  const { search } = filter;
  const until = filter.until ?? now;
  const since = filter.since ?? (await beginningOf(log, filter, now));
  const range = bucketsOf(since, until < since ? since : until);
  const countAll = (): Promise<number> => log.count({ since: filter.since, until: filter.until });
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
