/** Options for a cookie. Scripts can never read the cookie. */
export interface CookieOptions {
  readonly maxAgeS: number;
  readonly sameSite: 'Strict' | 'Lax';
  /** Whether the cookie is sent over HTTPS only. */
  readonly isSecure: boolean;
}

export const setCookie = (name: string, value: string, { maxAgeS, sameSite, isSecure }: CookieOptions): string =>
  `${name}=${value}; Path=/; Max-Age=${Math.max(0, Math.floor(maxAgeS))}; SameSite=${sameSite}; HttpOnly${isSecure ? '; Secure' : ''}`;

/**
 * Returns the cookies in a request, by name. If a name repeats, the first cookie counts, because browsers send the more specific
 * one first.
 */
export const readCookies = (header: string | undefined): ReadonlyMap<string, string> => {
  const cookies = new Map<string, string>();
  for (const part of (header ?? '').split(';')) {
    const at = part.indexOf('=');
    const name = part.slice(0, at).trim();
    if (at > 0 && !cookies.has(name)) cookies.set(name, part.slice(at + 1).trim());
  }
  return cookies;
};
