import type { DashboardContext } from '../dashboard-context.ts';
import type { RemixBuild } from './bounded-build.ts';

/** Creates a handler that responds to requests with the routes of a build. */
export declare const remixHandler: (
  build: RemixBuild,
) => (request: Request, context: DashboardContext) => Promise<Response>;
