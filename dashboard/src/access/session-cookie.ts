import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { readCookies, setCookie } from './cookies.ts';
import type { Sealer } from './seal.ts';

const sessionSchema = z.object({
  /** Differs for each sign-in. */
  id: z.string(),
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
export type NewSession = Omit<SessionData, 'id'>;

export interface SessionCookieOptions {
  readonly sealer: Sealer;
  readonly isSecure: boolean;
  readonly now?: () => number;
}

export interface SessionCookie {
  /** Returns the session. Returns undefined if there is none, if it was not sealed by this dashboard, or if it has expired. */
  read(cookies: string | undefined): SessionData | undefined;
  /** Returns Set-Cookie values for a sign-in, or undefined if the session is larger than browsers and servers accept. */
  start(session: NewSession): readonly string[] | undefined;
  /**
   * Like `start`, for a session whose token was renewed. If the user has signed out since the request was sent, the values have no
   * effect. If the user has signed in again, they end that session, so that the browser never returns to the earlier user.
   */
  renew(session: SessionData): readonly string[] | undefined;
  /** Returns Set-Cookie values that end the session. */
  clear(): readonly string[];
}

/** Browsers store up to 4,096 bytes per cookie, including its name and attributes. */
const PART_CHARS_MAX = 3_800;
/** Node.js accepts 16 KiB of headers, which must leave room for other cookies and headers. */
const PARTS_MAX = 3;

/**
 * Stores sessions in cookies. If a session does not fit in one cookie, splits it into NAME, NAME.1 and NAME.2. NAME.id is the id of
 * the session that the user has signed in to. Browsers enforce that cookies with the `__Host-` prefix are Secure and sent only to
 * this host.
 */
export const sessionCookie = ({ sealer, isSecure, now = Date.now }: SessionCookieOptions): SessionCookie => {
  const name = isSecure ? '__Host-standin-session' : 'standin-session';
  const idName = `${name}.id`;
  const partNames = Array.from({ length: PARTS_MAX }, (_, index) => (index === 0 ? name : `${name}.${index}`));
  /** Sets a cookie, or clears it if the value is empty. */
  const set = (cookie: string, value: string, endsAt: number): string => {
    const maxAgeS = value === '' ? 0 : (endsAt - now()) / 1_000;
    return setCookie(cookie, value, { maxAgeS, sameSite: 'Strict', isSecure });
  };
  /**
   * Sets all parts, and clears those that are empty. The browser may have parts that it did not send with the request, because
   * another tab has signed in since. They would make the new session unreadable.
   */
  const setParts = (sealed: string, endsAt: number): readonly string[] =>
    partNames.map((part, index) =>
      set(part, sealed.slice(index * PART_CHARS_MAX, (index + 1) * PART_CHARS_MAX), endsAt),
    );
  const renew = (session: SessionData): readonly string[] | undefined => {
    const sealed = sealer.seal(JSON.stringify(session), name);
    return sealed.length > PARTS_MAX * PART_CHARS_MAX ? undefined : setParts(sealed, session.expiresAt);
  };
  return {
    read: (header) => {
      const cookies = readCookies(header);
      const sealed = partNames.map((part) => cookies.get(part) ?? '').join('');
      const session = sealed === '' ? undefined : parse(sealer.open(sealed, name));
      if (session === undefined || session.id !== cookies.get(idName)) return undefined;
      return session.expiresAt <= now() ? undefined : session;
    },
    start: (session) => {
      const id = randomUUID();
      const parts = renew({ ...session, id });
      return parts && [...parts, set(idName, id, session.expiresAt)];
    },
    renew,
    clear: () => [...setParts('', 0), set(idName, '', 0)],
  };
};

const parse = (plain: string | undefined): SessionData | undefined => {
  if (plain === undefined) return undefined;
  return sessionSchema.safeParse(JSON.parse(plain)).data;
};
