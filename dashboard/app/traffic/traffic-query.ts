import { readTimeRange, type TimeRange } from '../requests/time-range.ts';

/** The whole state of the Traffic screen: what a reload or a pasted link brings back. */
export interface TrafficQuery {
  /** A search, as people type it. */
  readonly q: string;
  readonly range: TimeRange;
  /** The tail was stopped by hand. */
  readonly isPaused: boolean;
  /** Id of the request that is open. */
  readonly sel: string | undefined;
  /** Of the open request: which part is looked at. */
  readonly tab: string;
}

export const readTrafficQuery = (params: URLSearchParams): TrafficQuery => ({
  q: params.get('q')?.trim() ?? '',
  range: readTimeRange(params.get('from'), params.get('to')),
  isPaused: params.get('live') === '0',
  sel: params.get('sel') ?? undefined,
  tab: params.get('tab') ?? '',
});

/** As addresses take it: what is as usual is not said. */
export const trafficParams = ({
  q,
  range: { from, to },
  isPaused,
  sel,
  tab,
}: TrafficQuery): Readonly<Record<string, string | undefined>> => ({
  ...{ q, from, to },
  live: isPaused ? '0' : undefined,
  sel,
  tab: sel === undefined ? undefined : tab,
});

/** Whether two addresses show the same rows; the open request and its tab do not matter for that. */
export const isSameList = (a: URLSearchParams, b: URLSearchParams): boolean =>
  ['q', 'from', 'to'].every((name) => (a.get(name) ?? '') === (b.get(name) ?? ''));
