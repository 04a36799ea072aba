import { listText, type ProjectConfig } from '@standin/contract';
import type { Authenticated } from '../request/accepted.ts';
import { Refusal } from '../request/refusal.ts';
import type { RequestHead } from '../request/request-head.ts';
import type { Route } from '../request/route.ts';
import type { Methods, RoutingTable } from './routing-table.ts';

const PROJECT_NOT_FOUND = new Refusal('project_not_found');
const OTHER_ACCOUNT = new Refusal('api_key_other_account');

const notFound = (table: RoutingTable, project: ProjectConfig, path: string): Refusal => {
  const similar = table.similarPath(project.uid, path);
  if (similar === undefined) return new Refusal('endpoint_not_found');
  return new Refusal('endpoint_not_found', {
    detail: `Paths are compared byte by byte. This project has an endpoint at ${similar}, which differs only in case or in trailing slashes.`,
  });
};

const methodNotAllowed = (methods: Methods, method: string): Refusal => {
  const allowed = [...methods.keys()].sort();
  return new Refusal('method_not_allowed', {
    detail: `Send ${listText(allowed, 'or')} instead of ${method}.`,
    headers: [['allow', allowed.join(', ')]],
  });
};

/**
 * Finds the endpoint for the request's path and method in a project that belongs to one of the key's accounts. Compares
 * the project URI and the path byte by byte with the raw target. Ignores the query.
 */
export const match = (head: RequestHead, { holders }: Authenticated, table: RoutingTable): Route | Refusal => {
  const project = table.projectAt(head.projectUri);
  if (project === undefined) return PROJECT_NOT_FOUND;
  const account = holders.find((holder) => holder.uid === project.accountUid);
  if (account === undefined) return OTHER_ACCOUNT;
  const methods = table.methodsAt(project.uid, head.path);
  if (methods === undefined) return notFound(table, project, head.path);
  const endpoint = methods.get(head.method);
  return endpoint === undefined ? methodNotAllowed(methods, head.method) : { account, project, endpoint };
};
