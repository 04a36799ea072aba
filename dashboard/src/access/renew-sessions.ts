import { createHash } from 'node:crypto';
import { FairMap } from '@standin/contract';
import type { Logger } from 'pino';
import { userHolder } from '../holders.ts';
import { tokenExpiry } from './check-token.ts';
import type { Tokens } from './oidc.ts';
import type { SessionData } from './session-cookie.ts';

/** A renewal is remembered for this long, because browsers send several concurrent requests with the old cookie. */
const REMEMBERED_MS = 60_000;
/** Maximum number of renewals to remember. The holders are users, because a user can sign in any number of times. */
const REMEMBERED_MAX = 1_000;

interface Renewal {
  readonly session: Promise<SessionData | undefined>;
  readonly at: number;
}

const tokenHash = (refreshToken: string): string => createHash('sha256').update(refreshToken).digest('base64url');

export interface RenewParts {
  /** Resolves to undefined if the provider rejects the refresh token. Rejects if the provider does not respond or fails. */
  readonly refresh: (session: SessionData & { readonly refreshToken: string }) => Promise<Tokens | undefined>;
  readonly logger: Logger;
  readonly now?: () => number;
  readonly rememberedMax?: number;
}

/**
 * Renews a session's token once for all requests with the same refresh token, because a provider that rotates refresh tokens
 * accepts each one only once. Resolves to undefined if the token cannot be renewed.
 */
export const renewSessions = ({
  refresh,
  logger,
  now = Date.now,
  rememberedMax = REMEMBERED_MAX,
}: RenewParts): ((session: SessionData) => Promise<SessionData | undefined>) => {
  const renewals = new FairMap<Renewal>(rememberedMax);
  const renew = async (session: SessionData, refreshToken: string): Promise<SessionData | undefined> => {
    try {
      const tokens = await refresh({ ...session, refreshToken });
      if (tokens === undefined) return undefined;
      const tokenExpiresAt = Math.min(tokenExpiry(tokens.idToken) ?? session.expiresAt, session.expiresAt);
      return {
        ...session,
        token: tokens.idToken,
        tokenExpiresAt,
        refreshToken: tokens.refreshToken ?? refreshToken,
      };
    } catch (error) {
      logger.warn({ err: error }, 'identity provider unavailable');
      // The next request retries.
      renewals.delete(tokenHash(refreshToken));
      return undefined;
    }
  };
  return (session) => {
    const { refreshToken } = session;
    if (refreshToken === undefined) return Promise.resolve(undefined);
    const key = tokenHash(refreshToken);
    for (const [name, { at }] of renewals) if (now() - at >= REMEMBERED_MS) renewals.delete(name);
    const known = renewals.get(key);
    if (known !== undefined) return known.session;
    const renewal = { session: renew(session, refreshToken), at: now() };
    renewals.set(key, renewal, userHolder(session.user));
    return renewal.session;
  };
};
