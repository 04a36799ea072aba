import { meetsConditions, type RequestExpressions } from '@standin/responses';
import type { Exchange } from '../request/exchange.ts';
import { requestExpressions, type Asked } from '../request/expressions.ts';
import type { Mock, Responder } from '../request/route.ts';

/** Returns the mock of the first response whose conditions the request meets. If there is none, the endpoint's action responds. */
export const chooseResponder = (asked: Asked): Responder => {
  const { endpoint } = asked.route;
  let made: RequestExpressions | undefined;
  const expressions = (): RequestExpressions => (made ??= requestExpressions(asked));
  const response = endpoint.preparation.responses.find(({ conditions }) => meetsConditions(expressions(), conditions));
  if (response !== undefined) return { kind: 'JSON', name: response.name, mock: response.mock.mockFor(expressions) };
  return endpoint.kind === 'JSON' ? { kind: 'JSON', mock: endpoint.mock.mockFor(expressions) } : endpoint;
};

/** Sends the mock verbatim. */
export const respond = (exchange: Exchange, mock: Mock): void =>
  exchange.respond(mock.status, mock.headers(exchange.date()), mock.wire);
