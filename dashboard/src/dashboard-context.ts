import type { Logger } from 'pino';
import type { SignIn } from './access/sign-in.ts';
import type { Backend, DashboardMode } from './backend.ts';
import type { OpenStream } from './pages/page-streams.ts';
import type { OpenedShare } from './shares/public-shares.ts';
import type { Workers } from './workers/workers.ts';

/** The data that routes receive in addition to the request. Remix calls it the load context. */
export interface DashboardContext {
  /**
   * Has the user's permissions. If no user is signed in, reading this property throws a redirect to the login page, or a 401
   * response if the request is not for a page.
   */
  readonly backend: Backend;
  readonly workers: Workers;
  readonly mode: DashboardMode;
  /** The user's name in the Kubernetes cluster. Undefined in local mode, for a program's token, and if no user is signed in. */
  readonly user: string | undefined;
  readonly isSignedIn: boolean;
  /** Undefined in local mode. */
  readonly signIn: SignIn | undefined;
  /** The content of the requested shared link. Undefined for all other URLs, and for a link that shows nothing. */
  readonly share: OpenedShare | undefined;
  /** The nonce of this response's Content-Security-Policy. */
  readonly nonce: string;
  readonly logger: Logger;
  /** Whether the page's scripts request its data. False if a browser requests the page itself. */
  readonly isDataRequest: boolean;
  readonly openStream: OpenStream;
  /** Aborts when the dashboard stops, which ends streams. */
  readonly stopping: AbortSignal;
  readonly [name: string]: unknown;
}
