import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { localToken } from './access/local-token.ts';
import type { SignIn } from './access/sign-in.ts';
import type { Backend, DashboardMode } from './backend.ts';

/** The sender of a request, and their rights. */
export interface Session {
  /** The user's name in the API server. Undefined: a program's token, or local mode. */
  readonly user: string | undefined;
  readonly backend: Backend;
  /** Set-Cookie values that the response must carry. */
  readonly cookies: readonly string[];
}

/** Identifies the sender of a request, and their rights. */
export interface Access {
  readonly mode: DashboardMode;
  /**
   * The sender's session. Undefined: not signed in. Reads only the head of the request. A credential that is no longer valid fails at its first use,
   * with `SourceError` (`Unauthorized`).
   */
  sessionOf(request: IncomingMessage): Promise<Session | undefined>;
  /** A backend with the sender's rights. Undefined: not signed in. */
  backendOf(request: IncomingMessage): Promise<Backend | undefined>;
  /** Undefined in local mode, which has no sign-in. */
  readonly signIn: SignIn | undefined;
  /** Local mode with a token: removes the token from the URL that the user opened. */
  readonly exchangeToken?: RequestHandler;
}

/**
 * The access of `standin dev`. Without a token, every local user has the rights of the user who started it (docs/adr/012-local-users.md).
 *
 * @param token what programs send as bearer token, and what the printed URL exchanges for a cookie
 */
export const localAccess = (backend: Backend, token?: string): Access => {
  const known = token === undefined ? undefined : localToken(token);
  const session: Session = { user: undefined, backend, cookies: [] };
  const sessionOf = (request: IncomingMessage) =>
    Promise.resolve(known === undefined || known.isSentBy(request) ? session : undefined);
  return {
    mode: 'local',
    sessionOf,
    backendOf: async (request) => (await sessionOf(request))?.backend,
    signIn: undefined,
    ...(known !== undefined && { exchangeToken: known.exchange }),
  };
};
