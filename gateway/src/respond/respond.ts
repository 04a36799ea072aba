import type { LogRow } from '@standin/contract';
import { delayUs, meetsConditions, RequestExpressions, RequestFacts, type ExpressionInput } from '@standin/responses';
import { buildRow } from '../record/build-row.ts';
import type { Accepted } from '../request/accepted.ts';
import type { Exchange } from '../request/exchange.ts';
import type { RequestHead } from '../request/request-head.ts';
import type { Mock, Responder, Route } from '../request/route.ts';

/** Returns the mock of the first response whose conditions the request meets. If there is none, the endpoint's action responds. */
export const chooseResponder = (
  head: RequestHead,
  route: Route,
  received: Pick<ExpressionInput, 'id' | 'receivedAtUs' | 'body'>,
): Responder => {
  const { endpoint } = route;
  let request: RequestExpressions | undefined;
  const expressions = (): RequestExpressions => (request ??= expressionsFor(head, route, received));
  const response = endpoint.responses.find(({ conditions }) => meetsConditions(expressions(), conditions));
  if (response !== undefined) return { kind: 'JSON', name: response.name, mock: response.mock.mockFor(expressions) };
  return endpoint.kind === 'JSON' ? { kind: 'JSON', mock: endpoint.mock.mockFor(expressions) } : endpoint;
};

const expressionsFor = (
  { method, path, query, headers }: RequestHead,
  { project, endpoint, parameters }: Route,
  received: Pick<ExpressionInput, 'id' | 'receivedAtUs' | 'body'>,
): RequestExpressions =>
  new RequestExpressions(new RequestFacts({ headers, query, parameters }), {
    ...{ method, path, project: project.name, endpoint: endpoint.config.name },
    ...received,
  });

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
