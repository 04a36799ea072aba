import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { localToken } from './access/local-token.ts';
import type { SignIn } from './access/sign-in.ts';
import type { Backend, DashboardMode } from './backend.ts';

/** Who sent a request, and what they may see and do. */
export interface Session {
  /** As the API server calls the person; `undefined`: a program's token, or local mode. */
  readonly user: string | undefined;
  readonly backend: Backend;
  /** Set-Cookie values that the answer must carry. */
  readonly cookies: readonly string[];
}

/** Who asks, and with which rights. */
export interface Access {
  readonly mode: DashboardMode;
  /**
   * Whoever sent this request; `undefined`: not signed in. Looks at the request's head only. A credential that is not valid any more
   * shows at its first use, as `SourceError` (`Unauthorized`).
   */
  sessionOf(request: IncomingMessage): Promise<Session | undefined>;
  /** What the sender of this request may see and do; `undefined`: not signed in. */
  backendOf(request: IncomingMessage): Promise<Backend | undefined>;
  /** `undefined` in local mode, where there is nothing to sign in to. */
  readonly signIn: SignIn | undefined;
  /** Local mode with a token: takes it out of the URL that a person opened. */
  readonly exchangeToken?: RequestHandler;
}

/**
 * The dashboard of `standin dev`. Without a token every local user has the rights of the one who started it (docs/adr/012-local-users.md).
 *
 * @param token what programs send as bearer, and what the printed URL exchanges for a cookie
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
