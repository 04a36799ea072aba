/** All URLs of the dashboard. Links are built only here, so that none is dead (paths.test.ts compares them with routes.ts). */
export interface ProjectParams {
  readonly namespace: string;
  readonly project: string;
}
/** One captured request, by the id of its log entry. */
export interface ExchangeParams extends ProjectParams {
  readonly id: string;
}
export interface EndpointParams extends ProjectParams {
  readonly endpoint: string;
}
export interface ReplayParams extends ProjectParams {
  /** Name of the Replay. */
  readonly replay: string;
}

const segments = (...parts: readonly string[]): string => `/${parts.map(encodeURIComponent).join('/')}`;

/** Undefined and empty values are left out. */
type Query = Readonly<Record<string, string | undefined>>;

const withQuery = (path: string, query: Query): string => {
  const set = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
  );
  return set.length === 0 ? path : `${path}?${new URLSearchParams(set).toString()}`;
};

const project = ({ namespace, project: name }: ProjectParams, ...rest: readonly string[]): string =>
  segments('p', namespace, name, ...rest);
const endpoint = (params: EndpointParams, ...rest: readonly string[]): string =>
  project(params, 'endpoints', params.endpoint, ...rest);

const exchange = (params: ExchangeParams, ...rest: readonly string[]): string =>
  project(params, 'traffic', params.id, ...rest);

export const paths = {
  home: () => '/',
  projects: () => '/projects',
  newProject: () => '/projects/new',
  project: (params: ProjectParams) => project(params),
  endpoints: (params: ProjectParams, query: { readonly q?: string } = {}) =>
    withQuery(project(params, 'endpoints'), query),
  newEndpoint: (params: ProjectParams) => project(params, 'endpoints', 'new'),
  endpoint: (params: EndpointParams) => endpoint(params),
  editEndpoint: (params: EndpointParams) => endpoint(params, 'edit'),
  endpointYaml: (params: EndpointParams) => endpoint(params, 'yaml'),
  endpointStatus: (params: EndpointParams) => endpoint(params, 'status'),
  traffic: (params: ProjectParams, query: Query = {}) => withQuery(project(params, 'traffic'), query),
  trafficRows: (params: ProjectParams, query: Query = {}) => withQuery(project(params, 'traffic', 'rows'), query),
  trafficStream: (params: ProjectParams, query: Query = {}) => withQuery(project(params, 'traffic', 'stream'), query),
  trafficHistogram: (params: ProjectParams, query: Query = {}) =>
    withQuery(project(params, 'traffic', 'histogram'), query),
  trafficValues: (params: ProjectParams, query: Query = {}) => withQuery(project(params, 'traffic', 'values'), query),
  trafficExport: (params: ProjectParams, query: Query = {}) => withQuery(project(params, 'traffic', 'export'), query),
  trafficSelection: (params: ProjectParams, query: Query = {}) =>
    withQuery(project(params, 'traffic', 'selection'), query),
  exchange: (params: ExchangeParams, query: Query = {}) => withQuery(exchange(params), query),
  exchangeBody: (params: ExchangeParams, query: Query = {}) => withQuery(exchange(params, 'body'), query),
  exchangeCopy: (params: ExchangeParams, query: Query = {}) => withQuery(exchange(params, 'copy'), query),
  exchangeFile: (params: ExchangeParams, query: Query = {}) => withQuery(exchange(params, 'file'), query),
  shareExchange: (params: ExchangeParams) => exchange(params, 'share'),
  /** The links are below it. The server creates them, each with its token. */
  sharedPages: () => '/s',
  mockOfExchange: (params: ExchangeParams) => exchange(params, 'mock'),
  /** `like`: an earlier Replay of the request, whose edits are copied. */
  replayExchange: (params: ExchangeParams, query: { readonly like?: string } = {}) =>
    withQuery(exchange(params, 'replay'), query),
  exchangeReplays: (params: ExchangeParams) => exchange(params, 'replays'),
  replays: (params: ProjectParams) => project(params, 'replays'),
  /** `q`, `from`, `to`: as on the Traffic screen. */
  newReplay: (params: ProjectParams, query: Query = {}) => withQuery(project(params, 'replays', 'new'), query),
  replay: (params: ReplayParams, query: Query = {}) => withQuery(project(params, 'replays', params.replay), query),
  replayResult: (params: ReplayParams & ExchangeParams) =>
    project(params, 'replays', params.replay, 'results', params.id),
  settings: (params: ProjectParams) => project(params, 'settings'),
  apiKey: (params: ProjectParams) => project(params, 'settings', 'api-key'),
  usage: (params: ProjectParams) => project(params, 'settings', 'usage'),
  shares: (params: ProjectParams) => project(params, 'settings', 'shares'),
  apiKeyValue: (params: ProjectParams) => project(params, 'api-key'),
  navigation: (current?: ProjectParams) => withQuery('/navigation', { ...current }),
  previewEndpoint: (params: ProjectParams) => project(params, 'preview'),
  events: (query: { readonly namespace?: string } = {}) => withQuery('/events', query),
  preferences: () => '/preferences',
  /** `to`: the path to open afterwards. `reason`: why the login page is shown. */
  login: (query: { readonly to?: string; readonly reason?: string } = {}) => withQuery('/login', query),
  oidc: (query: { readonly to?: string } = {}) => withQuery('/login/oidc', query),
  oidcCallback: () => '/login/oidc/callback',
  logout: () => '/logout',
} as const;
