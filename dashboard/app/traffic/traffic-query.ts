import { readTimeRange, type TimeRange } from '../requests/time-range.ts';

/** The whole state of the Traffic screen, which a reload or a pasted link restores. */
export interface TrafficQuery {
  /** A search, as the user types it. */
  readonly q: string;
  readonly range: TimeRange;
  /** The user stopped the tail. */
  readonly isPaused: boolean;
  /** Id of the open request. */
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

/** As URL parameters. Default values are left out. */
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

/** Whether two URLs show the same rows. The open request and its tab do not matter. */
export const isSameList = (a: URLSearchParams, b: URLSearchParams): boolean =>
  ['q', 'from', 'to'].every((name) => (a.get(name) ?? '') === (b.get(name) ?? ''));
