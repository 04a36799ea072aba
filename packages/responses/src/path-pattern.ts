import { LIMITS } from '@standin/contract';

/**
 * A parameter of a path. A `suffixed` one has text after it, such as `:cancel`. `rest` matches one or more segments at the end of a
 * path, of which each can be empty.
 */
export type PatternParameter =
  | { readonly kind: 'suffixed'; readonly name: string; readonly text: string }
  | { readonly kind: 'parameter' | 'rest'; readonly name: string };

/** A segment of a path with parameters. */
export type PatternSegment = { readonly kind: 'literal'; readonly text: string } | PatternParameter;

/** A path with parameters, such as `/v1/orders/{id}`, as the segments after its first slash. */
export type PathPattern = readonly PatternSegment[];

export type ParsedPattern =
  | { readonly ok: true; readonly pattern: PathPattern }
  /** What to change, as a phrase that begins in lower case and has no full stop. */
  | { readonly ok: false; readonly message: string };

const PARAMETER = /^\{([A-Za-z_][A-Za-z0-9_]*)(?:(\.\.\.)\}|\}([:.][^{}:.]+)?)$/;

/**
 * The words that CEL reserves (see "Syntax" in the language definition at cel.dev). They cannot be names of parameters, because CEL
 * expressions refer to a parameter as `path.NAME`.
 */
const RESERVED_NAMES: ReadonlySet<string> = new Set([
  ...['as', 'break', 'const', 'continue', 'else', 'false', 'for', 'function', 'if', 'import', 'in', 'let', 'loop'],
  ...['namespace', 'null', 'package', 'return', 'true', 'var', 'void', 'while'],
]);

/** A slug without braces is compared byte by byte. */
export const hasParameters = (slug: string): boolean => slug.includes('{') || slug.includes('}');

const refuse = (message: string): ParsedPattern => ({ ok: false, message });

/** Parses a slug that begins with `/` and has at least one brace. */
export const parsePathPattern = (slug: string): ParsedPattern => {
  const texts = slug.slice(1).split('/');
  if (texts.length > LIMITS.patternSegmentsMax)
    return refuse(`must have no more than ${LIMITS.patternSegmentsMax} segments if it has parameters`);
  const pattern: PatternSegment[] = [];
  const names = new Set<string>();
  for (const [index, text] of texts.entries()) {
    const segment = parseSegment(text);
    if (typeof segment === 'string') return refuse(segment);
    pattern.push(segment);
    if (segment.kind === 'literal') continue;
    if (segment.kind === 'rest' && index < texts.length - 1)
      return refuse(`must have ${text} as its last segment, because this parameter matches the rest of the path`);
    if (names.has(segment.name)) return refuse(`has two parameters named ${segment.name}: rename one of them`);
    names.add(segment.name);
  }
  if (names.size > LIMITS.patternParametersMax)
    return refuse(`must have no more than ${LIMITS.patternParametersMax} parameters`);
  return { ok: true, pattern };
};

/** Returns a description of the problem if the segment is not valid. */
const parseSegment = (text: string): PatternSegment | string => {
  if (!hasParameters(text)) return { kind: 'literal', text };
  const [, name, dots, suffix] = PARAMETER.exec(text) ?? [];
  if (name === undefined)
    return (
      `has the segment ${text}, but a parameter is a whole segment with a name in braces, such as {id}, or has a suffix that begins ` +
      'with its only : or ., such as {id}:cancel; a literal brace is %7B or %7D'
    );
  if (name.length > LIMITS.parameterNameLengthMax)
    return `has a parameter name with more than ${LIMITS.parameterNameLengthMax} characters: choose a shorter one`;
  if (RESERVED_NAMES.has(name))
    return `has a parameter named ${name}, which is a reserved word in CEL: choose another name`;
  if (suffix !== undefined) return { kind: 'suffixed', name, text: suffix };
  return { kind: dots === undefined ? 'parameter' : 'rest', name };
};

/** One letter for each kind of segment. Their alphabetical order is the order of precedence. */
const LETTERS = { literal: 'L', suffixed: 'M', parameter: 'P', rest: 'R' } as const;

/**
 * Returns the kinds of the segments as letters, such as `LLP`. If several patterns match a path, the one whose arrangement is first
 * in alphabetical order takes precedence: at the first segment that differs, a literal takes precedence over a parameter with a
 * suffix, that over a parameter, and a parameter over the rest. Patterns with the same arrangement that match the same path differ
 * only in the names of their parameters.
 */
export const patternArrangement = (pattern: PathPattern): string => pattern.map(({ kind }) => LETTERS[kind]).join('');

/** Returns the slug without the names of its parameters. Slugs with the same shape match the same paths. */
export const patternShape = (pattern: PathPattern): string => pattern.map(segmentShape).join('');

const segmentShape = (segment: PatternSegment): string => {
  switch (segment.kind) {
    case 'literal':
      return `/${segment.text}`;
    case 'suffixed':
      return `/{}${segment.text}`;
    case 'parameter':
      return '/{}';
    case 'rest':
      return '/{...}';
  }
};

export const parameterNames = (pattern: PathPattern): readonly string[] =>
  pattern.flatMap((segment) => (segment.kind === 'literal' ? [] : [segment.name]));
