import type { LogSummary } from '@standin/exchange';

/** The fields of a request in the list. Only these fields are sent, because a list can have thousands of rows. */
export type TrafficRow = Pick<
  LogSummary,
  | 'id'
  | 'receivedAt'
  | 'method'
  | 'path'
  | 'query'
  | 'status'
  | 'durationMs'
  | 'bodyBytes'
  | 'endpoint'
  | 'outcome'
  | 'responseName'
>;

/** The position of the last row of a page. The next page starts after this row. */
export type RowCursor = Pick<TrafficRow, 'id' | 'receivedAt'>;

export const toTrafficRow = (summary: LogSummary): TrafficRow => {
  const { id, receivedAt, method, path, query, status, durationMs, bodyBytes, endpoint, outcome, responseName } =
    summary;
  return { id, receivedAt, method, path, query, status, durationMs, bodyBytes, endpoint, outcome, responseName };
};

/** The text of a UUID in the order of ClickHouse, which compares the second half first. */
const idInOrder = (id: string): string => id.slice(19) + id.slice(0, 18);

/**
 * Sorts newest first, as the pages of the log do. Times are RFC 3339 in UTC with microseconds, so they sort as text. Requests of
 * several gateways can have the same time.
 */
export const compareRows = (a: RowCursor, b: RowCursor): number => {
  if (a.receivedAt !== b.receivedAt) return a.receivedAt < b.receivedAt ? 1 : -1;
  return a.id === b.id ? 0 : idInOrder(a.id) < idInOrder(b.id) ? 1 : -1;
};

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

/** Formats milliseconds with up to three digits: `0.81 ms`, `214 ms`, `1.25 s`, `2 min 5 s`. */
export const formatDuration = (ms: number): string => {
  if (ms < 0.995) return `${ms.toFixed(2)} ms`;
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < MINUTE_MS) return `${(ms / SECOND_MS).toFixed(ms < 9_995 ? 2 : 1)} s`;
  const seconds = Math.round(ms / SECOND_MS);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
};

const UNITS = ['B', 'kB', 'MB', 'GB'] as const;

/** Formats bytes in decimal units, as in the search language: `0 B`, `1.2 kB`. */
export const formatBytes = (bytes: number): string => {
  const power = bytes < 1_000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), UNITS.length - 1);
  const value = bytes / 1_000 ** power;
  return `${power === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${UNITS[power] ?? 'B'}`;
};

const DURATION_LOG_MAX = Math.log10(10_000);

/**
 * Maps a duration from 1 ms to 10 s to a value from 0.04 to 1 on a logarithmic scale, which shows differences between mocks and
 * between slow upstreams.
 */
export const durationShare = (ms: number): number =>
  Math.min(1, Math.max(0.04, Math.log10(Math.max(1, ms)) / DURATION_LOG_MAX));

export type Zone = 'local' | 'utc';

/** Formats a time in the zone: `2026-11-21 10:04:05.123`. Omits the letters of ISO 8601 for readability. */
export const formatInstant = (at: Date, zone: Zone): string => {
  const shifted = zone === 'utc' ? at : new Date(at.getTime() - at.getTimezoneOffset() * MINUTE_MS);
  return shifted.toISOString().slice(0, 23).replace('T', ' ');
};

/** Formats a time today as `10:04:05.123`, and on any other day as `11-20 10:04:05.123`. */
export const formatRowTime = (receivedAt: string, zone: Zone, now: Date): string => {
  const text = formatInstant(new Date(receivedAt), zone);
  return text.slice(0, 10) === formatInstant(now, zone).slice(0, 10) ? text.slice(11) : text.slice(5);
};

/** Formats a number with thousands separators: `1,204`. */
export const formatCount = (count: number): string => new Intl.NumberFormat('en').format(count);

/** Returns the value for an `<input type=datetime-local step=1>`. */
export const toLocalInput = (at: Date, zone: Zone): string => formatInstant(at, zone).slice(0, 19).replace(' ', 'T');

/** Parses the value of an `<input type=datetime-local>`. Returns undefined if the value is not a time. */
export const fromLocalInput = (text: string, zone: Zone): Date | undefined => {
  const match = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?/.exec(text);
  if (match === null) return undefined;
  const at = new Date(zone === 'utc' ? `${match[0]}${match[1] === undefined ? ':00' : ''}Z` : match[0]);
  return Number.isNaN(at.getTime()) ? undefined : at;
};

/**
 * Formats a chart label as hours and minutes. Adds the day if the chart spans more than 36 hours, and the seconds if it spans less
 * than 5 minutes.
 */
export const formatTick = (at: Date, zone: Zone, spanMs: number): string => {
  const text = formatInstant(at, zone);
  if (spanMs > 36 * 3_600_000) return text.slice(5, 16);
  return spanMs < 5 * MINUTE_MS ? text.slice(11, 19) : text.slice(11, 16);
};

/** A page of the list, newest first. */
export interface RowPage {
  readonly rows: readonly TrafficRow[];
  readonly hasOlder: boolean;
}
