import type { DashboardContext } from '../src/dashboard-context.ts';

declare module '@remix-run/node' {
  /** The context that routes receive with the request. Remix requires an index signature. */
  interface AppLoadContext extends DashboardContext, Record<string, unknown> {}
  interface Future {
    v3_singleFetch: true;
  }
}
