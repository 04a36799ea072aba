import { formatShortTime, parseDuration, parseInstant } from '@standin/contract';

/**
 * The selected time range, as written in the URL. `from=15m` stays relative, so that a bookmark always shows the last 15 minutes.
 * "Copy link" uses RFC 3339 times, so that another user sees the same requests.
 */
export interface TimeRange {
  /** A duration such as `15m`, or a time in RFC 3339. Undefined if the range has no start. */
  readonly from: string | undefined;
  /** A duration such as `1h`, or a time in RFC 3339. Undefined if the range includes new requests. */
  readonly to: string | undefined;
}

/** In microseconds since the epoch. */
export interface Instants {
  readonly sinceUs: number | undefined;
  /** The exclusive end of the range. */
  readonly untilUs: number | undefined;
}

export const ALL_TIME: TimeRange = { from: undefined, to: undefined };

export const PRESETS = [
  { from: '15m', label: 'Last 15 minutes' },
  { from: '1h', label: 'Last hour' },
  { from: '24h', label: 'Last 24 hours' },
  { from: '7d', label: 'Last 7 days' },
  { from: undefined, label: 'All time' },
] as const;

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

const instant = (text: string | undefined, now: Date): number | undefined => {
  if (text === undefined) return undefined;
  const age = parseDuration(text);
  if (age !== undefined) return (now.getTime() - age) * 1_000;
  return RFC_3339.test(text) ? parseInstant(text) : undefined;
};

/** Reads the URL parameters. Ignores invalid times, so a mistyped URL may show too many requests but never an error. */
export const readTimeRange = (from: string | null, to: string | null): TimeRange => {
  const now = new Date();
  const known = (text: string | null): string | undefined =>
    text !== null && instant(text, now) !== undefined ? text : undefined;
  return { from: known(from), to: known(to) };
};

export const resolveRange = ({ from, to }: TimeRange, now: Date): Instants => ({
  sinceUs: instant(from, now),
  untilUs: instant(to, now),
});

/** Returns whether the range includes new requests. */
export const isOpenEnded = ({ to }: TimeRange): boolean => to === undefined;

/** Returns a range that selects the same requests for every user at any time. */
export const absoluteRange = (sinceUs: number | undefined, untilUs: number | undefined): TimeRange => ({
  from: sinceUs === undefined ? undefined : formatShortTime(sinceUs),
  to: untilUs === undefined ? undefined : formatShortTime(untilUs),
});

/** Converts the range to fixed times, relative to `now`. */
export const fixedRange = (range: TimeRange, now: Date): TimeRange => {
  const { sinceUs, untilUs = now.getTime() * 1_000 } = resolveRange(range, now);
  return absoluteRange(sinceUs, untilUs);
};

/** Returns a label such as `Last hour`. Returns undefined if the range has no name. */
export const presetLabel = ({ from, to }: TimeRange): string | undefined => {
  if (to !== undefined) return undefined;
  const preset = PRESETS.find((known) => known.from === from);
  return preset?.label ?? (from !== undefined && parseDuration(from) !== undefined ? `Last ${from}` : undefined);
};

export const SECOND_US = 1_000_000;
const WIDEST_US = 30 * 86_400 * SECOND_US;

/**
 * Returns a range four times as wide around the same center. If the wider range would reach the present, it has no end and includes
 * new requests. Returns all time if the wider range would be longer than 30 days, or if the given range has no start.
 */
export const widerRange = ({ sinceUs, untilUs }: Instants, now: Date): TimeRange => {
  if (sinceUs === undefined) return ALL_TIME;
  const nowUs = now.getTime() * 1_000;
  const end = untilUs ?? nowUs;
  const span = Math.max(SECOND_US, end - sinceUs);
  if (span * 4 > WIDEST_US) return ALL_TIME;
  const from = Math.floor(sinceUs - span * 1.5);
  const to = Math.ceil(end + span * 1.5);
  return absoluteRange(from, to >= nowUs ? undefined : to);
};
