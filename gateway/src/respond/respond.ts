import { meetsConditions, RequestFacts } from '@standin/responses';
import type { Exchange } from '../request/exchange.ts';
import type { RequestHead } from '../request/request-head.ts';
import type { Mock, Responder, Route } from '../request/route.ts';

/** Returns the first response whose conditions the request meets, or the endpoint's action if there is none. */
export const chooseResponder = ({ headers, query }: RequestHead, { endpoint, parameters }: Route): Responder => {
  if (endpoint.responses.length === 0) return endpoint;
  const facts = new RequestFacts({ headers, query, parameters });
  return endpoint.responses.find(({ conditions }) => meetsConditions(facts, conditions)) ?? endpoint;
};

/** Sends the mock verbatim. */
export const respond = (exchange: Exchange, mock: Mock): void =>
  exchange.answer(mock.status, mock.headers(exchange.date()), mock.wire);
