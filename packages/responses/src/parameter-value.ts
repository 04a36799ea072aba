/** The decoded segments that each parameter matched, by the parameter's name. Only `{name...}` can match more than one segment. */
export type PathParameters = ReadonlyMap<string, readonly string[]>;

const TRAVERSAL = /(?:^|[/\\])\.{1,2}(?:[/\\]|$)/;
const PLAIN = /^[!-$&-~]+$/;

/**
 * Decodes the percent-encoding of a path segment (latin1, as received). Returns undefined if no parameter can have this value,
 * because the segment is empty, contains a NUL character, is not UTF-8, has an incomplete escape, or contains `.` or `..` between
 * decoded slashes or backslashes, which some servers resolve.
 */
export const decodeSegment = (segment: string): string | undefined => {
  const value = PLAIN.test(segment) ? segment : decodeEscapes(segment);
  return value === undefined || value === '' || value.includes('\0') || TRAVERSAL.test(value) ? undefined : value;
};

const decodeEscapes = (segment: string): string | undefined => {
  // Node accepts a request target with bytes of UTF-8 that are not escaped.
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
