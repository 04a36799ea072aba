import { isRecord } from '@standin/contract';

/**
 * Applies a JSON merge patch (RFC 7396): `null` removes a field, objects are merged, and all other values replace the earlier ones.
 * Does not change its arguments.
 */
export const mergePatch = (target: unknown, patch: unknown): unknown => {
  if (!isRecord(patch)) return patch;
  const merged = new Map(Object.entries(isRecord(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key), value));
  }
  return Object.fromEntries(merged);
};

const sortKeys = (_: string, value: unknown): unknown =>
  isRecord(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;

/** Produces the same text for the same data, regardless of the order of its keys. */
export const canonicalJson = (value: unknown): string => JSON.stringify(value ?? null, sortKeys);
