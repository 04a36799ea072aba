import { z } from 'zod';
import { readCookies, setCookie } from './cookies.ts';
import type { Sealer } from './seal.ts';

const sessionSchema = z.object({
  /** What the API server gets. */
  token: z.string(),
  /** As the API server calls the person. */
  user: z.string(),
  /** The token is not used from then on, milliseconds since 1970. */
  tokenExpiresAt: z.number(),
  /** Nor is anything else. */
  expiresAt: z.number(),
  /** OIDC only: gets another token. */
  refreshToken: z.string().optional(),
});

/** All that is known of somebody who is signed in. It is in their browser, sealed, and nowhere else. */
export type SessionData = Readonly<z.infer<typeof sessionSchema>>;

export interface SessionCookieOptions {
  readonly sealer: Sealer;
  readonly isSecure: boolean;
  readonly now?: () => number;
}

export interface SessionCookie {
  /** `undefined`: none, not ours, or over. */
  read(cookies: string | undefined): SessionData | undefined;
  /** Set-Cookie values; `undefined`: it is larger than browsers and servers take. `before`: the request's cookies. */
  write(session: SessionData, before: string | undefined): readonly string[] | undefined;
  /** Set-Cookie values that end it. */
  clear(before: string | undefined): readonly string[];
}

/** Browsers keep 4,096 bytes per cookie, its name and attributes among them. */
const PART_CHARS_MAX = 3_800;
/** Node takes 16 KiB of headers, and other cookies and headers want some of it. */
const PARTS_MAX = 3;

/** A cookie that has to be split goes into NAME, NAME.1, NAME.2. A browser takes the prefix for a promise: Secure, and of this host alone. */
export const sessionCookie = ({ sealer, isSecure, now = Date.now }: SessionCookieOptions): SessionCookie => {
  const name = isSecure ? '__Host-standin-session' : 'standin-session';
  const partName = (index: number): string => (index === 0 ? name : `${name}.${index}`);
  const partNames = Array.from({ length: PARTS_MAX }, (_, index) => partName(index));
  const set = (index: number, value: string, maxAgeS: number): string =>
    setCookie(partName(index), value, { maxAgeS, sameSite: 'Strict', isSecure });
  /** Parts from `first` on that the browser still has. */
  const clearFrom = (first: number, before: string | undefined): string[] => {
    const present = readCookies(before);
    return partNames.flatMap((part, index) => (index >= first && present.has(part) ? [set(index, '', 0)] : []));
  };
  return {
    read: (header) => {
      const cookies = readCookies(header);
      const sealed = partNames.map((part) => cookies.get(part) ?? '').join('');
      const session = sealed === '' ? undefined : parse(sealer.open(sealed, name));
      return session === undefined || session.expiresAt <= now() ? undefined : session;
    },
    write: (session, before) => {
      const sealed = sealer.seal(JSON.stringify(session), name);
      const count = Math.ceil(sealed.length / PART_CHARS_MAX);
      if (count > PARTS_MAX) return undefined;
      const maxAgeS = (session.expiresAt - now()) / 1_000;
      const parts = Array.from({ length: count }, (_, index) =>
        set(index, sealed.slice(index * PART_CHARS_MAX, (index + 1) * PART_CHARS_MAX), maxAgeS),
      );
      return [...parts, ...clearFrom(count, before)];
    },
    clear: (before) => clearFrom(0, before),
  };
};

const parse = (plain: string | undefined): SessionData | undefined => {
  if (plain === undefined) return undefined;
  return sessionSchema.safeParse(JSON.parse(plain)).data;
};
