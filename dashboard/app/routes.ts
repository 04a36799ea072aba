/**
 * A URL pattern and its module. The URL of a page contains the page's state, so every page can be reloaded, bookmarked and shared.
 */
interface RouteEntry {
  readonly path?: string;
  readonly index?: boolean;
  readonly file: string;
  readonly children?: readonly RouteEntry[];
}

const route = (path: string, file: string, children?: readonly RouteEntry[]): RouteEntry => ({
  path,
  file: `routes/${file}`,
  ...(children !== undefined && { children }),
});
const index = (file: string): RouteEntry => ({ index: true, file: `routes/${file}` });

export default [
  index('home.ts'),
  route('projects', 'projects.tsx'),
  route('projects/new', 'project-new.tsx'),
  route('p/:namespace/:project', 'project.tsx', [
    index('project-home.ts'),
    route('endpoints', 'endpoints.tsx'),
    route('endpoints/new', 'endpoint-new.tsx'),
    route('endpoints/:endpoint', 'endpoint.tsx', [
      index('endpoint-overview.tsx'),
      route('edit', 'endpoint-edit.tsx'),
      route('yaml', 'endpoint-yaml.tsx'),
      route('status', 'endpoint-status.tsx'),
    ]),
    route('traffic', 'traffic.tsx'),
    route('traffic/:id', 'exchange.tsx'),
    route('traffic/:id/mock', 'exchange-mock.tsx'),
    route('traffic/:id/replay', 'exchange-replay.tsx'),
    route('replays', 'replays.tsx'),
    route('replays/new', 'replay-new.tsx'),
    route('replays/:replay', 'replay.tsx'),
    route('replays/:replay/results/:id', 'replay-result.tsx'),
    route('expectations', 'expectations.tsx'),
    route('expectations/new', 'expectation-new.tsx'),
    route('expectations/:expectation', 'expectation.tsx'),
    route('settings', 'project-settings.tsx', [
      index('settings-general.tsx'),
      route('api-key', 'settings-api-key.tsx'),
      route('usage', 'settings-usage.tsx'),
      route('shares', 'settings-shares.tsx'),
      route('purges', 'settings-purges.tsx'),
    ]),
  ]),
  // The following routes of a project are not nested, because they return data instead of pages.
  route('p/:namespace/:project/traffic/rows', 'traffic-rows.ts'),
  route('p/:namespace/:project/traffic/stream', 'traffic-stream.ts'),
  route('p/:namespace/:project/traffic/histogram', 'traffic-histogram.ts'),
  route('p/:namespace/:project/traffic/values', 'traffic-values.ts'),
  route('p/:namespace/:project/traffic/bodies', 'traffic-bodies.ts'),
  route('p/:namespace/:project/traffic/export', 'traffic-export.ts'),
  route('p/:namespace/:project/traffic/selection', 'traffic-selection.ts'),
  route('p/:namespace/:project/traffic/refusals', 'traffic-refusals.ts'),
  route('p/:namespace/:project/traffic/:id/body', 'exchange-body.ts'),
  route('p/:namespace/:project/traffic/:id/copy', 'exchange-copy.ts'),
  route('p/:namespace/:project/traffic/:id/file', 'exchange-file.ts'),
  route('p/:namespace/:project/traffic/:id/share', 'exchange-share.ts'),
  route('p/:namespace/:project/traffic/:id/replays', 'exchange-replays.ts'),
  route('p/:namespace/:project/traffic/:id/resend', 'exchange-resend.ts'),
  route('p/:namespace/:project/traffic/:id/explanation', 'exchange-explanation.ts'),
  route('p/:namespace/:project/preview', 'endpoint-preview.ts'),
  route('p/:namespace/:project/endpoints/:endpoint/requests', 'endpoint-requests.ts'),
  route('p/:namespace/:project/api-key', 'api-key-value.ts'),
  route('s', 'share-page.tsx'),
  route('login', 'login.tsx'),
  route('login/oidc', 'login-oidc.ts'),
  route('login/oidc/callback', 'login-oidc-callback.ts'),
  route('logout', 'logout.ts'),
  route('navigation', 'navigation.ts'),
  route('events', 'events.ts'),
  route('preferences', 'preferences.ts'),
  route('*', 'not-found.tsx'),
] satisfies readonly RouteEntry[];
