/** The decoded segments that each parameter matched, by the parameter's name. Only `{name...}` can match more than one segment. */
export type PathParameters = ReadonlyMap<string, readonly string[]>;

const TRAVERSAL = /(?:^|[/\\])\.{1,2}(?:[/\\;]|$)/;
/** Characters that need no decoding, and no dot. */
const PLAIN = /^[!-$&-\-/-~]+$/;

/**
 * Returns whether a parameter can have a (decoded) value. It cannot be empty, contain a NUL character or a lone surrogate, or contain `.` or
 * `..` between slashes or backslashes, which some servers resolve. Some of them first remove what follows a `;`.
 */
export const isParameterValue = (value: string): boolean =>
  value !== '' && !value.includes('\0') && !TRAVERSAL.test(value) && value.isWellFormed();

/**
 * Decodes the percent-encoding of a path segment (latin1, as received). Returns undefined if no parameter can have this value,
 * or if the segment is not UTF-8 or has an incomplete escape.
 */
export const decodeSegment = (segment: string): string | undefined => {
  if (PLAIN.test(segment)) return segment;
  const value = decodeEscapes(segment);
  return value !== undefined && isParameterValue(value) ? value : undefined;
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

/** The segments of a `{name...}` parameter are joined with slashes. */
export const parameterText = (parameters: PathParameters, name: string): string | undefined =>
  parameters.get(name)?.join('/');
