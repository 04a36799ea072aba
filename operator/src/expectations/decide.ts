import type { EachCount } from '@standin/logstore';

/** The numbers of matching requests that are right, both inclusive. Without a maximum, `max` is Infinity. */
export interface ExpectedCount {
  readonly min: number;
  readonly max: number;
}

export interface Decision {
  readonly kind: 'met' | 'unmet' | 'open';
  /** The number of matching requests that is certain. */
  readonly matched: number;
  /** Whether the decision depends on the requests that are not in the log. */
  readonly needsAll: boolean;
}

/**
 * Decides whether the count is right, or whether requests that are not in the log can still change that.
 *
 * @param isComplete whether every request of the time range was in the log before it was counted. What a gateway has delivered of a
 * request without a response is then final.
 */
export const decide = (
  { min, max }: ExpectedCount,
  { certain, withoutResponse, inProgress }: EachCount,
  isComplete: boolean,
): Decision => {
  const matched = isComplete ? certain + withoutResponse : certain;
  const most = isComplete ? matched + inProgress : Infinity;
  if (matched > max || (matched >= min && max === Infinity))
    return { kind: matched > max ? 'unmet' : 'met', matched, needsAll: false };
  if (most < min) return { kind: 'unmet', matched, needsAll: true };
  if (matched >= min && most <= max) return { kind: 'met', matched, needsAll: true };
  return { kind: 'open', matched, needsAll: true };
};
