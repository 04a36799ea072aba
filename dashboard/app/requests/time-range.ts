/**
 * Which time is looked at, as the URL says it: `from=15m` stays relative, so a bookmark always shows the last quarter of an hour;
 * RFC 3339 is what "Copy link" writes, so that somebody else sees the same.
 */
export interface TimeRange {
  /** `15m`, RFC 3339, or undefined: since ever. */
  readonly from: string | undefined;
  /** RFC 3339, or undefined: up to now, and what comes. */
  readonly to: string | undefined;
}

export interface Instants {
  readonly since: Date | undefined;
  /** Does not belong to it. */
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

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const AGE = /^(\d{1,5})([smhd])$/;

const ageMs = (text: string): number | undefined => {
  const [, count, unit = ''] = AGE.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * (UNIT_MS[unit] ?? 0);
};

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

const instant = (text: string | undefined, now: Date): Date | undefined => {
  if (text === undefined) return undefined;
  const age = ageMs(text);
  if (age !== undefined) return new Date(now.getTime() - age);
  const at = RFC_3339.test(text) ? new Date(text) : undefined;
  return at === undefined || Number.isNaN(at.getTime()) ? undefined : at;
};

/** What is no time is left out: a mistyped URL shows more, never an error. */
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

/** Whether what happens now is part of it. */
export const isOpenEnded = ({ to }: TimeRange): boolean => to === undefined;

/** Without needless precision: `2026-11-21T10:04:05Z`. */
const timeText = (at: Date): string => at.toISOString().replace('.000Z', 'Z');

/** A range that means the same for whoever opens it, whenever. */
export const absoluteRange = (since: Date | undefined, until: Date): TimeRange => ({
  from: since && timeText(since),
  to: timeText(until),
});

/** What a range is at this moment. */
export const fixedRange = (range: TimeRange, now: Date): TimeRange => {
  const { since, until = now } = resolveRange(range, now);
  return absoluteRange(since, until);
};

/** `Last hour`, or undefined where only times can say it. */
export const presetLabel = ({ from, to }: TimeRange): string | undefined => {
  if (to !== undefined) return undefined;
  const preset = PRESETS.find((known) => known.from === from);
  return preset?.label ?? (from !== undefined && ageMs(from) !== undefined ? `Last ${from}` : undefined);
};

/** Four times as much around the same middle, never the future; past a month it is all time. */
export const widerRange = ({ since, until }: Instants, now: Date): TimeRange => {
  const end = until ?? now;
  if (since === undefined) return until === undefined ? ALL_TIME : { from: undefined, to: undefined };
  const span = Math.max(1_000, end.getTime() - since.getTime());
  const widest = 30 * 86_400_000;
  if (span * 4 > widest) return ALL_TIME;
  const from = new Date(since.getTime() - span * 1.5);
  const to = new Date(end.getTime() + span * 1.5);
  return to >= now ? { from: timeText(from), to: undefined } : absoluteRange(from, to);
};
