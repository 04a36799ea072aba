import type { DashboardContext } from '../src/dashboard-context.ts';

declare module '@remix-run/node' {
  /** What routes receive besides the request. Remix allows any name in it. */
  interface AppLoadContext extends DashboardContext, Record<string, unknown> {}
  interface Future {
    v3_singleFetch: true;
  }
}
