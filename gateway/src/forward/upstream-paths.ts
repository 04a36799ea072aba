import type { HeaderPair, UpstreamRewrite } from '@standin/contract';
import type { PathMapping } from '../request/route.ts';

/** The same place in the project and at the upstream: paths without a slash at their end. */
interface Bases {
  readonly publicBase: string;
  readonly upstreamBase: string;
}

const URL_PATH = /^https?:\/\/[^/?#]*([^?#]*)/i;
/** The path of a location, and what follows it. */
const LOCATION = /^(?:https?:)?(?:\/\/[^/?#]*)?([^?#]*)(.*)$/is;
const pathIn = (url: string): string => URL_PATH.exec(url)?.[1] ?? '';

const segments = (path: string): readonly string[] => path.slice(1).split('/');

/**
 * Compares a slug with the upstream's URL from the end: `/v1/{path...}` and `https://api.example.com/api/${path.path}` share the rest,
 * so `/v1` of the project is `/api` of the upstream.
 */
export const pathMapping = (slug: string, url: string): PathMapping => {
  const own = segments(slug.replace(/\{(\w+)(?:\.\.\.)?\}/g, '${path.$1}'));
  const theirs = segments(pathIn(url.replace(/\$\{\s*path\.(\w+)\s*\}/g, '${path.$1}')));
  let shared = 0;
  while (shared < Math.min(own.length, theirs.length) && own.at(-1 - shared) === theirs.at(-1 - shared)) shared += 1;
  if (shared === 0) return { publicSegments: Infinity, upstreamSegments: Infinity };
  return { publicSegments: own.length - shared, upstreamSegments: theirs.length - shared };
};

/** Returns the first segments of a path. */
const leading = (path: string, count: number): string => {
  if (count === Infinity) return path.replace(/\/$/, '');
  let end = 0;
  for (let done = 0; done < count; done += 1) {
    const next = path.indexOf('/', end + 1);
    if (next === -1) return path;
    end = next;
  }
  return path.slice(0, end);
};

/** Returns the path of the project that precedes what its path and the upstream's path share. */
export const publicBase = (
  { publicSegments }: PathMapping,
  { projectUri, path }: { readonly projectUri: string; readonly path: string },
): string => `/${projectUri}${leading(path, publicSegments)}`;

export const upstreamBase = ({ upstreamSegments }: PathMapping, upstreamUrl: string): string =>
  leading(pathIn(upstreamUrl), upstreamSegments);

const isWithin = (path: string, base: string): boolean => path === base || path.startsWith(`${base}/`);

const mapPath = (path: string, { publicBase: ours, upstreamBase: theirs }: Bases): string =>
  isWithin(path, theirs) ? ours + path.slice(theirs.length) : path;

interface Upstream extends Bases {
  readonly url: string;
  /** The Host header that the upstream got. */
  readonly host: string;
}

/** Returns the URL or path as the caller must send it. A URL of another server, and a relative path, stay as they are. */
const mapLocation = (location: string, upstream: Upstream): string => {
  if (!/^(\/|https?:)/i.test(location)) return location;
  const target = URL.parse(location, upstream.url);
  const { origin } = new URL(upstream.url);
  if (target === null || (target.origin !== origin && target.host !== upstream.host)) return location;
  const [, path = '', rest = ''] = LOCATION.exec(location) ?? [];
  // The text is kept as it was sent. Only the parser knows the path if the text has dot segments or a backslash.
  const pathname = path === '' || /\\|(^|\/)\.{1,2}(\/|$)|%2e/i.test(path) ? target.pathname : path;
  // An upstream that knows x-forwarded-prefix may have mapped the path already.
  if (isWithin(pathname, upstream.publicBase) || !isWithin(pathname, upstream.upstreamBase)) return location;
  return mapPath(pathname, upstream) + rest;
};

const mapCookiePath = (cookie: string, bases: Bases): string =>
  cookie.replace(/(;\s*path\s*=\s*)([^;\s]*)/i, (_, before: string, path: string) => before + mapPath(path, bases));

/** Maps the paths in the headers of an upstream's response to those of the project. */
export const rewriteHeaders = (
  headers: readonly HeaderPair[],
  rewrite: readonly UpstreamRewrite[],
  upstream: Upstream,
): readonly HeaderPair[] =>
  headers.map(([name, value]): HeaderPair => {
    const lower = name.toLowerCase();
    if (rewrite.includes('Location') && (lower === 'location' || lower === 'content-location'))
      return [name, mapLocation(value, upstream)];
    if (rewrite.includes('CookiePath') && lower === 'set-cookie') return [name, mapCookiePath(value, upstream)];
    return [name, value];
  });
