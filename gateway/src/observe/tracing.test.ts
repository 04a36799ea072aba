import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json as readJson } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  BASIC_OBJECTS,
  endpoint,
  KEY,
  serverUrl,
  startTestGateway,
  URI,
  type TestGateway,
} from '../gateway.testing.ts';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER_SPAN_ID = '00f067aa0ba902b7';
const SAMPLED = `00-${TRACE_ID}-${CALLER_SPAN_ID}-01`;
const NOT_SAMPLED = `00-${TRACE_ID}-${CALLER_SPAN_ID}-00`;
/** Values of `kind` in OTLP. */
const [SERVER_KIND, CLIENT_KIND] = [2, 3];
/** The `status.code` of an error in OTLP. */
const ERROR = 2;

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number };
}
interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code: number };
}
interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

const attributeValues = (attributes: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));

/** The requests that the collector has received, each with a batch of spans. */
let received: OtlpRequest[] = [];
const collector: Server = createServer((request, response) => {
  void readJson(request).then((body) => {
    received.push(body as OtlpRequest);
    response.setHeader('content-type', 'application/json').end('{}');
  });
});
let upstreamHeaders: IncomingHttpHeaders = {};
let upstreamStatus = 200;
const upstream: Server = createServer((request, response) => {
  upstreamHeaders = request.headers;
  response.writeHead(upstreamStatus).end('from upstream');
});

const spans = (): readonly OtlpSpan[] =>
  received
    .flatMap(({ resourceSpans }) => resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans.flatMap((s) => s.spans));

const start = async (sampleRatio = 1): Promise<TestGateway> =>
  startTestGateway({
    settings: {
      name: 'gateway-7',
      egress: { allowPrivate: true },
      tracing: { url: `${serverUrl(collector)}/v1/traces`, sampleRatio },
    },
    objects: [
      ...BASIC_OBJECTS,
      endpoint('/teapot', { kind: 'JSON', status: 503, headers: [], body: '{}' }),
      endpoint('/f', { kind: 'Forward', url: `${serverUrl(upstream)}/base?secret=1`, timeoutMs: 700 }),
      endpoint('/unreachable', { kind: 'Forward', url: 'http://127.0.0.1:1/', timeoutMs: 700 }),
    ],
  });

/**
 * Makes the calls through a gateway, then stops the gateway, which sends the remaining spans. Returns the log rows and all spans.
 */
const afterCalls = async (
  calls: (post: (slug: string, headers?: Record<string, string>) => Promise<Response>) => Promise<unknown>,
  sampleRatio?: number,
) => {
  await using stand = await start(sampleRatio);
  await calls((slug, headers = {}) =>
    fetch(`${stand.gateway.url}/${URI}${slug}`, { method: 'POST', headers: { 'x-api-key': KEY, ...headers } }),
  );
  await stand.gateway.stop();
  return { rows: stand.sink.rows, spans: spans() };
};

beforeAll(async () => {
  for (const server of [collector, upstream]) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
});
afterAll(() => {
  for (const server of [collector, upstream]) server.close();
});
beforeEach(() => {
  received = [];
  upstreamHeaders = {};
  upstreamStatus = 200;
});

test('a mock gets a span with the name and times of its row, as a child of the caller’s span', async () => {
  const { rows, spans: found } = await afterCalls((post) =>
    post('/v1/orders?token=secret', { traceparent: SAMPLED, tracestate: 'vendor=1' }),
  );
  const [row] = rows;
  expect(found).toHaveLength(1);
  const [span] = found;
  expect(span).toMatchObject({
    traceId: TRACE_ID,
    parentSpanId: CALLER_SPAN_ID,
    traceState: 'vendor=1',
    name: 'POST /v1/orders',
    kind: SERVER_KIND,
    status: { code: 0 },
  });
  expect(attributeValues(span?.attributes ?? [])).toStrictEqual({
    'http.request.method': 'POST',
    'http.response.status_code': 200,
    'http.route': '/v1/orders',
    'url.path': `/${URI}/v1/orders`,
    'url.scheme': 'http',
    'server.address': '127.0.0.1',
    'server.port': expect.any(Number) as number,
    'client.address': '127.0.0.1',
    'network.protocol.version': '1.1',
    'standin.request.id': row?.id,
    'standin.namespace': 'team-a',
    'standin.account': 'own',
    'standin.project': 'shop',
    'standin.endpoint': 'post-v1-orders',
    'standin.action': 'JSON',
  });
  expect(BigInt(span?.startTimeUnixNano ?? 0)).toBe(BigInt(row?.receivedAtUs ?? 0) * 1000n);
  expect(BigInt(span?.endTimeUnixNano ?? 0)).toBeGreaterThanOrEqual(BigInt(span?.startTimeUnixNano ?? 0));
  expect(attributeValues(received[0]?.resourceSpans[0]?.resource.attributes ?? [])).toMatchObject({
    'service.name': 'standin-gateway',
    'service.instance.id': 'gateway-7',
  });
});

