import { parseDuration } from '@standin/contract';

/** The Gateway API's duration format (GEP-2257), for example `30s`, `500ms` or `1m30s`. */
export const DURATION_PATTERN = '([0-9]{1,5}(h|m|s|ms)){1,4}';

const WHOLE = new RegExp(`^${DURATION_PATTERN}$`);

/** Returns the milliseconds for a field such as `30s`, or `undefined` if the API server would reject the text. */
export const parseDurationField = (text: string): number | undefined =>
  WHOLE.test(text) ? parseDuration(text) : undefined;

/** Converts a duration that the schema has accepted to milliseconds. Throws a `RangeError` for any other text. */
export const durationMs = (text: string): number => {
  const ms = parseDurationField(text);
  if (ms === undefined) throw new RangeError(`not a duration: ${text}`);
  return ms;
};
