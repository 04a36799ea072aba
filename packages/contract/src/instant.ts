/** Formats microseconds since the epoch as RFC 3339 with microseconds, which is how the log shows times. */
export const formatTime = (us: number): string => {
  const milliseconds = Math.floor(us / 1_000);
  const micros = String(us - milliseconds * 1_000).padStart(3, '0');
  return `${new Date(milliseconds).toISOString().slice(0, -1)}${micros}Z`;
};

/** Formats microseconds since the epoch as RFC 3339, with a fraction only if there is one: `2026-11-21T10:04:05Z`. */
export const formatShortTime = (us: number): string => formatTime(us).replace(/\.?0+Z$/, 'Z');

const FORM = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(?::\d\d(?:\.(\d+))?)?(?:Z|[+-]\d\d:\d\d)?$/;

/**
 * Parses a time in ISO 8601 with a day and at least minutes, and returns microseconds since the epoch. Without an offset, the time is
 * local. Returns undefined if the text is not such a time. Unlike `Date`, does not read February 31 as a day in March.
 *
 * Rounds up to a microsecond. Captured requests have whole microseconds, so a range from or to the result contains the same requests
 * as the written one.
 */
export const parseInstant = (text: string): number | undefined => {
  const [, day = '', fraction = ''] = FORM.exec(text) ?? [];
  const [midnightMs, atMs] = [Date.parse(day), Date.parse(text.replace(`.${fraction}`, ''))];
  if (Number.isNaN(midnightMs) || Number.isNaN(atMs)) return undefined;
  if (!new Date(midnightMs).toISOString().startsWith(day)) return undefined;
  const isBetween = /[1-9]/.test(fraction.slice(6));
  return atMs * 1_000 + Number(fraction.slice(0, 6).padEnd(6, '0')) + Number(isBetween);
};
