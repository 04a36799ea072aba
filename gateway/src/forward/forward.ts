import {
  errorMessage,
  type FallbackReason,
  type HeaderPair,
  type RequestMethod,
  type UpstreamFailureCode,
} from '@standin/contract';
import {
  changeHeaders,
  EgressError,
  joinUpstreamUrl,
  secretWithdrawn,
  type Authority,
  type Egress,
  type UpstreamResponse,
  type UpstreamTls,
} from '@standin/egress';
import { expandUrl } from '@standin/responses';
import { buildRow, type FailedUpstream, type RecordedResponse } from '../record/build-row.ts';
import type { Recorder } from '../record/recorder.ts';
import type { Accepted } from '../request/accepted.ts';
import type { ByteBudget } from '../request/byte-budget.ts';
import { ExchangeTimeout, mockInTime } from '../request/exchange-timeout.ts';
import { requestExpressions } from '../request/expressions.ts';
import { failureProblem } from '../request/problem.ts';
import type { ForwardEndpoint, Mock, MockSource } from '../request/route.ts';
import { CallerGone, endWithoutCaller, type WaitWithoutCaller } from './caller-gone.ts';
import { Capture } from './capture.ts';
import { discard } from './discard.ts';
import { relayBody, type RelayEnd } from './relay-body.ts';
import { acceptsTrailers, frameResponse, passableTrailers, upstreamHeaders, type Framing } from './upstream-headers.ts';
import { publicBase, rewriteHeaders, upstreamBase } from './upstream-paths.ts';

/** The span for a call to an upstream. */
interface UpstreamSpan {
  /** Returns the headers to send, with the trace headers of this span instead of the caller's. */
  headers(headers: readonly HeaderPair[]): HeaderPair[];
  /** Ends the span. Called when the whole response has been received, or when it is clear that none will arrive. */
  end(end: { readonly status?: number; readonly error?: string | undefined }): void;
}

export interface ForwardOptions {
  readonly recorder: Recorder;
  readonly egress: Egress;
  readonly budget: ByteBudget;
  /** The request's span, or undefined if tracing is off. */
  readonly span?: { upstream(url: string): UpstreamSpan } | undefined;
  readonly captureBytesMax: number;
  /** Returns the authority with this uid that the configuration has now. */
  readonly authority: (uid: string) => Authority | undefined;
  readonly withoutCaller: WaitWithoutCaller;
  /** See `ConfigStore.secretHeaders`. */
  readonly secretHeaders: (endpoint: ForwardEndpoint) => readonly HeaderPair[] | undefined;
}

interface Failure {
  readonly code: UpstreamFailureCode | ExchangeTimeout['code'] | CallerGone['code'];
  readonly message: string;
}

/** An address that the policy blocks cannot be reached either. */
const REASONS: Readonly<Record<Failure['code'], FallbackReason | undefined>> = {
  upstream_unreachable: 'Unreachable',
  upstream_blocked: 'Unreachable',
  upstream_timeout: 'Timeout',
  upstream_invalid: 'InvalidAnswer',
  exchange_timeout: undefined,
  caller_gone: undefined,
};
const SERVER_ERROR_MIN = 500;

const toFailure = (error: unknown): Failure =>
  error instanceof EgressError || error instanceof ExchangeTimeout || error instanceof CallerGone
    ? error
    : { code: 'upstream_invalid', message: errorMessage(error) };

/** The mock that responds instead of the upstream, and what the upstream did. */
export interface FallbackResponse {
  readonly mock: Mock;
  readonly upstream: FailedUpstream;
}

export const expandUpstreamUrl = ({ head }: Accepted, { forward, urlTemplate }: ForwardEndpoint): string =>
  joinUpstreamUrl(
    urlTemplate === undefined ? forward.url : expandUrl(urlTemplate, head.path),
    head.target.includes('?') ? head.query : undefined,
  );

/**
 * Calls the upstream, streams its response to the caller, and records the exchange before the last byte of the response is sent.
 * The request itself is already recorded. If the endpoint's fallback responds instead, returns it, and records and sends nothing.
 */
