import type { Logger } from 'pino';
import type { Backend, DashboardMode } from './backend.ts';

/** What routes get besides the request: Remix's load context. */
export interface DashboardContext {
  /** With the rights of whoever asks. Reading it throws the way to sign in where nobody is. */
  readonly backend: Backend;
  readonly mode: DashboardMode;
  /** Of this answer's Content-Security-Policy. */
  readonly nonce: string;
  readonly logger: Logger;
  /** Aborts when the dashboard stops: streams end. */
  readonly stopping: AbortSignal;
  readonly [name: string]: unknown;
}
