import { LIMITS } from '@standin/contract';
import { decodeSegment } from './parameter-value.ts';
import { hasParameters } from './path-pattern.ts';

/** Of text that differs in case, or of which one begins with the other, such as `order` and `orders`. */
const SIMILAR_TEXT_COST = 1;
const OTHER_TEXT_COST = 2;
const OTHER_METHOD_COST = 0.5;

/**
 * Returns the endpoints whose slugs are similar to a path that they do not match, the most similar first. A similar slug has
 * literal text in common with the path, and at least half of its segments.
 */
export const nearestPaths = <T extends { readonly slug: string; readonly method: string }>(
  endpoints: readonly T[],
  { method, path }: { readonly method: string; readonly path: string },
): readonly T[] => {
  const segments = pathSegments(path);
  return endpoints
    .map((endpoint) => ({ endpoint, cost: distance(pathSegments(endpoint.slug), segments) }))
    .filter(({ cost }) => cost !== undefined)
    .map(({ endpoint, cost = 0 }) => ({ endpoint, cost: endpoint.method === method ? cost : cost + OTHER_METHOD_COST }))
    .sort((a, b) => a.cost - b.cost)
    .map(({ endpoint }) => endpoint);
};

/** Ignores a trailing slash, because it is easily overlooked. No slug has more segments than are returned. */
const pathSegments = (path: string): readonly string[] =>
  path.slice(1).replace(/\/$/, '').split('/', LIMITS.slugLengthMax);

/** Returns undefined if the slug is not similar. */
const distance = (wanted: readonly string[], segments: readonly string[]): number | undefined => {
  const isRest = wanted.at(-1)?.endsWith('...}') === true;
  const length = isRest ? wanted.length : Math.max(wanted.length, segments.length);
  let cost = (length - wanted.length) * OTHER_TEXT_COST;
  let isSimilar = false;
  for (const [index, text] of wanted.entries()) {
    const added = segmentCost(text, segments[index]);
    if (added < OTHER_TEXT_COST && !hasParameters(text)) isSimilar = true;
    cost += added;
  }
  return isSimilar && cost <= length * (OTHER_TEXT_COST / 2) ? cost : undefined;
};

const segmentCost = (wanted: string, segment: string | undefined): number => {
  if (segment === undefined) return OTHER_TEXT_COST;
  if (wanted === segment) return 0;
  if (hasParameters(wanted)) {
    if (decodeSegment(segment) === undefined) return OTHER_TEXT_COST;
    return segment.endsWith(wanted.slice(wanted.indexOf('}') + 1)) ? 0 : SIMILAR_TEXT_COST;
  }
  return isSimilarText(wanted.toLowerCase(), segment.toLowerCase()) ? SIMILAR_TEXT_COST : OTHER_TEXT_COST;
};

const isSimilarText = (a: string, b: string): boolean => a !== '' && b !== '' && (a.startsWith(b) || b.startsWith(a));
