import type { SignatureScheme } from '@standin/contract';
import type { EndpointName, ExpectationName, ProjectName, ReplayName, RequestName } from '../src/resources/names.ts';

/**
 * Joins path segments. This file builds the paths of all Remix routes, so that paths.test.ts can compare them with routes.ts. Remix
 * requests a page's data below `.data`, so a name with this end is written in another way.
 */
const segments = (...parts: readonly string[]): string =>
  `/${parts.map((part) => encodeURIComponent(part).replace(/\.data$/, '%2Edata')).join('/')}`;

/** Query parameters. Undefined and empty values are omitted. */
type Query = Readonly<Record<string, string | undefined>>;

/** The signature scheme that a form for an endpoint selects. */
interface Preset extends Query {
  readonly scheme?: SignatureScheme;
}

const withQuery = (path: string, query: Query): string => {
  const set = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
  );
  return set.length === 0 ? path : `${path}?${new URLSearchParams(set).toString()}`;
};

const project = ({ namespace, project: name }: ProjectName, ...rest: readonly string[]): string =>
  segments('p', namespace, name, ...rest);
const endpoint = (params: EndpointName, ...rest: readonly string[]): string =>
  project(params, 'endpoints', params.endpoint, ...rest);

const exchange = (params: RequestName, ...rest: readonly string[]): string =>
  project(params, 'traffic', params.id, ...rest);

export const paths = {
  home: () => '/',
  projects: () => '/projects',
  newProject: () => '/projects/new',
  project: (params: ProjectName) => project(params),
  endpoints: (params: ProjectName, query: { readonly q?: string } = {}) =>
    withQuery(project(params, 'endpoints'), query),
  /**
   * `method` and `path` are those of a captured request that the endpoint is for. The path is latin1. `copyOf` is the name of an
   * endpoint whose copy fills the form.
   */
  newEndpoint: (
    params: ProjectName,
    query: { readonly method?: string; readonly path?: string; readonly copyOf?: string } & Preset = {},
  ) => withQuery(project(params, 'endpoints', 'new'), query),
  endpoint: (params: EndpointName) => endpoint(params),
  editEndpoint: (params: EndpointName, query: Preset = {}) => withQuery(endpoint(params, 'edit'), query),
  endpointRequests: (params: EndpointName) => endpoint(params, 'requests'),
  endpointYaml: (params: EndpointName) => endpoint(params, 'yaml'),
  endpointStatus: (params: EndpointName) => endpoint(params, 'status'),
  traffic: (params: ProjectName, query: Query = {}) => withQuery(project(params, 'traffic'), query),
  trafficRows: (params: ProjectName, query: Query = {}) => withQuery(project(params, 'traffic', 'rows'), query),
  trafficStream: (params: ProjectName, query: Query = {}) => withQuery(project(params, 'traffic', 'stream'), query),
  trafficHistogram: (params: ProjectName, query: Query = {}) =>
    withQuery(project(params, 'traffic', 'histogram'), query),
  trafficValues: (params: ProjectName, query: Query = {}) => withQuery(project(params, 'traffic', 'values'), query),
  /** `keys` are the receive times and ids of the requests. */
  trafficBodies: (params: ProjectName, query: Query = {}) => withQuery(project(params, 'traffic', 'bodies'), query),
  trafficExport: (params: ProjectName, query: Query = {}) => withQuery(project(params, 'traffic', 'export'), query),
  refusals: (params: ProjectName) => project(params, 'traffic', 'refusals'),
  trafficSelection: (params: ProjectName, query: Query = {}) =>
    withQuery(project(params, 'traffic', 'selection'), query),
  exchange: (params: RequestName, query: Query = {}) => withQuery(exchange(params), query),
  exchangeBody: (params: RequestName, query: Query = {}) => withQuery(exchange(params, 'body'), query),
  exchangeCopy: (params: RequestName, query: Query = {}) => withQuery(exchange(params, 'copy'), query),
  exchangeFile: (params: RequestName, query: Query = {}) => withQuery(exchange(params, 'file'), query),
  shareExchange: (params: RequestName) => exchange(params, 'share'),
  /** The parent path of share links. The server creates the links with their tokens. */
  sharedPages: () => '/s',
  exchangeMock: (params: RequestName) => exchange(params, 'mock'),
  /**
   * `like` is the name of an earlier Replay of this request. Its edits and its target fill the form. `focus` is `body` if the body
   * gets focus.
   */
  replayExchange: (params: RequestName, query: { readonly like?: string; readonly focus?: 'body' } = {}) =>
    withQuery(exchange(params, 'replay'), query),
  resendExchange: (params: RequestName) => exchange(params, 'resend'),
  exchangeReplays: (params: RequestName) => exchange(params, 'replays'),
  exchangeExplanation: (params: RequestName) => exchange(params, 'explanation'),
  replays: (params: ProjectName) => project(params, 'replays'),
  /** `q`, `from` and `to` have the same meaning as on the Traffic screen. */
  newReplay: (params: ProjectName, query: Query = {}) => withQuery(project(params, 'replays', 'new'), query),
  replay: (params: ReplayName, query: Query = {}) => withQuery(project(params, 'replays', params.replay), query),
  replayResult: (params: ReplayName & RequestName) => project(params, 'replays', params.replay, 'results', params.id),
  expectations: (params: ProjectName) => project(params, 'expectations'),
  /** `q` has the same meaning as on the Traffic screen. */
  newExpectation: (params: ProjectName, query: { readonly q?: string } = {}) =>
    withQuery(project(params, 'expectations', 'new'), query),
  expectation: (params: ExpectationName) => project(params, 'expectations', params.expectation),
  settings: (params: ProjectName) => project(params, 'settings'),
  apiKey: (params: ProjectName) => project(params, 'settings', 'api-key'),
  usage: (params: ProjectName) => project(params, 'settings', 'usage'),
  shares: (params: ProjectName) => project(params, 'settings', 'shares'),
  /** `q`, `from` and `to` have the same meaning as on the Traffic screen. */
  purges: (params: ProjectName, query: Query = {}) => withQuery(project(params, 'settings', 'purges'), query),
  apiKeyValue: (params: ProjectName) => project(params, 'api-key'),
  /** `namespace` and `project` select the project whose endpoints are included. `q` searches, if there are too many for one list. */
  navigation: (query: Query = {}) => withQuery('/navigation', query),
  /** `endpoint` selects the endpoint whose requests can be previewed. */
  previewEndpoint: (params: ProjectName, query: { readonly endpoint?: string } = {}) =>
    withQuery(project(params, 'preview'), query),
  events: (query: { readonly namespace?: string } = {}) => withQuery('/events', query),
  preferences: () => '/preferences',
  /** `to` is the path to open after the user has signed in. `reason` is a key of the notices in `routes/login.tsx`. */
  login: (query: { readonly to?: string; readonly reason?: string } = {}) => withQuery('/login', query),
  oidc: (query: { readonly to?: string } = {}) => withQuery('/login/oidc', query),
  oidcCallback: () => '/login/oidc/callback',
  logout: () => '/logout',
} as const;
