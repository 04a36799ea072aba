/** The decoded segments that each parameter matched, by its name. Only a `{name...}` parameter has more than one segment. */
export type PathParameters = ReadonlyMap<string, readonly string[]>;

const PLAIN = /^[!-$&-~]+$/;

/**
 * Decodes the percent-encoding of a path segment (latin1, as received). Returns undefined if a parameter cannot have this value: an
 * empty segment, `.` or `..`, a segment with a NUL character, and one that is not UTF-8 or has an incomplete escape.
 */
export const decodeSegment = (segment: string): string | undefined => {
  const value = PLAIN.test(segment) ? segment : decodeEscapes(segment);
  return value === '' || value === '.' || value === '..' || value?.includes('\0') ? undefined : value;
};

const decodeEscapes = (segment: string): string | undefined => {
  // HTTP allows the bytes of UTF-8 in a request target without escapes.
  const escaped = segment.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
  try {
    return decodeURIComponent(escaped);
  } catch {
    return undefined;
  }
};

/** Returns a parameter's value as text. The segments of a `{name...}` parameter are joined with slashes. */
export const parameterText = (parameters: PathParameters, name: string): string | undefined =>
  parameters.get(name)?.join('/');
