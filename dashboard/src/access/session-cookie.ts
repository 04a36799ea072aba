import { z } from 'zod';
import { readCookies, setCookie } from './cookies.ts';
import type { Sealer } from './seal.ts';

const sessionSchema = z.object({
  /** Sent to the API server. */
  token: z.string(),
  /** The user's name in the Kubernetes cluster. */
  user: z.string(),
  /** Time after which the token is not used, in milliseconds since 1970. */
  tokenExpiresAt: z.number(),
  /** Time at which the session ends, in milliseconds since 1970. */
  expiresAt: z.number(),
  /** Used to get the next token. OIDC only. */
  refreshToken: z.string().optional(),
});

/** All data about a signed-in user. It is stored sealed, and only in the user's browser. */
export type SessionData = Readonly<z.infer<typeof sessionSchema>>;

export interface SessionCookieOptions {
  readonly sealer: Sealer;
  readonly isSecure: boolean;
  readonly now?: () => number;
}

export interface SessionCookie {
  /** Returns the session. Returns undefined if there is none, if it was not sealed by this dashboard, or if it has expired. */
  read(cookies: string | undefined): SessionData | undefined;
  /**
   * Returns Set-Cookie values, or undefined if the session is larger than browsers and servers accept. `before` is the request's
   * Cookie header.
   */
  write(session: SessionData, before: string | undefined): readonly string[] | undefined;
  /** Returns Set-Cookie values that end the session. */
  clear(before: string | undefined): readonly string[];
}

/** Browsers store up to 4,096 bytes per cookie, including its name and attributes. */
const PART_CHARS_MAX = 3_800;
/** Node.js accepts 16 KiB of headers, which must leave room for other cookies and headers. */
const PARTS_MAX = 3;

/**
 * Stores sessions in cookies. If a session does not fit in one cookie, splits it into NAME, NAME.1 and NAME.2. Browsers enforce
 * that cookies with the `__Host-` prefix are Secure and sent only to this host.
 */
export const sessionCookie = ({ sealer, isSecure, now = Date.now }: SessionCookieOptions): SessionCookie => {
  const name = isSecure ? '__Host-standin-session' : 'standin-session';
  const partName = (index: number): string => (index === 0 ? name : `${name}.${index}`);
  const partNames = Array.from({ length: PARTS_MAX }, (_, index) => partName(index));
  const set = (index: number, value: string, maxAgeS: number): string =>
    setCookie(partName(index), value, { maxAgeS, sameSite: 'Strict', isSecure });
  /** Returns Set-Cookie values that clear the parts that the browser still has, starting with part `first`. */
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
