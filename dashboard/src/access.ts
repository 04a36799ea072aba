import type { IncomingMessage } from 'node:http';
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
}

/** Without a login: whoever reaches the dashboard of `standin dev` is the person who started it. */
export const localAccess = (backend: Backend): Access => ({
  mode: 'local',
  sessionOf: () => Promise.resolve({ user: undefined, backend, cookies: [] }),
  backendOf: () => Promise.resolve(backend),
  signIn: undefined,
});
