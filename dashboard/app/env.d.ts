import type { DashboardContext } from '../src/dashboard-context.ts';

declare module '@remix-run/node' {
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type -- merged into Remix's own interface
  interface AppLoadContext extends DashboardContext {}
  interface Future {
    v3_singleFetch: true;
  }
}
