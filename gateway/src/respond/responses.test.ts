import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { EndpointConfig, ResponseConfig } from '@standin/contract';
import { expect, test } from 'vitest';
import { BASIC_OBJECTS, endpoint, HOST, request, startTestGateway, URI, WITH_KEY } from '../gateway.testing.ts';
import { exchange } from '../raw-client.testing.ts';

const mock = { status: 200, headers: [], body: '{}', bodyEncoding: 'utf8' } as const;
const planIs = (value: string, name = value): ResponseConfig => ({
  ...{ name, pathParams: [], queryParams: [], mock },
  headers: [{ name: 'x-plan', type: 'Exact', value }],
});

const start = (...endpoints: readonly EndpointConfig[]) =>
  startTestGateway({
    settings: { egress: { allowPrivate: true } },
    objects: [...BASIC_OBJECTS, ...endpoints],
  });
type Stand = Awaited<ReturnType<typeof start>>;

const send = ({ gateway }: Stand, path: string, plan = 'none') =>
  exchange(gateway.url, request('POST', `/${URI}${path}`, [HOST, WITH_KEY, `x-plan: ${plan}`]));

test('rows name the response that answered, and have no name if the action did', async () => {
  const upstream = createServer((_, response) => response.end('ok')).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/`;
  const responses = [planIs('gold'), planIs('silver')];
  await using stand = await start(
    endpoint('/mocks', {}, { responses }),
    endpoint('/forwards', { kind: 'Forward', url }, { responses }),
  );
  for (const path of ['/mocks', '/forwards'])
    for (const plan of ['gold', 'silver', 'none']) await send(stand, `${path}?${plan}`, plan);
  await stand.sink.until(({ rows }) => rows.length === 6);
  const found = stand.sink.rows.map(({ path, query, action, outcome, response }) =>
    [path, query, action, outcome, response].join(' '),
  );
  expect(found.sort()).toEqual([
    '/forwards gold Forward mocked gold',
    '/forwards none Forward forwarded ',
    '/forwards silver Forward mocked silver',
    '/mocks gold JSON mocked gold',
    '/mocks none JSON mocked ',
    '/mocks silver JSON mocked silver',
  ]);
  upstream.close();
});
