import { decodeSegment, type PathPattern } from '@standin/responses';

/** A segment of a path with parameters that are not all of it, such as `{name}-{size}.png`. Has one text more than names. */
interface MixedSegment {
  readonly texts: readonly string[];
  readonly names: readonly string[];
}

/** A path of a contract, whose texts are normal. */
export interface PathTemplate {
  readonly segments: readonly MixedSegment[];
  /** Undefined if an Endpoint cannot have such a path. */
  readonly pattern: PathPattern | undefined;
}

const PARAMETER = /\{([^{}]+)\}/g;

/** Parses a path that begins with `/`. */
export const parsePathTemplate = (path: string): PathTemplate => {
  const segments = path
    .slice(1)
    .split('/')
    .map((text) => ({
      texts: text.split(/\{[^{}]+\}/).map(encodedText),
      names: Array.from(text.matchAll(PARAMETER), ([, name = '']) => name),
    }));
  const pattern = segments.flatMap(patternSegment);
  return { segments, pattern: pattern.length === segments.length ? pattern : undefined };
};

/** Returns a text of a contract as it is in the path of a request. */
const encodedText = (text: string): string =>
  normalPath(text.toWellFormed().replaceAll(/[^\x21-\x7e]/gu, encodeURIComponent));

const UNRESERVED = /[\w.~-]/;

/**
 * Returns the same text for paths that RFC 3986 (section 6.2.2) calls equivalent, such as `/%61` and `/a`, or `/%c3%a9` and the bytes of `é`.
 *
 * @param path latin1, as received
 */
export const normalPath = (path: string): string =>
  path.replaceAll(/[^\x21-\x7e]|%([0-9a-fA-F]{2})/g, (found, digits?: string) => {
    if (digits === undefined) return escaped(found);
    const character = String.fromCharCode(Number.parseInt(digits, 16));
    return UNRESERVED.test(character) ? character : escaped(character);
  });

const escaped = (byte: string): string => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;

const patternSegment = ({ texts: [before = '', after = ''], names }: MixedSegment): PathPattern => {
  const [name] = names;
  if (name === undefined) return [{ kind: 'literal', text: before }];
  if (names.length > 1 || before !== '') return [];
  if (after === '') return [{ kind: 'parameter', name }];
  return /^[:.][^:.]+$/.test(after) ? [{ kind: 'suffixed', name, text: after }] : [];
};

/** Letters in the order of precedence, as those of `patternArrangement`. */
export const templateArrangement = ({ segments }: PathTemplate): string =>
  segments
    .map(({ texts, names }) => (names.length === 0 ? 'L' : texts.every((text) => text === '') ? 'P' : 'M'))
    .join('');

/**
 * Returns the values of the parameters, as received. Undefined if the path does not match.
 *
 * @param received the segments of a normal path
 */
export const matchTemplate = (
  { segments }: PathTemplate,
  received: readonly string[],
): ReadonlyMap<string, string> | undefined => {
  if (received.length !== segments.length) return undefined;
  // Fast, because a contract can have thousands of such paths.
  if (!segments.every(({ texts: [first = ''] }, index) => received[index]?.startsWith(first))) return undefined;
  const values = new Map<string, string>();
  for (const [index, segment] of segments.entries())
    if (!matchSegment(segment, received[index] ?? '', values)) return undefined;
  return values;
};

/** The segment begins with the first text. Each text is found at its first place, so that this takes linear time. */
const matchSegment = ({ texts, names }: MixedSegment, received: string, values: Map<string, string>): boolean => {
  const [first = ''] = texts;
  if (names.length === 0) return received === first;
  let from = first.length;
  for (const [index, name] of names.entries()) {
    const text = texts[index + 1] ?? '';
    const isLast = index === names.length - 1;
    if (isLast && !received.endsWith(text)) return false;
    // Two parameters without text between them: the first one gets one character.
    const end = isLast ? received.length - text.length : text === '' ? from + 1 : received.indexOf(text, from + 1);
    if (end <= from || decodeSegment(received.slice(from, end)) === undefined) return false;
    values.set(name, received.slice(from, end));
    from = end + text.length;
  }
  return true;
};