export const forward = async (
  accepted: Accepted,
  endpoint: ForwardEndpoint,
  options: ForwardOptions,
): Promise<FallbackResponse | undefined> => {
  const { exchange, head, body } = accepted;
  const upstreamUrl = expandUpstreamUrl(accepted, endpoint);
  const span = options.span?.upstream(upstreamUrl);
  const relay = new Relay(accepted, { upstreamUrl, endpoint, span }, options);
  const { host, requestHeaders, timeoutMs, viaService, tls } = endpoint.forward;
  const own = upstreamHeaders(head, exchange.connection.peerAddress, {
    secretHeaders: endpoint.credential?.secretHeaders,
    prefix: publicBase(endpoint.paths, head),
  });
  const secretHeaders = options.secretHeaders(endpoint);
  const headers = changeHeaders(changeHeaders(own, requestHeaders), { set: secretHeaders ?? [], remove: [] });
  const ending = new AbortController();
  const withoutCaller = endWithoutCaller(exchange, ending, options.withoutCaller);
  const timer = setTimeout(() => {
    ending.abort(new ExchangeTimeout(exchange));
    // If the response has begun, its caller may be reading it too slowly.
    if (exchange.response.headersSent) exchange.destroy();
  }, exchange.leftMs).unref();
  try {
    const call = async (): Promise<UpstreamResponse> =>
      options.egress.request({
        url: upstreamUrl,
        tls: tls && upstreamTls(tls, options.authority),
        // The request is matched, so its method is one of the known methods.
        method: head.method as RequestMethod,
        headers: span?.headers(headers) ?? headers,
        body: body.length > 0 ? body : undefined,
        host: host === 'Preserve' ? head.host : undefined,
        timeoutMs,
        viaService,
        namespace: accepted.route.account.namespace,
        account: accepted.route.account.uid,
        // A new connection can take seconds, in which the Secret may be replaced or withdrawn.
        obstacle: () =>
          secretHeaders === undefined || options.secretHeaders(endpoint) === undefined ? secretWithdrawn() : undefined,
        signal: ending.signal,
      });
    const response = await call().catch(toFailure);
    if (!('code' in response)) withoutCaller.responded(response.headers);
    return await ('code' in response ? relay.fail(response) : relay.pass(response));
  } finally {
    clearTimeout(timer);
    withoutCaller.stop();
  }
};

/** Throws if the authority is missing. Without it, the upstream would be verified in another way. */
const upstreamTls = (
  { authorityUid, serverName }: NonNullable<ForwardEndpoint['forward']['tls']>,
  find: ForwardOptions['authority'],
): UpstreamTls => {
  const authority = authorityUid === undefined ? undefined : find(authorityUid);
  if (authorityUid !== undefined && authority === undefined)
    throw new EgressError(
      'upstream_unreachable',
      'Not connected: there are no usable certificates in forward.tls.caRef: see the condition ResolvedRefs of the Endpoint.',
    );
  return { authority, serverName };
};

interface Call {
  readonly upstreamUrl: string;
  readonly endpoint: ForwardEndpoint;
  readonly span: UpstreamSpan | undefined;
}

/** Carries one response from the upstream to the caller and to the log. */
class Relay {
  readonly #accepted: Accepted;
  readonly #call: Call;
  readonly #options: ForwardOptions;
  readonly #dialledMs = performance.now();
  #firstByteUs = 0;

  constructor(accepted: Accepted, call: Call, options: ForwardOptions) {
    this.#accepted = accepted;
    this.#call = call;
    this.#options = options;
  }

