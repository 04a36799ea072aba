import { listText, type AccountConfig, type ProjectConfig } from '@standin/contract';
import { pathParameters, type PathParameters, type PathTable } from '@standin/responses';
import type { AuthenticatedByKey } from '../request/accepted.ts';
import { Refusal, retryLater } from '../request/refusal.ts';
import type { RequestHead } from '../request/request-head.ts';
import type { Endpoint, Route } from '../request/route.ts';
import type { RoutingTable } from './routing-table.ts';

const KEY_MISSING = new Refusal('api_key_missing');
const PROJECT_NOT_FOUND = new Refusal('project_not_found');
const WITHHELD = retryLater('not_ready', {
  detail: 'The endpoint has a field that this version of the gateway does not support. Try again after an upgrade.',
});
const notAccepted = ({ config: { namespace, name } }: Endpoint): Refusal =>
  retryLater('endpoint_not_accepted', {
    detail: `Correct the Endpoint ${name} in the namespace ${namespace}: its condition Accepted says what is wrong (kubectl describe mep ${name} -n ${namespace}, or the dashboard), and so do standin dev and standin validate.`,
  });
const NO_PARAMETERS: PathParameters = new Map();
const OTHER_ACCOUNT = new Refusal('api_key_other_account');

const notFound = (paths: PathTable<Endpoint> | undefined, path: string): Refusal => {
  const similar = paths?.similarPath(path);
  if (similar === undefined) return new Refusal('endpoint_not_found');
  return new Refusal('endpoint_not_found', {
    detail: `Paths are compared byte by byte. This project has an endpoint at ${similar}, which differs only in case or in trailing slashes.`,
  });
};

const methodNotAllowed = (allowed: readonly string[], method: string): Refusal =>
  new Refusal('method_not_allowed', {
    detail: `Send ${listText(allowed, 'or')} instead of ${method}.`,
    headers: [['allow', allowed.join(', ')]],
  });

const findEndpoint = ({ method, path }: RequestHead, paths: PathTable<Endpoint> | undefined): Endpoint | Refusal => {
  const found = paths?.find(method, path);
  if (found !== undefined) return found;
  const allowed = new Set<string>(paths?.matches(path).flatMap((methods) => [...methods.keys()]));
  if (allowed.has('GET')) allowed.add('HEAD');
  return allowed.size > 0 ? methodNotAllowed([...allowed].sort(), method) : notFound(paths, path);
};

const routeTo = (
  { path }: RequestHead,
  account: AccountConfig,
  project: ProjectConfig,
  endpoint: Endpoint,
): Route | Refusal => {
  if (endpoint.kind === 'Withheld') return WITHHELD;
  if (endpoint.kind === 'NotAccepted') return notAccepted(endpoint);
  const parameters = endpoint.pattern === undefined ? NO_PARAMETERS : pathParameters(endpoint.pattern, path);
  return { account, project, endpoint, parameters };
};

/**
 * Finds the endpoint for the request's path and method in a project that belongs to one of the key's accounts. Compares the project
 * URI and the literal segments of the path byte by byte with the raw target. Ignores the query. Without a key, finds only endpoints that
 * accept signatures. Callers without a key must not be able to tell whether there is another endpoint.
 */
export const match = (
  head: RequestHead,
  byKey: AuthenticatedByKey | undefined,
  table: RoutingTable,
): Route | Refusal => {
  const project = table.projectAt(head.projectUri);
  if (project === undefined) return byKey === undefined ? KEY_MISSING : PROJECT_NOT_FOUND;
  const paths = table.endpointPaths(project.uid);
  if (byKey === undefined) {
    const endpoint = paths?.find(head.method, head.path);
    const account = table.account(project.accountUid);
    if (endpoint?.credential === undefined || account === undefined) return KEY_MISSING;
    return routeTo(head, account, project, endpoint);
  }
  const account = byKey.holders.find((holder) => holder.uid === project.accountUid);
  if (account === undefined) return OTHER_ACCOUNT;
  const endpoint = findEndpoint(head, paths);
  return endpoint instanceof Refusal ? endpoint : routeTo(head, account, project, endpoint);
};
