import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { expiryOf } from './check-token.ts';
import type { Tokens } from './oidc.ts';
import type { SessionData } from './session-cookie.ts';

/** Browsers ask for several things at once, and all of these requests have the old cookie. */
const REMEMBERED_MS = 60_000;
const REMEMBERED_MAX = 1_000;

interface Renewal {
  readonly session: Promise<SessionData | undefined>;
  readonly at: number;
}

export interface RenewParts {
  /** `undefined`: the provider refuses. Rejects when it does not answer. */
  readonly refresh: (refreshToken: string) => Promise<Tokens | undefined>;
  readonly logger: Logger;
  readonly now?: () => number;
}

/**
 * Sessions with another token, once for all requests that came with the old one: a provider that rotates refresh tokens takes each of them only
 * once. `undefined`: there is none any more.
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
      logger.warn({ err: error }, 'the identity provider does not answer');
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
