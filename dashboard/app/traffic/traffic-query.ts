import { readTimeRange, type TimeRange } from '../requests/time-range.ts';

/** The state of the Traffic screen. It is stored in the URL, so that a reload or a link restores it. */
export interface TrafficQuery {
  /** The search as typed by the user. */
  readonly q: string;
  readonly range: TimeRange;
  /** True if the user has stopped the tail, which is the stream of new requests. */
  readonly isPaused: boolean;
  /** The id of the open request. */
  readonly sel: string | undefined;
  /** The open tab of that request. */
  readonly tab: string;
}

export const readTrafficQuery = (params: URLSearchParams): TrafficQuery => ({
  q: params.get('q')?.trim() ?? '',
  range: readTimeRange(params.get('from'), params.get('to')),
  isPaused: params.get('live') === '0',
  sel: params.get('sel') ?? undefined,
  tab: params.get('tab') ?? '',
});

/** Converts the state to URL parameters. Omits default values. */
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

/** Returns whether two URLs show the same rows. Ignores all other parameters, such as the open request and its tab. */
export const isSameList = (a: URLSearchParams, b: URLSearchParams): boolean =>
  ['q', 'from', 'to'].every((name) => (a.get(name) ?? '') === (b.get(name) ?? ''));
