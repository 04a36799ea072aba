import type { PathParameters } from './parameter-value.ts';
import { hasParameters, parameterNames, parsePathPattern, type PathPattern } from './path-pattern.ts';
import { matchesPattern, pathParameters } from './pattern-table.ts';
import { parseTemplateText } from './template-text.ts';

/** The parts of a URL: fixed text, and the names of path parameters between them. */
export interface UrlTemplate {
  /** Always has one element more than `names`. */
  readonly texts: readonly string[];
  readonly names: readonly string[];
}

export type ParsedUrlTemplate =
  | { readonly ok: true; readonly template: UrlTemplate }
  /** What to change, as a phrase that begins in lower case and has no full stop. */
  | { readonly ok: false; readonly message: string };

const REFERENCE = /^\s*path\.([A-Za-z_][A-Za-z0-9_]*)\s*$/;
/** The origin of a URL, and the first character after it. */
const ORIGIN = /^https?:\/\/[^/?#]*[/?]/;

const refuse = (message: string): ParsedUrlTemplate => ({ ok: false, message });

/**
 * Parses the upstream URL of an endpoint whose path has parameters: `${path.NAME}` inserts the value of a parameter. Expressions
 * are allowed only after the host, so a value never changes the server to which a request is sent.
 */
export const parseUrlTemplate = (url: string, pattern: PathPattern): ParsedUrlTemplate => {
  const parsed = parseTemplateText(url);
  if (!parsed.ok) return parsed;
  const { texts, slots } = parsed.template;
  const known = new Set(parameterNames(pattern));
  const names: string[] = [];
  for (const { source, index } of slots) {
    const slot = `\${${source}} at character ${index - 1}`;
    const name = REFERENCE.exec(source)?.[1];
    if (name === undefined) return refuse(`has ${slot}: only a path parameter can be inserted, such as \${path.id}`);
    if (names.includes(name)) return refuse(`has ${slot}, but each parameter can be inserted only once`);
    if (!known.has(name))
      return refuse(`has ${slot}, but the slug has no parameter {${name}}: add it, or use one that exists`);
    if (!ORIGIN.test(url.slice(0, index))) return refuse(`has ${slot}, but parameters are allowed only after the host`);
    // Together with the value, an incomplete escape could become another character, such as a dot.
    if (/%[0-9A-Fa-f]?$/.test(texts[names.length] ?? ''))
      return refuse(`has an incomplete percent-escape before ${slot}`);
    names.push(name);
  }
  return { ok: true, template: { texts, names } };
};

/**
 * Returns the URL with the values of the parameters, percent-encoded. The slashes between the segments of a `{name...}` parameter
 * stay. A slash inside a segment becomes `%2F`. No segment of a value is `.` or `..`, so the path stays below the template's fixed text.
 */
export const expandUrl = ({ texts, names }: UrlTemplate, parameters: PathParameters): string =>
  names.reduce(
    (url, name, index) =>
      url + (parameters.get(name) ?? []).map(encodeURIComponent).join('/') + (texts[index + 1] ?? ''),
    texts[0] ?? '',
  );

/**
 * Returns the upstream URL of a request with this path (latin1, as received), for an endpoint with this slug. Returns undefined if
 * the path does not match the slug, or if the slug or the URL is not valid.
 */
export const expandUrlFor = (slug: string, url: string, path: string): string | undefined => {
  if (!hasParameters(slug)) return url;
  const parsed = parsePathPattern(slug);
  const template = parsed.ok ? parseUrlTemplate(url, parsed.pattern) : parsed;
  if (!parsed.ok || !template.ok || !matchesPattern(parsed.pattern, path)) return undefined;
  return expandUrl(template.template, pathParameters(parsed.pattern, path));
};