test('a call to an upstream gets its own span, which the upstream sees as its parent', async () => {
  const { rows, spans: found } = await afterCalls((post) =>
    post('/f', { traceparent: SAMPLED, tracestate: 'vendor=1' }),
  );
  const server = found.find(({ kind }) => kind === SERVER_KIND);
  const client = found.find(({ kind }) => kind === CLIENT_KIND);
  expect(found).toHaveLength(2);
  expect(client).toMatchObject({ traceId: TRACE_ID, parentSpanId: server?.spanId, name: 'POST' });
  expect(attributeValues(client?.attributes ?? [])).toStrictEqual({
    'http.request.method': 'POST',
    'http.response.status_code': 200,
    // The URL is without its query, which may contain secrets.
    'url.full': `${serverUrl(upstream)}/base`,
    'server.address': '127.0.0.1',
    'server.port': (upstream.address() as AddressInfo).port,
  });
  expect(upstreamHeaders).toMatchObject({ traceparent: `00-${TRACE_ID}-${client?.spanId}-01`, tracestate: 'vendor=1' });
  expect(rows.at(-1)?.requestHeaders).toContainEqual(['traceparent', SAMPLED]);
});

test('a failed request has an error span, with the code of an upstream that cannot be reached', async () => {
  const { spans: found } = await afterCalls(async (post) => {
    await post('/teapot');
    await post('/unreachable');
    upstreamStatus = 404;
    await post('/f');
  });
  const errors = found.map(({ name, status, attributes }) => [
    name,
    status.code,
    attributeValues(attributes)['error.type'],
  ]);
  expect(errors).toStrictEqual([
    ['POST /teapot', ERROR, '503'],
    ['POST', ERROR, 'upstream_unreachable'],
    ['POST /unreachable', ERROR, '502'],
    ['POST', ERROR, '404'],
    ['POST /f', 0, undefined],
  ]);
});

test("the caller's sampling decision is used; without one, the configured ratio applies", async () => {
  const { spans: found } = await afterCalls(async (post) => {
    await post('/v1/orders');
    await post('/v1/orders', { traceparent: SAMPLED });
    await post('/f', { traceparent: NOT_SAMPLED });
  }, 0);
  expect(found.map(({ traceId }) => traceId)).toStrictEqual([TRACE_ID]);
  // The upstream receives the caller's decision not to sample.
  expect(upstreamHeaders['traceparent']).toMatch(new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-00$`));
});

test.each(['nonsense', '00-00000000000000000000000000000000-00f067aa0ba902b7-01', `${SAMPLED}, ${SAMPLED}`])(
  'traceparent %s begins a new trace',
  async (traceparent) => {
    const { spans: found } = await afterCalls((post) => post('/v1/orders', { traceparent }));
    expect(found).toHaveLength(1);
    expect(found[0]?.traceId).not.toBe(TRACE_ID);
    expect(found[0]?.parentSpanId).toBeUndefined();
  },
);

test('a refused request has neither a span nor a row', async () => {
  const { spans: found } = await afterCalls((post) => post('/v1/orders', { 'x-api-key': 'sk_wrong' }));
  expect(found).toStrictEqual([]);
});

test('an unavailable collector affects neither requests nor shutdown', async () => {
  const stand = await startTestGateway({ settings: { tracing: { url: 'http://127.0.0.1:1/v1/traces' } } });
  try {
    const response = await fetch(`${stand.gateway.url}/${URI}/v1/orders`, {
      method: 'POST',
      headers: { 'x-api-key': KEY },
    });
    expect(response.status).toBe(200);
  } finally {
    const started = performance.now();
    await stand[Symbol.asyncDispose]();
    expect(performance.now() - started).toBeLessThan(8_000);
  }
  expect(stand.sink.rows).toHaveLength(1);
});
