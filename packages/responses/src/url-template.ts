import { decodeSegment } from './parameter-value.ts';
import { hasParameters, parsePathPattern, type PathPattern, type PatternParameter } from './path-pattern.ts';
import { matchedSegments, matchesPattern } from './pattern-table.ts';
import { parseTemplateText } from './template-text.ts';

/** The parts of a URL: fixed text, and path parameters between them. */
export interface UrlTemplate {
  /** Always has one element more than `slots`. */
  readonly texts: readonly string[];
  readonly slots: readonly UrlSlot[];
}

interface UrlSlot {
  readonly parameter: PatternParameter;
  /** The position of the parameter in the pattern. */
  readonly index: number;
  readonly isInQuery: boolean;
}

export type ParsedUrlTemplate =
  | { readonly ok: true; readonly template: UrlTemplate }
  /** What to change, as a phrase that begins in lower case and has no full stop. */
  | { readonly ok: false; readonly message: string };

const REFERENCE = /^\s*path\.([A-Za-z_][A-Za-z0-9_]*)\s*$/;
/** The origin of a URL, and the first character after it. */
const ORIGIN = /^https?:\/\/[^/?#]*[/?]/;

/** What a path segment can contain as it is, and the escapes of other characters (RFC 3986 `pchar`). */
const NOT_IN_SEGMENT = /[^A-Za-z0-9\-._~!$&'()*+,;=:@%]/g;

const refuse = (message: string): ParsedUrlTemplate => ({ ok: false, message });

/**
 * Parses the upstream URL of an endpoint whose path has parameters: `${path.NAME}` inserts the value of a parameter. Expressions
 * are allowed only after the host, so a value never changes the server to which a request is sent.
 */
export const parseUrlTemplate = (url: string, pattern: PathPattern): ParsedUrlTemplate => {
  const parsed = parseTemplateText(url);
  if (!parsed.ok) return parsed;
  const { texts, slots } = parsed.template;
  const found: UrlSlot[] = [];
  for (const { source, index } of slots) {
    const slot = `\${${source}} at character ${index - 1}`;
    const name = REFERENCE.exec(source)?.[1];
    if (name === undefined) return refuse(`has ${slot}: only a path parameter can be inserted, such as \${path.id}`);
    if (found.some(({ parameter }) => parameter.name === name))
      return refuse(`has ${slot}, but each parameter can be inserted only once`);
    const position = pattern.findIndex((segment) => segment.kind !== 'literal' && segment.name === name);
    const parameter = pattern[position];
    if (parameter === undefined || parameter.kind === 'literal')
      return refuse(`has ${slot}, but the slug has no parameter {${name}}: add it, or use one that exists`);
    if (!ORIGIN.test(url.slice(0, index))) return refuse(`has ${slot}, but parameters are allowed only after the host`);
    const [before = '', after = ''] = texts.slice(found.length);
    // Together with the value, an incomplete escape could become another character, such as a dot.
    if (/%[0-9A-Fa-f]?$/.test(before)) return refuse(`has an incomplete percent-escape before ${slot}`);
    const isInQuery = url.slice(0, index).includes('?');
    if (!isInQuery && canReachUp(before, after, parameter.kind === 'rest'))
      return refuse(
        `has ${slot} beside dots, with which some values would leave the path: put it in a segment of its own`,
      );
    found.push({ parameter, index: position, isInQuery });
  }
  return { ok: true, template: { texts, slots: found } };
};

/**
 * Returns whether a path segment can become `..` through a parameter between these texts. A value is never `.` or `..`, but it can begin
 * with the `;` that ends a segment's name, and a segment of the rest of a path can be empty.
 */
const canReachUp = (before: string, after: string, isRest: boolean): boolean => {
  const start = before.slice(before.lastIndexOf('/') + 1);
  const end = /^[^/;?]*/.exec(after)?.[0] ?? '';
  return [start, ...(isRest ? [end, start + end] : [])].some((text) => /^(?:\.|%2e){2}$/i.test(text));
};

/**
 * Returns the URL for a request with this path (latin1, as received), which must match the pattern. In the path of the URL, the values
 * are as received, but percent-encoded where a path segment cannot contain them. In its query, they are percent-encoded, so that no
 * value adds a query parameter. No segment of a value is `.` or `..`, so the path stays below the template's fixed text.
 */
export const expandUrl = ({ texts, slots }: UrlTemplate, path: string): string => {
  const segments = path.slice(1).split('/');
  let url = texts[0] ?? '';
  for (const [at, { parameter, index, isInQuery }] of slots.entries()) {
    const value = matchedSegments(parameter, segments, index);
    url += value.map(isInQuery ? asQueryText : asSegment).join('/') + (texts[at + 1] ?? '');
  }
  return url;
};

const asSegment = (segment: string): string =>
  segment.replace(NOT_IN_SEGMENT, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);

const asQueryText = (segment: string): string => encodeURIComponent(decodeSegment(segment) ?? '');

/**
 * Returns the upstream URL of a request with this path (latin1, as received), for an endpoint with this slug. Returns undefined if
 * the path does not match the slug, or if the slug or the URL is not valid.
 */
export const expandUrlFor = (slug: string, url: string, path: string): string | undefined => {
  if (!hasParameters(slug)) return url;
  const parsed = parsePathPattern(slug);
  const template = parsed.ok ? parseUrlTemplate(url, parsed.pattern) : parsed;
  if (!parsed.ok || !template.ok || !matchesPattern(parsed.pattern, path)) return undefined;
  return expandUrl(template.template, path);
};
