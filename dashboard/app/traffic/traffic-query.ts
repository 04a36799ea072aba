import { readTimeRange, type TimeRange } from '../requests/time-range.ts';
import { DEFAULT_COLUMNS, OPTIONAL_COLUMNS, type OptionalColumn } from './table-columns.ts';

/** The state of the Traffic screen. It is stored in the URL, so that a reload or a link restores it. */
export interface TrafficQuery {
  /** The search as typed by the user. */
  readonly q: string;
  readonly range: TimeRange;
  /** True if the user has stopped the tail, which is the stream of new requests. */
  readonly isPaused: boolean;
  /** The optional columns of the list, in display order. */
  readonly columns: readonly OptionalColumn[];
  /** The id of the open request. */
  readonly sel: string | undefined;
  /** The open tab of that request. */
  readonly tab: string;
}

/** The value of `cols` if no optional column is shown. An empty value would be omitted from the URL. */
const NO_COLUMNS = 'none';

const readColumns = (text: string | null): readonly OptionalColumn[] => {
  if (text === null) return DEFAULT_COLUMNS;
  const names = text.split(' ');
  return OPTIONAL_COLUMNS.filter((column) => names.includes(column));
};

const columnsText = (columns: readonly OptionalColumn[]): string | undefined => {
  const text = OPTIONAL_COLUMNS.filter((column) => columns.includes(column)).join(' ');
  return text === DEFAULT_COLUMNS.join(' ') ? undefined : text || NO_COLUMNS;
};

export const readTrafficQuery = (params: URLSearchParams): TrafficQuery => ({
  q: params.get('q')?.trim() ?? '',
  range: readTimeRange(params.get('from'), params.get('to')),
  isPaused: params.get('live') === '0',
  columns: readColumns(params.get('cols')),
  sel: params.get('sel') ?? undefined,
  tab: params.get('tab') ?? '',
});

/** Converts the state to URL parameters. Omits default values. */
export const trafficParams = ({
  q,
  range: { from, to },
  isPaused,
  columns,
  sel,
  tab,
}: TrafficQuery): Readonly<Record<string, string | undefined>> => ({
  q,
  from,
  to,
  live: isPaused ? '0' : undefined,
  cols: columnsText(columns),
  sel,
  tab: sel === undefined ? undefined : tab,
});

/** Returns whether two URLs show the same rows. Ignores all other parameters, such as the open request and its tab. */
export const isSameList = (a: URLSearchParams, b: URLSearchParams): boolean =>
  ['q', 'from', 'to'].every((name) => (a.get(name) ?? '') === (b.get(name) ?? ''));
