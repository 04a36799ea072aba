import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import type { Access, Session } from '../access.ts';
import { auditReads, type Audit } from '../audit-reads.ts';
import type { ClusterBackends } from '../cluster/cluster-backend.ts';
import { userHolder } from '../holders.ts';
import type { Pools } from '../pools.ts';
import type { Sender } from '../sender.ts';
import { bearerToken } from './bearer.ts';
import { userNames } from './user-names.ts';
import { establishSession } from './establish-session.ts';
import { oidc, type OidcOptions } from './oidc.ts';
import { renewSessions } from './renew-sessions.ts';
import { createSealer } from './seal.ts';
import { sessionCookie, type SessionData } from './session-cookie.ts';

export interface ClusterAccessOptions {
  readonly backends: Pick<ClusterBackends, 'as' | 'user'>;
  /** The first secret seals cookies. Any of the secrets can open them. */
  readonly secrets: readonly [string, ...string[]];
  readonly maxAgeMs: number;
  /** Whether cookies are sent over HTTPS only. */
  readonly isSecure: boolean;
  readonly oidc: OidcOptions | undefined;
  readonly audit: Audit;
  readonly logger: Logger;
  readonly pools?: Pools | undefined;
}

/** Tokens are renewed this long before they expire, because other clocks may be ahead. */
const RENEW_BEFORE_MS = 30_000;

/**
 * Identifies the sender by a program's bearer token or a browser's sealed cookie. Trusts nothing else, such as headers set by a
 * proxy. The API server decides whether the token is valid.
 */
export const clusterAccess = (options: ClusterAccessOptions): Access => {
  const { backends, secrets, maxAgeMs, isSecure, audit, logger, pools } = options;
  const sealer = createSealer(secrets);
  const cookie = sessionCookie({ sealer, isSecure });
  const provider =
    options.oidc &&
    oidc({
      options: options.oidc,
      sealer,
      isSecure,
      logger,
      pools,
    });
  const renewed =
    provider &&
    renewSessions({
      refresh: ({ user, refreshToken }) => provider.refresh(refreshToken, userHolder(user)),
      logger,
    });

  const nameUser = userNames();
  /** `user` is undefined for a program's token, whose user only the API server knows. */
  const present = (
    { url = '' }: IncomingMessage,
    { token, user }: Pick<SessionData, 'token'> & Partial<SessionData>,
    { sender, cookies = [] }: { readonly sender: Sender; readonly cookies?: readonly string[] },
  ): Session => {
    // The API server may name the user later, when captured data is read.
    let known = user;
    const name = async () => (known ??= await nameUser(backends.user(token, sender)));
    const reader = { via: url.startsWith('/api/') ? ('api' as const) : ('page' as const), user: name };
    const askHolder = async () => {
      const named = await name();
      return named === undefined ? sender.findHolder() : userHolder(named);
    };
    let asked: Promise<string> | undefined;
    const findHolder = () => (asked ??= askHolder());
    const backend = backends.as(token, { findHolder, signal: sender.signal });
    return { user, cookies, findHolder, backend: { ...backend, logs: auditReads(backend.logs, audit, reader) } };
  };
  const fromCookie = async (request: IncomingMessage, sender: Sender): Promise<Session | undefined> => {
    const data = cookie.read(request.headers.cookie);
    if (data === undefined) return undefined;
    const now = Date.now();
    if (data.tokenExpiresAt - RENEW_BEFORE_MS > now) return present(request, data, { sender });
    const next = await renewed?.(data);
    if (next !== undefined) return present(request, next, { sender, cookies: cookie.renew(next) ?? [] });
    return data.tokenExpiresAt > now ? present(request, data, { sender }) : undefined;
  };
  const findSession = oncePerRequest(async (request, sender) => {
    const token = bearerToken(request);
    return token === undefined ? fromCookie(request, sender) : present(request, { token }, { sender });
  });
  return {
    mode: 'cluster',
    findSession,
    signInFor: (sender) => {
      const establishing = { createUser: (token: string) => backends.user(token, sender), cookie, maxAgeMs };
      return {
        withToken: (token) => establishSession(establishing, { token }),
        provider: provider?.signInFor(sender, ({ idToken, refreshToken }) =>
          establishSession(establishing, { token: idToken, refreshToken }),
        ),
        signOut: () => cookie.clear(),
      };
    },
  };
};

/** Looks up the session once per request. Several parts of the process use the session, but it must be renewed only once. */
const oncePerRequest = (find: Access['findSession']): Access['findSession'] => {
  const found = new WeakMap<IncomingMessage, Promise<Session | undefined>>();
  return (request, sender) => {
    const known = found.get(request) ?? find(request, sender);
    found.set(request, known);
    return known;
  };
};
