import type { HeaderPair, LogRow, RequestMethod, Outcome } from '@standin/contract';
import { delayUs } from '@standin/responses';
import type { Accepted } from '../request/accepted.ts';
import { responderName, type Mock } from '../request/route.ts';

/** The response, as stored in the log. */
export interface RecordedResponse {
  readonly outcome: Outcome;
  readonly status: number;
  readonly headers: readonly HeaderPair[];
  readonly trailers: readonly HeaderPair[];
  readonly body: Uint8Array;
  readonly bodyBytes: number;
  readonly isTruncated: boolean;
  readonly upstreamUrl: string;
  readonly upstreamError: string;
  readonly upstreamFirstByteUs: number;
  /** Absent if no template failed. */
  readonly templateError?: string;
  /** The planned delay of the response in microseconds. */
  readonly delayUs: number;
}

/** What an upstream did before its endpoint's fallback responded. */
export type FailedUpstream = Pick<RecordedResponse, 'upstreamUrl' | 'upstreamError' | 'upstreamFirstByteUs'>;

const DAY_S = 24 * 60 * 60;
const NOTHING = new Uint8Array(0);
const NO_RESPONSE = {
  status: 0,
  headers: [],
  trailers: [],
  body: NOTHING,
  bodyBytes: 0,
  isTruncated: false,
} as const satisfies Partial<RecordedResponse>;
const NO_UPSTREAM: FailedUpstream = { upstreamUrl: '', upstreamError: '', upstreamFirstByteUs: 0 };

/**
 * Returns the row for an exchange, which is complete in version 2 and has no response in version 1. All columns by which ClickHouse
 * sorts, partitions or expires rows come from `accepted`, so they are the same in all versions.
 */
export const buildRow = (accepted: Accepted, response: RecordedResponse, version: 1 | 2 = 2): LogRow => {
  const { exchange, head, authenticated, route, permit } = accepted;
  const { account, project, endpoint } = route;
  // RFC 9110 section 9.3.2: the response to HEAD has no content, only the headers of the response to GET.
  const hasContent = head.method !== 'HEAD';
  return {
    id: accepted.id,
    version,
    receivedAtUs: exchange.receivedAtUs,
    expiresAtS: Math.floor(exchange.receivedAtUs / 1_000_000) + project.retentionDays * DAY_S,
    namespace: project.namespace,
    account: account.name,
    accountUid: account.uid,
    project: project.name,
    projectUid: project.uid,
    endpoint: endpoint.config.name,
    endpointUid: endpoint.config.uid,
    endpointGeneration: endpoint.config.generation,
    gateway: accepted.gateway,
    action: endpoint.kind,
    outcome: response.outcome,
    clientAddress: exchange.connection.peerAddress,
    keyFingerprint: authenticated.kind === 'key' ? authenticated.fingerprint : '',
    // The request is matched, so its method is one of the known methods.
    method: head.method as RequestMethod,
    target: head.target,
    path: head.path,
    query: head.query,
    httpVersion: head.httpVersion,
    requestHeaders: head.headers,
    requestTrailers: accepted.trailers,
    requestBody: accepted.body,
    status: response.status,
    responseHeaders: response.status === 0 ? [] : exchange.responseHeaders(response.headers),
    responseTrailers: response.trailers,
    responseBody: hasContent ? response.body : NOTHING,
    responseBodyBytes: hasContent ? response.bodyBytes : 0,
    responseTruncated: response.isTruncated,
    upstreamUrl: response.upstreamUrl,
    upstreamError: response.upstreamError,
    durationUs: exchange.elapsedUs(),
    requestUs: accepted.requestUs,
    upstreamFirstByteUs: response.upstreamFirstByteUs,
    quotaPeriod: permit.period,
    quotaBlock: permit.block,
    quotaPermit: permit.number,
    response: responderName(accepted.responder),
    delayUs: response.delayUs,
    templateError: response.templateError ?? '',
    credential: authenticated.kind,
    deliveryId: authenticated.kind === 'signature' ? authenticated.deliveryId : '',
  };
};

/**
 * Returns the row for an exchange whose response is a mock. The whole row is known before the mock is sent. `upstream` is set if the
 * mock is the fallback of an upstream.
 */
export const buildMockRow = (accepted: Accepted, mock: Mock, upstream?: FailedUpstream): LogRow =>
  buildRow(accepted, {
    outcome: upstream !== undefined && mock.outcome === 'mocked' ? 'fallback' : mock.outcome,
    templateError: mock.templateError,
    status: mock.status,
    headers: mock.headers(accepted.exchange.date()),
    trailers: [],
    body: mock.bytes,
    bodyBytes: mock.bytes.length,
    isTruncated: false,
    delayUs: delayUs(mock.delay, accepted.id),
    ...(upstream ?? NO_UPSTREAM),
  });

/** Returns the row for an exchange whose caller disconnected during the delay of the mock, so that nothing was sent. */
export const buildGoneRow = (accepted: Accepted, { delay }: Mock, upstream?: FailedUpstream): LogRow =>
  buildRow(accepted, {
    ...NO_RESPONSE,
    outcome: 'caller_gone',
    delayUs: delayUs(delay, accepted.id),
    ...(upstream ?? NO_UPSTREAM),
  });

/** Returns the row for the request alone (version 1), in case no response follows. */
export const buildRequestRow = (
  accepted: Accepted,
  planned: Partial<Pick<RecordedResponse, 'upstreamUrl' | 'delayUs'>>,
): LogRow =>
  buildRow(accepted, { ...NO_RESPONSE, ...NO_UPSTREAM, outcome: 'response_unknown', delayUs: 0, ...planned }, 1);