  /**
   * Responds when the upstream sends no response, or one that cannot be passed on: with the fallback, or with 502 or 504. The 502 or
   * 504 is stored and counted like any other response. Without a caller, there is no response.
   */
  async fail(failure: Failure): Promise<FallbackResponse | undefined> {
    const { exchange } = this.#accepted;
    const { code, message } = failure;
    this.#call.span?.end({ error: code });
    const reason = REASONS[code];
    const fallback = reason === undefined ? undefined : this.#fallbackOn(reason);
    if (fallback !== undefined) return this.#fallBack(fallback, message);
    if (code === 'caller_gone' || (exchange.isGone && code !== 'exchange_timeout')) {
      await this.#record({
        outcome: 'caller_gone',
        status: 0,
        headers: [],
        body: new Uint8Array(),
        bodyBytes: 0,
        upstreamError: message,
      });
      return undefined;
    }
    const { status, headers, body } = failureProblem(code, message);
    const dated: HeaderPair[] = [...headers, ['date', exchange.date()]];
    await this.#record({
      outcome: this.#outcome(failure),
      status,
      headers: dated,
      body,
      bodyBytes: body.length,
      upstreamError: message,
    });
    exchange.respond(status, dated, body);
    return undefined;
  }

  async pass(response: UpstreamResponse): Promise<FallbackResponse | undefined> {
    const { exchange } = this.#accepted;
    this.#firstByteUs = Math.round((performance.now() - this.#dialledMs) * 1000);
    const fallback = response.status >= SERVER_ERROR_MIN ? this.#fallbackOn('ServerError') : undefined;
    if (fallback !== undefined) {
      discard(response.body);
      this.#call.span?.end({ status: response.status });
      return this.#fallBack(fallback, `The upstream responded with status ${response.status}.`);
    }
    const framing = frameResponse(response.status, this.#changedHeaders(response.headers), exchange.date());
    if (framing === undefined) {
      response.body.on('error', () => undefined).destroy();
      return this.fail({
        code: 'upstream_invalid',
        message: 'The upstream response has conflicting or invalid Content-Length values.',
      });
    }
    exchange.begin(response.status, framing.headers, response.statusText);
    const { end, recorded } = await this.#relay(response, framing);
    await recorded;
    if (end.error !== undefined) exchange.destroy();
    else exchange.end(end.heldBack, this.#trailersFor(response));
    return undefined;
  }

  /**
   * Passes the body on, and begins to record the response. The recorder has its own copy of what was captured. Counting both copies
   * would cause refusals of other requests although memory is about to be freed.
   */
  async #relay(
    response: UpstreamResponse,
    framing: Framing,
  ): Promise<{ readonly end: RelayEnd; readonly recorded: Promise<void> }> {
    const { exchange, head, route } = this.#accepted;
    const { budget, captureBytesMax } = this.#options;
    using capture = new Capture(captureBytesMax, budget, route.account.namespace);
    const end = await relayBody(response, exchange, {
      capture,
      contentLength: head.method === 'HEAD' ? 0 : framing.contentLength,
      readBytesMax: captureBytesMax,
    });
    const failure = end.error === undefined ? undefined : toFailure(end.error);
    this.#call.span?.end({ status: response.status, error: failure?.code });
    const outcome = failure === undefined ? 'forwarded' : this.#outcome(failure);
    const recorded = this.#record({
      outcome,
      status: response.status,
      headers: framing.headers,
      trailers: response.trailers(),
      body: capture.bytes(),
      bodyBytes: capture.totalBytes,
      isTruncated: capture.isTruncated || outcome === 'caller_gone',
      upstreamError: failure?.message ?? '',
    });
    return { end, recorded };
  }

  #changedHeaders(headers: readonly HeaderPair[]): readonly HeaderPair[] {
    const { upstreamUrl, endpoint } = this.#call;
    const { rewrite, responseHeaders, host } = endpoint.forward;
    const { head } = this.#accepted;
    const mapped =
      rewrite === undefined
        ? headers
        : rewriteHeaders(headers, rewrite, {
            url: upstreamUrl,
            host: host === 'Preserve' ? head.host : new URL(upstreamUrl).host,
            publicBase: publicBase(endpoint.paths, head),
            upstreamBase: upstreamBase(endpoint.paths, upstreamUrl),
          });
    return changeHeaders(mapped, responseHeaders);
  }

  #fallbackOn(reason: FallbackReason): MockSource | undefined {
    const { fallback } = this.#call.endpoint;
    return fallback?.on.includes(reason) ? fallback.mock : undefined;
  }

  #fallBack(source: MockSource, upstreamError: string): FallbackResponse {
    const { upstreamUrl } = this.#call;
    const { id, exchange } = this.#accepted;
    const mock = mockInTime(
      source.mockFor(() => requestExpressions(this.#accepted)),
      id,
      exchange,
    );
    return { mock, upstream: { upstreamUrl, upstreamError, upstreamFirstByteUs: this.#firstByteUs } };
  }

  /** Returns the trailers if the caller accepts trailers (RFC 9110 section 6.5.1), and otherwise none. */
  #trailersFor(response: UpstreamResponse): readonly HeaderPair[] {
    if (!acceptsTrailers(this.#accepted.head)) return [];
    return passableTrailers(response.trailers(), response.headers);
  }

  async #record(
    response: Pick<RecordedResponse, 'outcome' | 'status' | 'headers' | 'body' | 'bodyBytes' | 'upstreamError'> &
      Partial<RecordedResponse>,
  ): Promise<void> {
    await this.#options.recorder.exchange(
      buildRow(this.#accepted, {
        trailers: [],
        isTruncated: false,
        delayUs: 0,
        ...response,
        upstreamUrl: this.#call.upstreamUrl,
        upstreamFirstByteUs: this.#firstByteUs,
      }),
    );
  }

  /** A caller that is gone got no response, whatever its upstream did afterwards. */
  #outcome({ code }: Failure): 'upstream_timeout' | 'exchange_timeout' | 'upstream_failed' | 'caller_gone' {
    if (code === 'exchange_timeout') return code;
    if (this.#accepted.exchange.isGone) return 'caller_gone';
    return code === 'upstream_timeout' ? code : 'upstream_failed';
  }
}
