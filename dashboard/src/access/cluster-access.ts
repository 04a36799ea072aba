import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import type { Access, Session } from '../access.ts';
import { auditReads, type Audit } from '../audit-reads.ts';
import type { ClusterBackends } from '../cluster/cluster-backend.ts';
import { userHolder } from '../holders.ts';
import { bearerOf } from './bearer.ts';
import { userNames } from './user-names.ts';
import { establishSession } from './establish-session.ts';
import { oidc, type OidcOptions } from './oidc.ts';
import { renewSessions } from './renew-sessions.ts';
import { createSealer } from './seal.ts';
import { sessionCookie, type SessionData } from './session-cookie.ts';

export interface ClusterAccessOptions {
  readonly backends: ClusterBackends;
  /** The first secret seals cookies. Any of the secrets can open them. */
  readonly secrets: readonly [string, ...string[]];
  readonly maxAgeMs: number;
  /** Whether cookies are sent over HTTPS only. */
  readonly isSecure: boolean;
  readonly oidc: OidcOptions | undefined;
  readonly audit: Audit;
  readonly logger: Logger;
}

/** Tokens are renewed this long before they expire, because other clocks may be ahead. */
const RENEW_BEFORE_MS = 30_000;

/**
 * Identifies the sender by a program's bearer token or a browser's sealed cookie. Trusts nothing else, such as headers set by a
 * proxy. The API server decides whether the token is valid.
 */
export const clusterAccess = (options: ClusterAccessOptions): Access => {
  const { backends, secrets, maxAgeMs, isSecure, audit, logger } = options;
  const sealer = createSealer(secrets);
  const cookie = sessionCookie({ sealer, isSecure });
  const establishing = { userOf: (token: string) => backends.user(token), cookie, maxAgeMs };
  const provider =
    options.oidc &&
    oidc({
      options: options.oidc,
      sealer,
      isSecure,
      logger,
      establish: ({ idToken, refreshToken }) => establishSession(establishing, { token: idToken, refreshToken }),
    });
  const renewed = provider && renewSessions({ refresh: (token) => provider.refresh(token), logger });

  const nameOf = userNames((token) => backends.user(token));
  /** `user` is undefined for a program's token, whose user only the API server knows. */
  const present = (
    { url = '' }: IncomingMessage,
    { token, user }: Pick<SessionData, 'token'> & Partial<SessionData>,
    cookies: readonly string[] = [],
  ): Session => {
    let named: Promise<string | undefined> | undefined;
    const name = () => (named ??= user === undefined ? nameOf(token) : Promise.resolve(user));
    const reader = { via: url.startsWith('/api/') ? ('api' as const) : ('page' as const), user: name };
    const holder = async () => {
      const known = await name();
      return known === undefined ? undefined : userHolder(known);
    };
    // A log is read only with a valid token, so users without a name are rare.
    const backend = backends.as(token, async () => (await holder()) ?? userHolder(''));
    return { user, cookies, holder, backend: { ...backend, logs: auditReads(backend.logs, audit, reader) } };
  };
  const fromCookie = async (request: IncomingMessage): Promise<Session | undefined> => {
    const data = cookie.read(request.headers.cookie);
    if (data === undefined) return undefined;
    const now = Date.now();
    if (data.tokenExpiresAt - RENEW_BEFORE_MS > now) return present(request, data);
    const next = await renewed?.(data);
    if (next !== undefined) return present(request, next, cookie.renew(next));
    return data.tokenExpiresAt > now ? present(request, data) : undefined;
  };
  const sessionOf = oncePerRequest(async (request) => {
    const token = bearerOf(request);
    return token === undefined ? fromCookie(request) : present(request, { token });
  });
  return {
    mode: 'cluster',
    sessionOf,
    signIn: {
      withToken: (token) => establishSession(establishing, { token }),
      provider,
      signOut: () => cookie.clear(),
    },
  };
};

/** Looks up the session once per request. Several parts of the process use the session, but it must be renewed only once. */
const oncePerRequest = (
  find: (request: IncomingMessage) => Promise<Session | undefined>,
): ((request: IncomingMessage) => Promise<Session | undefined>) => {
  const found = new WeakMap<IncomingMessage, Promise<Session | undefined>>();
  return (request) => {
    const known = found.get(request) ?? find(request);
    found.set(request, known);
    return known;
  };
};
