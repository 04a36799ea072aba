import { parsePathPattern, type PathPattern } from './path-pattern.ts';

/** Throws an error if the slug is not valid. */
export const validPattern = (slug: string): PathPattern => {
  const parsed = parsePathPattern(slug);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.pattern;
};
