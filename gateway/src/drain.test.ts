import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  BASIC_OBJECTS,
  endpoint,
  fetchMetrics,
  HOST,
  PATH,
  request,
  serverUrl,
  startTestGateway,
  URI,
  WITH_KEY,
  type TestGateway,
} from './gateway.testing.ts';
import { responseHeader, RawClient } from './raw-client.testing.ts';

const waiting: ServerResponse[] = [];
const upstream = createServer((_incoming, response) => {
  waiting.push(response);
  upstream.emit('waiting');
});

beforeEach(async () => {
  waiting.length = 0;
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
});
afterEach(() => {
  upstream.closeAllConnections();
  upstream.close();
});

const start = (settings: Record<string, unknown>): Promise<TestGateway> =>
  startTestGateway({
    settings: { egress: { allowPrivate: true }, ...settings },
    objects: [
      ...BASIC_OBJECTS,
      endpoint('/f', {
        kind: 'Forward',
        url: `${serverUrl(upstream)}/`,
        timeoutMs: 60_000,
      }),
    ],
  });

test('a stopping gateway finishes running requests, serves late ones, and delivers the log', async () => {
  await using stand = await start({ drainMs: 300 });
  const { gateway, sink } = stand;
  const forwarded = await RawClient.connect(gateway.url);
  forwarded.send(request('POST', `/${URI}/f?forwarded`, [HOST, WITH_KEY]));
  const kept = await RawClient.connect(gateway.url);
  kept.send(request('POST', `${PATH}?first`, [HOST, WITH_KEY]));
  expect((await kept.responses()).map((response) => responseHeader(response, 'connection'))).toEqual([undefined]);
  if (waiting.length === 0) await once(upstream, 'waiting');

  const stopped = gateway.stop();
  const readyz = await fetch(`${gateway.adminUrl}/readyz`);
  expect([readyz.status, await readyz.json()]).toEqual([503, { ready: false, reasons: ['stopping'] }]);
  kept.send(request('POST', `${PATH}?second`, [HOST, WITH_KEY]));
  const [, second] = await kept.responses(2);
  expect([second?.status, second && responseHeader(second, 'connection')]).toEqual([200, 'close']);
  const late = await RawClient.connect(gateway.url);
  late.send(request('POST', `${PATH}?late`, [HOST, WITH_KEY]));
  expect((await late.responses())[0]?.status).toBe(200);

  waiting[0]?.end('whole');
  expect((await forwarded.responses())[0]?.body.toString()).toBe('whole');
  await stopped;
  expect(sink.rows.map(({ query, version, status }) => [query, version, status]).sort()).toEqual([
    ['first', 2, 200],
    ['forwarded', 2, 200],
    ['late', 2, 200],
    ['second', 2, 200],
  ]);
  expect(sink.isClosed).toBe(true);
  await expect(RawClient.connect(gateway.url)).rejects.toThrow('ECONNREFUSED');
});

test('a request that does not end in time is disconnected, and its response is logged as unknown', async () => {
  await using stand = await start({ drainTimeoutMs: 200 });
  const client = await RawClient.connect(stand.gateway.url);
  client.send(request('POST', `/${URI}/f?stuck`, [HOST, WITH_KEY]));
  if (waiting.length === 0) await once(upstream, 'waiting');
  await stand.gateway.stop();
  await client.closed();
  expect(client.received.length).toBe(0);
  expect(stand.sink.rows).toEqual([
    expect.objectContaining({ query: 'stuck', version: 1, outcome: 'response_unknown', status: 0 }),
  ]);
});

test('metrics count responses, rejections, deliveries and configured objects', async () => {
  await using stand = await start({});
  const client = await RawClient.connect(stand.gateway.url);
  client.send(request('POST', PATH, [HOST, WITH_KEY]) + request('POST', PATH, [HOST]));
  await client.responses(2);
  await stand.sink.until(({ rows }) => rows.length === 1);
  const text = await fetchMetrics(stand.gateway);
  for (const line of [
    'standin_respond_requests_total{action="JSON",status="2xx"} 1',
    'standin_receive_rejections_total{code="api_key_missing"} 1',
    'standin_respond_duration_seconds_count{action="JSON"} 1',
    'standin_receive_connections 1',
    'standin_deliver_failing_seconds 0',
    'standin_config_connected 1',
    'standin_config_objects 6',
    'standin_config_revision_info{revision="1.1",source="stream"} 1',
  ]) {
    expect(text).toContain(`${line}\n`);
  }
  expect((await fetch(`${stand.gateway.adminUrl}/healthz`)).status).toBe(200);
  client.destroy();
});
