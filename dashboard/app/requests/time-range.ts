import { parseDuration, parseInstant } from '@standin/contract';

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

export interface Instants {
  readonly since: Date | undefined;
  /** The exclusive end of the range. */
  readonly until: Date | undefined;
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

const instant = (text: string | undefined, now: Date): Date | undefined => {
  if (text === undefined) return undefined;
  const age = parseDuration(text);
  if (age !== undefined) return new Date(now.getTime() - age);
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
  since: instant(from, now),
  until: instant(to, now),
});

/** Returns whether the range includes new requests. */
export const isOpenEnded = ({ to }: TimeRange): boolean => to === undefined;

/** Formats a time in RFC 3339 and omits zero milliseconds: `2026-11-21T10:04:05Z`. */
const timeText = (at: Date): string => at.toISOString().replace('.000Z', 'Z');

/** Returns a range that selects the same requests for every user at any time. */
export const absoluteRange = (since: Date | undefined, until: Date): TimeRange => ({
  from: since && timeText(since),
  to: timeText(until),
});

/** Converts the range to fixed times, relative to `now`. */
export const fixedRange = (range: TimeRange, now: Date): TimeRange => {
  const { since, until = now } = resolveRange(range, now);
  return absoluteRange(since, until);
};

/** Returns a label such as `Last hour`. Returns undefined if the range has no name. */
export const presetLabel = ({ from, to }: TimeRange): string | undefined => {
  if (to !== undefined) return undefined;
  const preset = PRESETS.find((known) => known.from === from);
  return preset?.label ?? (from !== undefined && parseDuration(from) !== undefined ? `Last ${from}` : undefined);
};

/**
 * Returns a range four times as wide around the same center. If the wider range would reach the present, it has no end and includes
 * new requests. Returns all time if the wider range would be longer than 30 days, or if the given range has no start.
 */
export const widerRange = ({ since, until }: Instants, now: Date): TimeRange => {
  if (since === undefined) return ALL_TIME;
  const end = until ?? now;
  const span = Math.max(1_000, end.getTime() - since.getTime());
  const widest = 30 * 86_400_000;
  if (span * 4 > widest) return ALL_TIME;
  const from = new Date(since.getTime() - span * 1.5);
  const to = new Date(end.getTime() + span * 1.5);
  return to >= now ? { from: timeText(from), to: undefined } : absoluteRange(from, to);
};
