import type { IncomingMessage } from 'node:http';
import type { Backend, DashboardMode } from './backend.ts';

/** Who asks, and with which rights. */
export interface Access {
  readonly mode: DashboardMode;
  /**
   * What the sender of this request may see and do; `undefined`: not signed in. Looks at the request's head only, and asks nobody: a
   * credential that is not valid any more shows at the first use, as `SourceError` (`Unauthorized`).
   */
  backendOf(request: IncomingMessage): Promise<Backend | undefined>;
}

/** Without a login: whoever reaches the dashboard of `standin dev` is the person who started it. */
export const localAccess = (backend: Backend): Access => ({
  mode: 'local',
  backendOf: () => Promise.resolve(backend),
});
