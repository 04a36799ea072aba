import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { expiryOf } from './check-token.ts';
import type { Tokens } from './oidc.ts';
import type { SessionData } from './session-cookie.ts';

/** Browsers send several requests at once, all with the old cookie. */
const REMEMBERED_MS = 60_000;
const REMEMBERED_MAX = 1_000;

interface Renewal {
  readonly session: Promise<SessionData | undefined>;
  readonly at: number;
}

export interface RenewParts {
  /** Undefined: the provider refuses. Rejects if the provider does not respond. */
  readonly refresh: (refreshToken: string) => Promise<Tokens | undefined>;
  readonly logger: Logger;
  readonly now?: () => number;
}

/**
 * Renews a session's token once for all requests that have the old one: a provider that rotates refresh tokens accepts each of them only once.
 * Undefined: the session has ended.
 */
export const renewSessions = ({
  refresh,
  logger,
  now = Date.now,
}: RenewParts): ((session: SessionData) => Promise<SessionData | undefined>) => {
  const renewals = new Map<string, Renewal>();
  const renew = async (session: SessionData, refreshToken: string): Promise<SessionData | undefined> => {
    try {
      const tokens = await refresh(refreshToken);
      if (tokens === undefined) return undefined;
      const tokenExpiresAt = Math.min(expiryOf(tokens.idToken) ?? session.expiresAt, session.expiresAt);
      return {
        ...session,
        token: tokens.idToken,
        tokenExpiresAt,
        refreshToken: tokens.refreshToken ?? refreshToken,
      };
    } catch (error) {
      logger.warn({ err: error }, 'identity provider unreachable');
      return undefined;
    }
  };
  return (session) => {
    const { refreshToken } = session;
    if (refreshToken === undefined) return Promise.resolve(undefined);
    const key = createHash('sha256').update(refreshToken).digest('base64url');
    for (const [name, { at }] of renewals) {
      if (renewals.size <= REMEMBERED_MAX && now() - at < REMEMBERED_MS) break;
      renewals.delete(name);
    }
    const known = renewals.get(key);
    if (known !== undefined) return known.session;
    const renewal = { session: renew(session, refreshToken), at: now() };
    renewals.set(key, renewal);
    return renewal.session;
  };
};
