import { LIMITS } from '@standin/contract';
import { decodeSegment, type PathParameters } from './parameter-value.ts';
import { patternArrangement, type PathPattern, type PatternParameter } from './path-pattern.ts';

/** The values of all patterns with one arrangement, by the literal text of the patterns. */
interface Arrangement<T> {
  readonly letters: string;
  readonly values: Map<string, T>;
}

/** The maximum length of a pattern's literal text, which is part of a slug. */
const LITERALS_LENGTH_MAX = LIMITS.slugLengthMax;

/**
 * Values by path pattern. Patterns of one shape (see `patternShape`) are one key.
 *
 * A search looks up the literal text of the path in each arrangement of the table, so its cost grows with the number of
 * arrangements, not with the number of patterns. A tree of segments would have to follow both the literal and the parameter at each
 * segment, which takes exponential time. `LIMITS.arrangementsMax` limits the arrangements that a path is compared with.
 */
export class PatternTable<T> {
  readonly #arrangements = new Map<string, Arrangement<T>>();
  /** The arrangements that a path with this number of segments can match, in order of precedence. Built when needed. */
  readonly #candidates = new Map<number, readonly Arrangement<T>[]>();

  get isEmpty(): boolean {
    return this.#arrangements.size === 0;
  }

  get(pattern: PathPattern): T | undefined {
    return this.#arrangements.get(patternArrangement(pattern))?.values.get(patternLiterals(pattern));
  }

  set(pattern: PathPattern, value: T): void {
    const letters = patternArrangement(pattern);
    let arrangement = this.#arrangements.get(letters);
    if (arrangement === undefined) {
      arrangement = { letters, values: new Map() };
      this.#arrangements.set(letters, arrangement);
      this.#candidates.clear();
    }
    arrangement.values.set(patternLiterals(pattern), value);
  }

  delete(pattern: PathPattern): void {
    const letters = patternArrangement(pattern);
    const arrangement = this.#arrangements.get(letters);
    if (arrangement?.values.delete(patternLiterals(pattern)) !== true || arrangement.values.size > 0) return;
    this.#arrangements.delete(letters);
    this.#candidates.clear();
  }

  /** Returns the values whose patterns match the path (latin1, as received), in order of precedence. */
  matches(path: string): readonly T[] {
    const found: T[] = [];
    this.find(path, (value) => {
      found.push(value);
      return undefined;
    });
    return found;
  }

  /** Calls `use` with the values whose patterns match the path, in order of precedence, and returns its first result. */
  find<Result>(path: string, use: (value: T) => Result | undefined): Result | undefined {
    if (!path.startsWith('/')) return undefined;
    const segments = path.slice(1).split('/');
    const isValue = valueCheck(segments);
    for (const { letters, values } of this.#candidatesFor(segments.length)) {
      const literals = matchedLiterals(segments, letters);
      const value = literals === undefined ? undefined : values.get(literals);
      if (value === undefined || !segments.every((_, index) => isValue(index, letters[index]))) continue;
      const result = use(value);
      if (result !== undefined) return result;
    }
    return undefined;
  }

  #candidatesFor(segments: number): readonly Arrangement<T>[] {
    // No pattern has more than `patternSegmentsMax` segments, so all paths that have more can match the same patterns.
    const count = Math.min(segments, LIMITS.patternSegmentsMax + 1);
    let candidates = this.#candidates.get(count);
    if (candidates === undefined) {
      candidates = [...this.#arrangements.values()]
        .filter(({ letters }) => letters.length === count || (letters.endsWith('R') && letters.length < count))
        .sort((a, b) => (a.letters < b.letters ? -1 : 1));
      this.#candidates.set(count, candidates);
    }
    return candidates;
  }
}

const patternLiterals = (pattern: PathPattern): string =>
  pattern.map((segment) => ('text' in segment ? `/${segment.text}` : '')).join('');

/**
 * Returns the path's text at the positions of literals and suffixes. Returns undefined if a segment has no suffix, or if the text is
 * too long to be in a table.
 */
const matchedLiterals = (segments: readonly string[], letters: string): string | undefined => {
  let literals = '';
  for (let index = 0; index < letters.length; index++) {
    const letter = letters[index];
    const segment = segments[index] ?? '';
    if (letter === 'L') literals += `/${segment}`;
    else if (letter === 'M') {
      const at = suffixStart(segment);
      if (at === undefined) return undefined;
      literals += `/${segment.slice(at)}`;
    }
    if (literals.length > LITERALS_LENGTH_MAX) return undefined;
  }
  return literals;
};

/** Returns where the suffix of a segment begins, which is its last `:` or `.`. Does not search for longer ones than are in a table. */
const suffixStart = (segment: string): number | undefined => {
  const end = Math.max(0, segment.length - LITERALS_LENGTH_MAX);
  for (let at = segment.length - 1; at >= end; at--) if (segment[at] === ':' || segment[at] === '.') return at;
  return undefined;
};

/**
 * Returns a function that checks whether a part of a pattern, as a letter of its arrangement, matches the segment at a position. The
 * rest of a path has no letter after its first one. Decodes each value at most once.
 */
const valueCheck = (segments: readonly string[]): ((index: number, letter: string | undefined) => boolean) => {
  const whole: (boolean | undefined)[] = [];
  const beforeSuffix: (boolean | undefined)[] = [];
  return (index, letter) => {
    const segment = segments[index] ?? '';
    switch (letter) {
      case 'L':
        return true;
      case 'M':
        return (beforeSuffix[index] ??= decodeSegment(segment.slice(0, suffixStart(segment))) !== undefined);
      case 'P':
        return (whole[index] ??= decodeSegment(segment) !== undefined);
      default:
        return segment === '' || (whole[index] ??= decodeSegment(segment) !== undefined);
    }
  };
};

export const matchesPattern = (pattern: PathPattern, path: string): boolean => {
  const table = new PatternTable<true>();
  table.set(pattern, true);
  return table.find(path, (isMatch) => isMatch) === true;
};

/** Returns the decoded values. The path must match the pattern. */
export const pathParameters = (pattern: PathPattern, path: string): PathParameters => {
  const segments = path.slice(1).split('/');
  const parameters = new Map<string, readonly string[]>();
  for (const [index, segment] of pattern.entries()) {
    if (segment.kind === 'literal') continue;
    const matched = matchedSegments(segment, segments, index);
    parameters.set(
      segment.name,
      matched.map((text) => decodeSegment(text) ?? ''),
    );
  }
  return parameters;
};

/** Returns what the parameter at a position of a pattern matches, in latin1 as received. The segments must match the pattern. */
export const matchedSegments = (
  parameter: PatternParameter,
  segments: readonly string[],
  index: number,
): readonly string[] => {
  if (parameter.kind === 'rest') return segments.slice(index);
  const whole = segments[index] ?? '';
  return [parameter.kind === 'suffixed' ? whole.slice(0, -parameter.text.length) : whole];
};
