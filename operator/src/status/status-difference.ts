import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '@standin/contract';

export type StatusFields = Readonly<Record<string, unknown>>;

/**
 * The merge patch (RFC 7396) from one status to another. Undefined if there is no difference. Fields that `desired` does not
 * contain stay unchanged, also in nested objects. A field that is present and undefined is removed.
 */
export const statusDifference = (before: StatusFields, desired: StatusFields): StatusFields | undefined => {
  const patch: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(desired)) {
    const current = before[name];
    if (isRecord(value) && isRecord(current)) {
      const nested = statusDifference(current, value);
      if (nested !== undefined) patch[name] = nested;
    } else if (!isDeepStrictEqual(current, value)) patch[name] = value ?? null;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
};
