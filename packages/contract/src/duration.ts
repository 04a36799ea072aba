import { ownMember } from './own-member.ts';

const WHOLE = /^(?:\d{1,15}(?:ms|[smhd]))+$/;
const PART = /(\d+)(ms|[smhd])/g;
const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
/** 100 years, so that a time this long ago is still a valid `Date`. */
const DURATION_MS_MAX = 36_525 * UNIT_MS.d;

/**
 * Returns the milliseconds of a duration such as `500ms`, `30s`, `1h30m` or `7d`. Returns undefined if the text is not a
 * duration, or if it is longer than 100 years.
 */
export const parseDuration = (text: string): number | undefined => {
  if (!WHOLE.test(text)) return undefined;
  const parts = [...text.matchAll(PART)];
  const ms = parts.reduce((sum, [, count, unit]) => sum + Number(count) * (ownMember(UNIT_MS, unit ?? '') ?? 0), 0);
  return ms > DURATION_MS_MAX ? undefined : ms;
};
