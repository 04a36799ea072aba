// Matches a request target after its first slash, without spaces and control characters (RFC 9112 section 3.2).
const TARGET = /^[\x21-\x7e\x80-\xff]*$/;

const joinQueries = (own: string, query: string | undefined): string => {
  if (own === '') return query === undefined ? '' : `?${query}`;
  return query === undefined || query === '' ? own : `${own}&${query}`;
};

/**
 * Returns the URL of the upstream request: the endpoint's own URL, with the caller's query (the part after the first `?`, latin1, or
 * undefined if there is no `?`) appended as received. Concatenates strings, because `new URL(path, base)` lets the path change the host, and `URL.search`
 * re-encodes. Throws if the result would have a different origin or cannot be a request target.
 */
export const joinUpstreamUrl = (base: URL | string, query: string | undefined): string => {
  const parsed = new URL(base);
  if (query !== undefined && !TARGET.test(query))
    throw new TypeError('the query contains characters that are not allowed in a request target');
  const joined = `${parsed.origin}${parsed.pathname}${joinQueries(parsed.search, query)}`;
  if (new URL(joined).origin !== parsed.origin) throw new TypeError("the query would change the URL's origin");
  return joined;
};

/** Returns the origin and the request target of a URL. A string keeps the bytes of its query, some of which `URL` would encode. */
export const splitUpstreamUrl = (url: URL | string): { parsed: URL; target: string } => {
  const parsed = new URL(url);
  const prefix = `${parsed.origin}/`;
  const target =
    typeof url === 'string' && url.startsWith(prefix)
      ? url.slice(parsed.origin.length)
      : parsed.pathname + parsed.search;
  return { parsed, target };
};
