/**
 * A cookie with one sentence about the last action, for the page that the action redirects to. The page itself removes the cookie
 * when it shows the sentence. The server cannot, because a load that the next one interrupts would then take the sentence with it.
 */
const COOKIE = 'standin-notice';
const MAX_AGE_S = 30;
const LENGTH_MAX = 300;

/** `to` is the path of the page that shows the notice. */
export const noticeCookie = (to: string, notice: string): string =>
  `${COOKIE}=${encodeURIComponent(`${to} ${notice.slice(0, LENGTH_MAX)}`)}; Path=/; Max-Age=${MAX_AGE_S}; SameSite=Strict`;

const CLEAR = `${COOKIE}=; Path=/; Max-Age=0; SameSite=Strict`;

/**
 * Returns the notice for a page from a Cookie header or `document.cookie`. Returns undefined if there is none, or if it is for a page
 * that is neither this one nor above it. Another tab is then likely to be waiting for it.
 */
export const readNotice = (cookies: string | null, pathname: string): string | undefined => {
  const value = (cookies ?? '')
    .split(/;\s*/)
    .find((part) => part.startsWith(`${COOKIE}=`))
    ?.slice(COOKIE.length + 1);
  if (value === undefined) return undefined;
  const [to, notice] = splitAtSpace(decoded(value));
  return pathname === to || pathname.startsWith(`${to}/`) ? notice : undefined;
};

/** Removes the notice of this page from the browser, and returns it. */
export const takeNotice = (pathname: string): string | undefined => {
  const notice = readNotice(document.cookie, pathname);
  if (notice !== undefined) document.cookie = CLEAR;
  return notice;
};

const decoded = (value: string): string => {
  try {
    return decodeURIComponent(value);
  } catch {
    return '';
  }
};

/** A path contains no space. */
const splitAtSpace = (text: string): [string, string | undefined] => {
  const end = text.indexOf(' ');
  return end === -1 ? [text, undefined] : [text.slice(0, end), text.slice(end + 1)];
};
