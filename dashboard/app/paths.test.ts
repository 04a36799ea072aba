import { expect, it } from 'vitest';
import routes from './routes.ts';
import { paths } from './paths.ts';

const params = {
  namespace: 'team-a',
  project: 'shop.v2',
  endpoint: 'create order/1',
  id: '0198',
  replay: 'replay-1',
  expectation: 'expect-1',
};

const all = Object.fromEntries(Object.entries(paths).map(([name, build]) => [name, build(params)]));

it('builds the expected URLs', () => {
  expect(all).toMatchInlineSnapshot(`
    {
      "apiKey": "/p/team-a/shop.v2/settings/api-key",
      "apiKeyValue": "/p/team-a/shop.v2/api-key",
      "editEndpoint": "/p/team-a/shop.v2/endpoints/create%20order%2F1/edit",
      "endpoint": "/p/team-a/shop.v2/endpoints/create%20order%2F1",
      "endpointRequests": "/p/team-a/shop.v2/endpoints/create%20order%2F1/requests",
      "endpointStatus": "/p/team-a/shop.v2/endpoints/create%20order%2F1/status",
      "endpointYaml": "/p/team-a/shop.v2/endpoints/create%20order%2F1/yaml",
      "endpoints": "/p/team-a/shop.v2/endpoints",
      "events": "/events?namespace=team-a&project=shop.v2&endpoint=create+order%2F1&id=0198&replay=replay-1&expectation=expect-1",
      "exchange": "/p/team-a/shop.v2/traffic/0198",
      "exchangeBody": "/p/team-a/shop.v2/traffic/0198/body",
      "exchangeCopy": "/p/team-a/shop.v2/traffic/0198/copy",
      "exchangeExplanation": "/p/team-a/shop.v2/traffic/0198/explanation",
      "exchangeFile": "/p/team-a/shop.v2/traffic/0198/file",
      "exchangeMock": "/p/team-a/shop.v2/traffic/0198/mock",
      "exchangeReplays": "/p/team-a/shop.v2/traffic/0198/replays",
      "expectation": "/p/team-a/shop.v2/expectations/expect-1",
      "expectations": "/p/team-a/shop.v2/expectations",
      "home": "/",
      "login": "/login?namespace=team-a&project=shop.v2&endpoint=create+order%2F1&id=0198&replay=replay-1&expectation=expect-1",
      "logout": "/logout",
      "navigation": "/navigation?namespace=team-a&project=shop.v2&endpoint=create+order%2F1&id=0198&replay=replay-1&expectation=expect-1",
      "newEndpoint": "/p/team-a/shop.v2/endpoints/new",
      "newExpectation": "/p/team-a/shop.v2/expectations/new",
      "newProject": "/projects/new",
      "newReplay": "/p/team-a/shop.v2/replays/new",
      "oidc": "/login/oidc?namespace=team-a&project=shop.v2&endpoint=create+order%2F1&id=0198&replay=replay-1&expectation=expect-1",
      "oidcCallback": "/login/oidc/callback",
      "preferences": "/preferences",
      "previewEndpoint": "/p/team-a/shop.v2/preview",
      "project": "/p/team-a/shop.v2",
      "projects": "/projects",
      "purges": "/p/team-a/shop.v2/settings/purges",
      "refusals": "/p/team-a/shop.v2/traffic/refusals",
      "replay": "/p/team-a/shop.v2/replays/replay-1",
      "replayExchange": "/p/team-a/shop.v2/traffic/0198/replay",
      "replayResult": "/p/team-a/shop.v2/replays/replay-1/results/0198",
      "replays": "/p/team-a/shop.v2/replays",
      "resendExchange": "/p/team-a/shop.v2/traffic/0198/resend",
      "settings": "/p/team-a/shop.v2/settings",
      "shareExchange": "/p/team-a/shop.v2/traffic/0198/share",
      "sharedPages": "/s",
      "shares": "/p/team-a/shop.v2/settings/shares",
      "traffic": "/p/team-a/shop.v2/traffic",
      "trafficBodies": "/p/team-a/shop.v2/traffic/bodies",
      "trafficExport": "/p/team-a/shop.v2/traffic/export",
      "trafficHistogram": "/p/team-a/shop.v2/traffic/histogram",
      "trafficRows": "/p/team-a/shop.v2/traffic/rows",
      "trafficSelection": "/p/team-a/shop.v2/traffic/selection",
      "trafficStream": "/p/team-a/shop.v2/traffic/stream",
      "trafficValues": "/p/team-a/shop.v2/traffic/values",
      "usage": "/p/team-a/shop.v2/settings/usage",
    }
  `);
});

it('builds a URL for every route and nothing else', () => {
  interface Entry {
    readonly path?: string;
    readonly children?: readonly Entry[];
  }
  const patterns = (entries: readonly Entry[], base: string): string[] =>
    entries.flatMap(({ path = '', children = [] }) => {
      const full = path === '' ? base : `${base}/${path}`;
      return [full, ...patterns(children, full)];
    });
  const known = new Set(patterns(routes, '').filter((pattern) => pattern !== '/*'));
  const used = Object.values(all).map((url) => {
    const parts = (url.split('?')[0] ?? '').split('/').map(decodeURIComponent);
    const named = parts.map((part) => Object.entries(params).find(([, value]) => value === part)?.[0]);
    return parts.map((part, index) => (named[index] === undefined ? part : `:${named[index]}`)).join('/');
  });
  expect(new Set(used.map((url) => (url === '/' ? '' : url)))).toEqual(known);
});

it('builds URLs of pages whose names end like the URLs of their data', () => {
  const names = {
    namespace: 'team-a',
    project: 'shop.data',
    endpoint: 'orders.data',
    replay: 'weekly.data',
    expectation: 'refund.data',
  };
  for (const url of [paths.project(names), paths.endpoint(names), paths.replay(names), paths.expectation(names)]) {
    expect(new URL(url, 'http://x').pathname).toMatch(/%2Edata$/);
    expect(decodeURIComponent(url)).toMatch(/\.data$/);
  }
});
