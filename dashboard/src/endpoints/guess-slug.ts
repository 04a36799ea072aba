import { capitalize, LIMITS, type ResourceObject } from '@standin/contract';
import { decodeSegment, hasParameters, matchesPattern, parsePathPattern, patternShape } from '@standin/responses';
import { endpointSpec } from '../resources/specs.ts';

const LITERAL = /^(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+$/;
const DOTS = /^(?:\.|%2e){1,2}$/i;
const INTEGER = /^\d+$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i;
/** Matches digests and the ids of MongoDB, which are too long to be words. */
const HEX = /^(?=.*\d)[0-9a-f]{16,}$/i;

const isId = (segment: string): boolean => [INTEGER, UUID, ULID, HEX].some((pattern) => pattern.test(segment));

/**
 * Returns the slug of an endpoint for a captured path (latin1), with a parameter for each segment that looks like an id and for
 * text that a slug cannot contain: `/orders/1001` becomes `/orders/{orderId}`. Returns undefined if no slug matches the path.
 */
export const guessSlug = (path: string): string | undefined => {
  if (path.length > LIMITS.slugLengthMax || !path.startsWith('/')) return undefined;
  const segments = path.slice(1).split('/');
  const names = new Set<string>();
  const guessed = segments.map((segment, index) => {
    if (isLiteral(segment, index, segments) && !isId(segment)) return segment;
    const name = freeName(parameterName(segments[index - 1] ?? ''), names);
    names.add(name);
    return `{${name}}`;
  });
  const slug = `/${guessed.join('/')}`;
  const parsed = hasParameters(slug) ? parsePathPattern(slug) : undefined;
  const isMatch = slug.length <= LIMITS.slugLengthMax && parsed?.ok === true && matchesPattern(parsed.pattern, path);
  return isMatch ? slug : literalSlug(path);
};

/** Returns whether a slug can contain a segment as it is. Only the last segment can be empty. */
const isLiteral = (segment: string, index: number, segments: readonly string[]): boolean =>
  segment === '' ? index === segments.length - 1 : LITERAL.test(segment) && !DOTS.test(segment);

/** Returns the path itself, or undefined if it cannot be a slug. */
const literalSlug = (path: string): string | undefined =>
  path.slice(1).split('/').every(isLiteral) ? path : undefined;

/** Returns a name for the segment after this one: `orderId` after `orders`, and `id` if no name can be derived. */
const parameterName = (before: string): string => {
  const words = (decodeSegment(before) ?? '').split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  const [first = '', ...others] = words.map((word) => word.toLowerCase());
  const noun = singular([first, ...others.map(capitalize)].join(''));
  const isNoun = /^[a-z]{2}/.test(noun) && noun.length <= NOUN_LENGTH_MAX && !isId(before);
  return isNoun ? `${noun}Id` : 'id';
};

/** Leaves space for `Id` and a number in the name of a parameter, and keeps it readable. */
const NOUN_LENGTH_MAX = 40;

const singular = (noun: string): string => {
  if (noun.endsWith('ies')) return `${noun.slice(0, -3)}y`;
  if (/(?:s|x|ch|sh)es$/.test(noun)) return noun.slice(0, -2);
  return /[^sui]s$/.test(noun) ? noun.slice(0, -1) : noun;
};

const freeName = (name: string, taken: ReadonlySet<string>): string => {
  let free = name;
  for (let count = 2; taken.has(free); count += 1) free = `${name}${count}`;
  return free;
};

/** The slug for a new endpoint, or the name of the endpoint that already matches exactly this path. */
export type SlugForPath = { readonly slug: string } | { readonly taken: string };

/**
 * Returns a slug that matches the path and that no other endpoint has. Prefers a slug with parameters. A path that cannot be a slug
 * is returned as it is, so that the form shows the error.
 */
export const slugForPath = (endpoints: readonly ResourceObject[], method: string, path: string): SlugForPath => {
  const shapes = new Map<string, string>();
  for (const object of endpoints) {
    const { slug, method: served } = endpointSpec(object);
    if (typeof slug === 'string' && served === method) shapes.set(shape(slug), object.metadata.name);
  }
  const slugs = [...new Set([guessSlug(path), literalSlug(path)])].filter((slug) => slug !== undefined);
  const free = slugs.find((slug) => !shapes.has(shape(slug)));
  const [first = path] = slugs;
  const taken = shapes.get(shape(first));
  if (free === undefined && taken !== undefined) return { taken };
  return { slug: (free ?? path).slice(0, LIMITS.slugLengthMax) };
};

const shape = (slug: string): string => {
  const parsed = hasParameters(slug) ? parsePathPattern(slug) : undefined;
  return parsed?.ok === true ? patternShape(parsed.pattern) : slug;
};
