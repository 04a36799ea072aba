import { RequestExpressions, RequestFacts } from '@standin/responses';
import type { Accepted } from './accepted.ts';
import type { Exchange } from './exchange.ts';

/** The parts of a complete request that conditions and templates can refer to. */
export type Asked = Pick<Accepted, 'id' | 'head' | 'body' | 'route'> & {
  readonly exchange: Pick<Exchange, 'receivedAtUs'>;
};

/** Returns what evaluates the expressions of the endpoint for a request. */
export const requestExpressions = ({ id, exchange, head, body, route }: Asked): RequestExpressions => {
  const { method, path, query, headers } = head;
  const { project, endpoint, parameters } = route;
  return new RequestExpressions(new RequestFacts({ headers, query, parameters }), {
    id,
    receivedAtUs: exchange.receivedAtUs,
    method,
    path,
    body,
    project: project.name,
    endpoint: endpoint.config.name,
    projectUrl: project.url,
  });
};
