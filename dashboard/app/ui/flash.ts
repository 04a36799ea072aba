/** A cookie with one sentence about the last action. The next page shows the sentence and removes the cookie. */
const COOKIE = 'standin-notice';
const MAX_AGE_S = 30;
const LENGTH_MAX = 300;

export const noticeCookie = (notice: string): string =>
  `${COOKIE}=${encodeURIComponent(notice.slice(0, LENGTH_MAX))}; Path=/; Max-Age=${MAX_AGE_S}; SameSite=Strict; HttpOnly`;

export const clearNoticeCookie = (): string => `${COOKIE}=; Path=/; Max-Age=0; SameSite=Strict; HttpOnly`;

/** Returns the notice from a Cookie header. Returns undefined if there is none. */
export const readNotice = (cookies: string | null): string | undefined => {
  const value = (cookies ?? '')
    .split(/;\s*/)
    .find((part) => part.startsWith(`${COOKIE}=`))
    ?.slice(COOKIE.length + 1);
  if (value === undefined || value === '') return undefined;
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
};
