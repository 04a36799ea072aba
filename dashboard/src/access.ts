import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { localToken } from './access/local-token.ts';
import type { SignIn } from './access/sign-in.ts';
import type { Backend, DashboardMode } from './backend.ts';
import { userHolder } from './holders.ts';
import type { Sender } from './sender.ts';

/** The sender of a request and their permissions. */
export interface Session {
  /** The user's name in the Kubernetes cluster. Undefined for a program's token and in local mode. */
  readonly user: string | undefined;
  readonly backend: Backend;
  /** Set-Cookie values that the response must include. */
  readonly cookies: readonly string[];
  /** Resolves with the holder of the sender's shares of what all users share (`holders.ts`). Never rejects. */
  readonly findHolder: () => Promise<string>;
}

/** Identifies the sender of a request and provides a backend with their permissions. */
export interface Access {
  readonly mode: DashboardMode;
  /**
   * Returns the sender's session, or undefined if the sender is not signed in. Reads only the request headers. Does not check
   * whether the API server accepts the token. If the API server rejects the token, calls of the backend reject with `SourceError`
   * (`Unauthorized`). `sender` has the shares of an unknown user.
   */
  findSession(request: IncomingMessage, sender: Sender): Promise<Session | undefined>;
  /** Returns the sign-in of one request. Undefined in local mode, which has no sign-in. */
  readonly signInFor: ((sender: Sender) => SignIn) | undefined;
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
  const session: Session = {
    user: undefined,
    backend,
    cookies: [],
    findHolder: () => Promise.resolve(userHolder('local')),
  };
  return {
    mode: 'local',
    findSession: (request) => Promise.resolve(known === undefined || known.isSentBy(request) ? session : undefined),
    signInFor: undefined,
    ...(known !== undefined && { exchangeToken: known.exchange }),
  };
};
