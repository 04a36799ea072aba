import type { DashboardContext } from '../src/dashboard-context.ts';

declare module '@remix-run/node' {
  /** What routes get besides the request; Remix has any name in it. */
  interface AppLoadContext extends DashboardContext, Record<string, unknown> {}
  interface Future {
    v3_singleFetch: true;
  }
}
