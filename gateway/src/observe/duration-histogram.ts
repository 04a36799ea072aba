import type { Metric, Registry } from 'prom-client';

/** The upper bounds of the buckets, in seconds. A mock takes a fraction of a millisecond, an upstream takes up to its timeout. */
const DURATION_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60] as const;

type Labels = Readonly<Record<string, string>>;

/** Counts durations by bucket. A Histogram of prom-client would take 0.5 µs for each, most of it for its labels. */
export class DurationCounts {
  /** Durations by the index of `DURATION_BUCKETS`, and those above all of them. */
  readonly #buckets = new Float64Array(DURATION_BUCKETS.length + 1);
  #seconds = 0;

  add(seconds: number): void {
    let bucket = 0;
    while (seconds > (DURATION_BUCKETS[bucket] ?? Infinity)) bucket += 1;
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
    this.#seconds += seconds;
  }

  /** Returns the series of a histogram with this name. Each bucket includes the ones before it. */
  series(name: string, labels: Labels): readonly object[] {
    let count = 0;
    const buckets = Array.from(this.#buckets, (inBucket, index) => {
      count += inBucket;
      const le = DURATION_BUCKETS[index] ?? '+Inf';
      return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: this.#seconds },
      { metricName: `${name}_count`, labels, value: count },
    ];
  }
}

export interface DurationHistogramOptions {
  readonly name: string;
  readonly help: string;
  /** Returns the counts with their labels. Called at each scrape. */
  readonly read: () => readonly (readonly [Labels, DurationCounts])[];
}

/** Adds a histogram to the registry. */
export const exposeDurations = (registry: Registry, { name, help, read }: DurationHistogramOptions): void => {
  const histogram = {
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    get() {
      return Promise.resolve({ ...this, values: read().flatMap(([labels, counts]) => counts.series(name, labels)) });
    },
  };
  // The registry calls only `get`.
  registry.registerMetric(histogram as unknown as Metric);
};
