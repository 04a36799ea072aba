import type { LogRow } from '@standin/contract';
import { delayUs, meetsConditions, RequestExpressions, RequestFacts } from '@standin/responses';
import { buildRow } from '../record/build-row.ts';
import type { Accepted } from '../request/accepted.ts';
import type { Exchange } from '../request/exchange.ts';
import type { Mock, Responder } from '../request/route.ts';

type Asked = Pick<Accepted, 'id' | 'head' | 'body' | 'route'> & { readonly exchange: Pick<Exchange, 'receivedAtUs'> };

/** Returns the mock of the first response whose conditions the request meets. If there is none, the endpoint's action responds. */
export const chooseResponder = (asked: Asked): Responder => {
  const { endpoint, parameters } = asked.route;
  const { headers, query } = asked.head;
  const facts = new RequestFacts({ headers, query, parameters });
  const expressions = () => expressionsFor(asked, facts);
  const response = endpoint.responses.find(({ conditions }) => meetsConditions(facts, conditions));
  if (response !== undefined) return { kind: 'JSON', name: response.name, mock: response.mock.mockFor(expressions) };
  return endpoint.kind === 'JSON' ? { kind: 'JSON', mock: endpoint.mock.mockFor(expressions) } : endpoint;
};

const expressionsFor = ({ id, exchange, head, body, route }: Asked, facts: RequestFacts): RequestExpressions => {
  const { project, endpoint } = route;
  const { method, path } = head;
  return new RequestExpressions(facts, {
    ...{ id, receivedAtUs: exchange.receivedAtUs, method, path, body },
    ...{ project: project.name, endpoint: endpoint.config.name },
  });
};

/** Returns the row for the complete exchange. The whole row is known before the mock is sent. */
export const buildMockRow = (accepted: Accepted, mock: Mock): LogRow => {
  const { status, bytes } = mock;
  return buildRow(accepted, {
    outcome: mock.outcome,
    templateError: mock.templateError,
    status,
    headers: mock.headers(accepted.exchange.date()),
    trailers: [],
    body: bytes,
    bodyBytes: bytes.length,
    isTruncated: false,
    upstreamUrl: '',
    upstreamError: '',
    upstreamFirstByteUs: 0,
    delayUs: delayUs(mock.delay, accepted.id),
  });
};

/** Sends the mock verbatim. */
export const respond = (exchange: Exchange, mock: Mock): void =>
  exchange.answer(mock.status, mock.headers(exchange.date()), mock.wire);
