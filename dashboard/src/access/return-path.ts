/** The path to open after sign-in if none is requested or the requested one is not a path of this dashboard. */
const HOME = '/projects';
const LENGTH_MAX = 2_000;
const NOWHERE = 'http://dashboard.invalid';

/**
 * Returns `wanted` if it is a path of this dashboard other than sign-in, and `HOME` otherwise, because a link must not lead from
 * the login page to another site. Browsers treat `//host` and `/\host` as another host, after removing tabs and line breaks.
 */
export const returnPath = (wanted: string | null | undefined): string => {
  if (wanted === null || wanted === undefined || wanted.length > LENGTH_MAX) return HOME;
  if (!wanted.startsWith('/') || Array.from(wanted).some(isRewritten)) return HOME;
  const url = URL.canParse(wanted, NOWHERE) ? new URL(wanted, NOWHERE) : undefined;
  if (url === undefined || url.origin !== NOWHERE || url.pathname.startsWith('//')) return HOME;
  const path = `${url.pathname}${url.search}${url.hash}`;
  // Percent-encoding makes a path longer, and browsers drop the cookie of a sign-in that contains a longer one.
  return isSignIn(url.pathname) || path.length > LENGTH_MAX ? HOME : path;
};

const isRewritten = (char: string): boolean => char < ' ' || char === '\\' || char === '\u007f';

const isSignIn = (pathname: string): boolean => /^\/(login|logout)(\/|$)/.test(pathname);

/**
 * Returns the path of the page that a request belongs to. Remix requests a page's data at `/page.data`, with route names in the
 * query.
 */
export const pagePath = (originalUrl: string): string => {
  if (!URL.canParse(`${NOWHERE}${originalUrl}`)) return HOME;
  const url = new URL(`${NOWHERE}${originalUrl}`);
  url.searchParams.delete('_routes');
  url.searchParams.delete('index');
  const pathname = url.pathname.replace(/^\/_root\.data$/, '/').replace(/\.data$/, '');
  return returnPath(`${pathname}${url.search}`);
};
