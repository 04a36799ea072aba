import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { localToken } from './access/local-token.ts';
import type { SignIn } from './access/sign-in.ts';
import type { Backend, DashboardMode } from './backend.ts';

/** The sender of a request and their permissions. */
export interface Session {
  /** The user's name in the Kubernetes cluster. Undefined for a program's token and in local mode. */
  readonly user: string | undefined;
  readonly backend: Backend;
  /** Set-Cookie values that the response must include. */
  readonly cookies: readonly string[];
}

/** Identifies the sender of a request and provides a backend with their permissions. */
export interface Access {
  readonly mode: DashboardMode;
  /**
   * Returns the sender's session, or undefined if the sender is not signed in. Reads only the request headers. Does not check
   * whether the API server accepts the token. If the API server rejects the token, calls of the backend reject with `SourceError`
   * (`Unauthorized`).
   */
  sessionOf(request: IncomingMessage): Promise<Session | undefined>;
  /** Returns a backend with the sender's permissions, or undefined if the sender is not signed in. */
  backendOf(request: IncomingMessage): Promise<Backend | undefined>;
  /** Undefined in local mode, which has no sign-in. */
  readonly signIn: SignIn | undefined;
  /** Sets a cookie if the URL that the user opened has the right token. Defined only in local mode with a token. */
  readonly exchangeToken?: RequestHandler;
}

/**
 * Creates the access for `standin dev`. Without a token, every local user has the permissions of the user who started `standin dev`
 * (ADR 012).
 *
 * @param token programs send it as a bearer token, and browsers exchange it for a cookie when they open the printed URL
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
