/** Gateway API's form of durations (GEP-2257): `30s`, `500ms`, `1m30s`. */
export const DURATION_PATTERN = '([0-9]{1,5}(h|m|s|ms)){1,4}';

const WHOLE = new RegExp(`^${DURATION_PATTERN}$`);
const PART = /([0-9]{1,5})(ms|h|m|s)/g;
const UNIT_MS = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const;

/** Milliseconds of a duration such as `30s`; `undefined` if it is not one. */
export const parseDuration = (text: string): number | undefined =>
  WHOLE.test(text)
    ? [...text.matchAll(PART)].reduce((sum, [, count, unit]) => sum + Number(count) * UNIT_MS[unit as 's'], 0)
    : undefined;

/** Converts a duration that the schema has accepted to milliseconds. Throws a `RangeError` for any other text. */
export const durationMs = (text: string): number => {
  const ms = parseDuration(text);
  if (ms === undefined) throw new RangeError(`not a duration: ${text}`);
  return ms;
};
