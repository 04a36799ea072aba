import type { Logger } from 'pino';
import type { SignIn } from './access/sign-in.ts';
import type { Backend, DashboardMode } from './backend.ts';
import type { OpenStream } from './pages/page-streams.ts';
import type { OpenedShare } from './shares/public-shares.ts';
import type { Workers } from './workers/workers.ts';

/** What routes get besides the request: Remix's load context. */
export interface DashboardContext {
  /** With the rights of whoever asks. Reading it throws the way to sign in where nobody is. */
  readonly backend: Backend;
  readonly workers: Workers;
  readonly mode: DashboardMode;
  /** As the API server calls whoever asks; `undefined` in local mode, and for nobody. */
  readonly user: string | undefined;
  readonly isSignedIn: boolean;
  /** `undefined` in local mode. */
  readonly signIn: SignIn | undefined;
  /** What the link shows that the request is for. */
  readonly share: OpenedShare | undefined;
  /** Of this answer's Content-Security-Policy. */
  readonly nonce: string;
  readonly logger: Logger;
  /** The page's own scripts ask for its data, not a browser for the page. */
  readonly isDataRequest: boolean;
  readonly openStream: OpenStream;
  /** Aborts when the dashboard stops: streams end. */
  readonly stopping: AbortSignal;
  readonly [name: string]: unknown;
}
