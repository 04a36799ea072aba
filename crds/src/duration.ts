import { parseDuration } from '@standin/contract';
import { matches, type Rule } from './rules.ts';

/** The Gateway API's duration format (GEP-2257), for example `30s`, `500ms` or `1m30s`. */
const DURATION_PATTERN = '([0-9]{1,5}(h|m|s|ms)){1,4}';

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

/** Returns the rules for a duration field. `minMs` must be a second or less, and `maxMs` must be whole minutes, or whole hours above one hour. */
export const durationRules = (minMs: number, maxMs: number): readonly Rule<string>[] => [
  matches(DURATION_PATTERN, 'must be a duration such as 30s, 500ms or 1m30s'),
  {
    cel:
      `!self.matches('^${DURATION_PATTERN}$') || ` +
      `(duration(self) >= duration('${minMs}ms') && duration(self) <= duration('${maxMs}ms'))`,
    holds: (self) => {
      const ms = parseDurationField(self);
      return ms === undefined || (ms >= minMs && ms <= maxMs);
    },
    message: `must be between ${minMs === 1_000 ? '1s' : `${minMs}ms`} and ${maxMs <= 3_600_000 ? `${maxMs / 60_000}m` : `${maxMs / 3_600_000}h`}`,
  },
];

/** Requires that `high` is not shorter than `low`. Both are names of required duration fields. */
export const notShorterThan = <Low extends string, High extends string>(
  high: High,
  low: Low,
): Rule<Readonly<Record<Low | High, string>>> => ({
  cel:
    `!self.${low}.matches('^${DURATION_PATTERN}$') || !self.${high}.matches('^${DURATION_PATTERN}$') || ` +
    `duration(self.${high}) >= duration(self.${low})`,
  holds: (self) => {
    const [lowMs, highMs] = [parseDurationField(self[low]), parseDurationField(self[high])];
    return lowMs === undefined || highMs === undefined || highMs >= lowMs;
  },
  message: `must not be shorter than ${low}`,
  field: high,
});
