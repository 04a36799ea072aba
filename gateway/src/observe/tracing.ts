/**
 * OpenTelemetry spans of accepted requests, following the semantic conventions for HTTP: a server span for each request, and a
 * client span for each call to an upstream, which the upstream sees as its parent. Loaded only if `tracing.url` is set.
 */
import { setTimeout as delay } from 'node:timers/promises';
import {
  defaultTextMapGetter,
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type DiagLogger,
  type HrTime,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { HeaderPair } from '@standin/contract';
import type { Logger } from 'pino';
import type { Accepted } from '../request/accepted.ts';
import type { Exchange } from '../request/exchange.ts';

/** How long to wait, on stop, for a collector that does not accept the remaining spans. */
const STOP_TIMEOUT_MS = 3_000;
const SERVER_ERROR_MIN = 500;
const CLIENT_ERROR_MIN = 400;

const propagator = new W3CTraceContextPropagator();
/** The headers that the propagator reads and writes. */
const TRACE_HEADERS: readonly string[] = propagator.fields();

/** Returns microseconds since the epoch, from the clock that also sets the times in the log. */
const now = (exchange: Exchange): number => exchange.receivedAtUs + exchange.elapsedUs();

const hrTime = (us: number): HrTime => [Math.floor(us / 1e6), (us % 1e6) * 1000];

const isTraceHeader = ([name]: HeaderPair): boolean => TRACE_HEADERS.includes(name.toLowerCase());

/**
 * Returns a context with the caller's span, if the caller sent one. Ignores the caller's headers if `traceparent` occurs more than
 * once, as W3C Trace Context requires.
 */
const callerContext = (headers: readonly HeaderPair[]): Context => {
  const found = headers.filter(isTraceHeader).map(([name, value]) => [name.toLowerCase(), value] as const);
  if (found.length === 0) return ROOT_CONTEXT;
  const parents = found.filter(([name]) => name === 'traceparent');
  if (parents.length !== 1) return ROOT_CONTEXT;
  const states = found.filter(([name]) => name === 'tracestate').map(([, value]) => value);
  const carrier = { traceparent: parents[0]?.[1], tracestate: states.join(',') };
  return propagator.extract(ROOT_CONTEXT, carrier, defaultTextMapGetter);
};

interface SpanEnd {
  /** The response status, if there was a response. */
  readonly status?: number;
  /** A code that is set if the response is missing or incomplete. */
  readonly error?: string | undefined;
}

/** Ends the span. A status of `errorMin` or above is an error. */
const finish = (
  span: Span,
  exchange: Exchange,
  { status, error, errorMin = 0 }: SpanEnd & { errorMin?: number },
): void => {
  if (status !== undefined) span.setAttribute('http.response.status_code', status);
  const type = error ?? (status !== undefined && status >= errorMin ? String(status) : undefined);
  if (type !== undefined) span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
  span.end(hrTime(now(exchange)));
};

/** The span for a call to an upstream. */
class UpstreamSpan {
  readonly #exchange: Exchange;
  readonly #span: Span;
  readonly #context: Context;

  constructor(tracer: Tracer, parent: Context, exchange: Exchange, attributes: Attributes) {
    const method = String(attributes['http.request.method']);
    this.#exchange = exchange;
    this.#span = tracer.startSpan(
      method,
      { kind: SpanKind.CLIENT, startTime: hrTime(now(exchange)), attributes },
      parent,
    );
    this.#context = trace.setSpan(parent, this.#span);
  }

  /** Returns the headers to send, with the trace headers of this span instead of the caller's. */
  headers(headers: readonly HeaderPair[]): HeaderPair[] {
    const passed = headers.filter((header) => !isTraceHeader(header));
    propagator.inject(this.#context, passed, { set: (pairs: HeaderPair[], name, value) => pairs.push([name, value]) });
    return passed;
  }

  /** Ends the span. Called when the whole response has been received, or when it is clear that none will arrive. */
  end(end: SpanEnd): void {
    finish(this.#span, this.#exchange, { ...end, errorMin: CLIENT_ERROR_MIN });
  }
}

/** The span for a request, from the arrival of its head to the end of its response. */
export class RequestSpan {
  readonly #tracer: Tracer;
  readonly #exchange: Exchange;
  readonly #method: string;
  readonly #span: Span;
  readonly #context: Context;

  /** Does not keep `accepted`, because the span lasts as long as a delayed response, and the request's body does not. */
  constructor(tracer: Tracer, accepted: Accepted) {
    const { head, exchange } = accepted;
    const parent = callerContext(head.headers);
    this.#tracer = tracer;
    this.#exchange = exchange;
    this.#method = head.method;
    this.#span = tracer.startSpan(
      `${head.method} ${head.path}`,
      { kind: SpanKind.SERVER, startTime: hrTime(exchange.receivedAtUs), attributes: requestAttributes(accepted) },
      parent,
    );
    this.#context = trace.setSpan(parent, this.#span);
  }

  upstream(url: string): UpstreamSpan {
    const attributes = { 'http.request.method': this.#method, ...upstreamAttributes(url) };
    return new UpstreamSpan(this.#tracer, this.#context, this.#exchange, attributes);
  }

  /** Ends the span with the outcome of the exchange. */
  end(): void {
    const { response } = this.#exchange;
    // The caller closed the connection first, or the gateway failed.
    if (!response.headersSent) finish(this.#span, this.#exchange, { error: 'no_response' });
    else finish(this.#span, this.#exchange, { status: response.statusCode, errorMin: SERVER_ERROR_MIN });
  }
}

/** Returns the attributes for a `Host` header. Includes the port only if the header has one. */
const serverAttributes = (host: string): Attributes => {
  const url = URL.parse(`http://${host}`);
  if (url === null) return {};
  return { 'server.address': url.hostname, ...(url.port === '' ? {} : { 'server.port': Number(url.port) }) };
};

const upstreamAttributes = (text: string): Attributes => {
  const url = URL.parse(text);
  if (url === null) return {};
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  return {
    'url.full': `${url.protocol}//${url.host}${url.pathname}`,
    'server.address': url.hostname,
    'server.port': port,
  };
};

/**
 * Returns the attributes for a request, without its query, headers and body. Access to the log, which has them, is controlled,
 * while spans leave the system.
 */
const requestAttributes = ({ id, head, exchange, route: { account, project, endpoint } }: Accepted): Attributes => ({
  'http.request.method': head.method,
  'http.route': endpoint.config.slug,
  'url.path': `/${head.projectUri}${head.path}`,
  'url.scheme': 'http',
  ...serverAttributes(head.host),
  'client.address': exchange.connection.peerAddress,
  'network.protocol.version': head.httpVersion,
  'standin.request.id': id,
  'standin.namespace': project.namespace,
  'standin.account': account.name,
  'standin.project': project.name,
  'standin.endpoint': endpoint.config.name,
  'standin.action': endpoint.kind,
});

/** Logs OpenTelemetry's own errors, which are mostly about an unavailable collector. */
const diagnosticsTo = (logger: Logger): DiagLogger => {
  const warn = (message: string): void => logger.warn({ stage: 'observe' }, `tracing: ${message}`);
  const nothing = (): void => undefined;
  return { error: warn, warn, info: nothing, debug: nothing, verbose: nothing };
};

export interface TracingOptions {
  /** The collector's URL, for OTLP over HTTP. */
  readonly url: string;
  /** The fraction of requests to sample, from 0 to 1, if the caller has not decided. */
  readonly sampleRatio: number;
  /** The gateway's name. */
  readonly name: string;
  readonly logger: Logger;
}

export class Tracing {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;

  /** OpenTelemetry reads other settings, such as headers for the collector, from its own variables (`OTEL_…`). */
  constructor({ url, sampleRatio, name, logger }: TracingOptions) {
    diag.setLogger(diagnosticsTo(logger), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
    this.#provider = new TracerProvider({
      resource: defaultResource()
        .merge(resourceFromAttributes({ 'service.name': 'standin-gateway', 'service.instance.id': name }))
        .merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] })),
      sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampleRatio) }),
      spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url }) })],
    });
    this.#tracer = this.#provider.getTracer('standin-gateway');
  }

  start(accepted: Accepted): RequestSpan {
    return new RequestSpan(this.#tracer, accepted);
  }

  /** Sends the remaining spans if the collector accepts them in time. */
  async stop(): Promise<void> {
    await Promise.race([
      this.#provider.shutdown().catch(() => undefined),
      delay(STOP_TIMEOUT_MS, undefined, { ref: false }),
    ]);
  }
}
