import type { Logger } from 'pino';
import type { SignIn } from './access/sign-in.ts';
import type { Backend, DashboardMode } from './backend.ts';
import type { OpenStream } from './pages/page-streams.ts';
import type { OpenedShare } from './shares/public-shares.ts';
import type { Workers } from './workers/workers.ts';

/** What routes receive besides the request: Remix's load context. */
export interface DashboardContext {
  /** With the rights of the user. If no user is signed in, reading it throws the response that leads to sign-in. */
  readonly backend: Backend;
  readonly workers: Workers;
  readonly mode: DashboardMode;
  /** The user's name in the API server. Undefined in local mode, and if no user is signed in. */
  readonly user: string | undefined;
  readonly isSignedIn: boolean;
  /** Undefined in local mode. */
  readonly signIn: SignIn | undefined;
  /** What the requested link shows. */
  readonly share: OpenedShare | undefined;
  /** The nonce of this response's Content-Security-Policy. */
  readonly nonce: string;
  readonly logger: Logger;
  /** The page's own scripts request its data. False: a browser requests the page. */
  readonly isDataRequest: boolean;
  readonly openStream: OpenStream;
  /** Aborts when the dashboard stops. Streams end then. */
  readonly stopping: AbortSignal;
  readonly [name: string]: unknown;
}
