import { listText, type ProjectConfig } from '@standin/contract';
import { parametersOf, type PathParameters } from '@standin/responses';
import type { Authenticated } from '../request/accepted.ts';
import { Refusal, retryLater } from '../request/refusal.ts';
import type { RequestHead } from '../request/request-head.ts';
import type { Endpoint, Route } from '../request/route.ts';
import type { RoutingTable } from './routing-table.ts';

const PROJECT_NOT_FOUND = new Refusal('project_not_found');
const WITHHELD = retryLater('not_ready', {
  detail: 'Try again later. This gateway must be updated to a newer version before it can serve the endpoint.',
});
const NO_PARAMETERS: PathParameters = new Map();
const OTHER_ACCOUNT = new Refusal('api_key_other_account');

const notFound = (table: RoutingTable, project: ProjectConfig, path: string): Refusal => {
  const similar = table.similarPath(project.uid, path);
  if (similar === undefined) return new Refusal('endpoint_not_found');
  return new Refusal('endpoint_not_found', {
    detail: `Paths are compared byte by byte. This project has an endpoint at ${similar}, which differs only in case or in trailing slashes.`,
  });
};

const methodNotAllowed = (methods: ReadonlySet<string>, method: string): Refusal => {
  const allowed = [...methods].sort();
  return new Refusal('method_not_allowed', {
    detail: `Send ${listText(allowed, 'or')} instead of ${method}.`,
    headers: [['allow', allowed.join(', ')]],
  });
};

/**
 * Returns the endpoint for the path and method, or a refusal. If a pattern matches the path but lacks the method, tries the next
 * pattern.
 */
const findEndpoint = (
  { method, path }: RequestHead,
  project: ProjectConfig,
  table: RoutingTable,
): Endpoint | Refusal => {
  const literal = table.methodsAt(project.uid, path);
  const found = literal?.get(method);
  if (found !== undefined) return found;
  const allowed = new Set<string>(literal?.keys());
  for (const methods of table.patternsAt(project.uid, path)) {
    const endpoint = methods.get(method);
    if (endpoint !== undefined) return endpoint;
    for (const other of methods.keys()) allowed.add(other);
  }
  return allowed.size > 0 ? methodNotAllowed(allowed, method) : notFound(table, project, path);
};

/**
 * Finds the endpoint for the request's path and method in a project that belongs to one of the key's accounts. Compares the project
 * URI and the literal segments of the path byte by byte with the raw target. Ignores the query.
 */
export const match = (head: RequestHead, { holders }: Authenticated, table: RoutingTable): Route | Refusal => {
  const project = table.projectAt(head.projectUri);
  if (project === undefined) return PROJECT_NOT_FOUND;
  const account = holders.find((holder) => holder.uid === project.accountUid);
  if (account === undefined) return OTHER_ACCOUNT;
  const endpoint = findEndpoint(head, project, table);
  if (endpoint instanceof Refusal) return endpoint;
  if (endpoint.kind === 'Withheld') return WITHHELD;
  const parameters = endpoint.pattern === undefined ? NO_PARAMETERS : parametersOf(endpoint.pattern, head.path);
  return { account, project, endpoint, parameters };
};
