import { once } from 'node:events';
import { createServer } from 'node:http';
import { type EndpointConfig, LIMITS, type ResponseConfig } from '@standin/contract';
import { expect, test } from 'vitest';
import {
  BASIC_OBJECTS,
  endpoint,
  fetchMetrics,
  HOST,
  request,
  serverUrl,
  startTestGateway,
  URI,
  WITH_KEY,
} from '../gateway.testing.ts';
import { exchange } from '../raw-client.testing.ts';

const mock = { status: 200, headers: [], body: '{}', bodyEncoding: 'utf8' } as const;
const planIs = (value: string, name = value): ResponseConfig => ({
  name,
  pathParams: [],
  queryParams: [],
  mock,
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
const responseSeries = async ({ gateway }: Stand): Promise<string[]> => {
  const text = await fetchMetrics(gateway);
  return text.split('\n').filter((line) => line.startsWith('standin_respond_responses_total{'));
};
const series = (name: string, response: string, count: number): string =>
  `standin_respond_responses_total{exported_namespace="team-a",exported_endpoint="${name}",response="${response}"} ${count}`;

test('rows name the response that answered, and have no name if the action did', async () => {
  const upstream = createServer((_, response) => response.end('ok')).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const url = `${serverUrl(upstream)}/`;
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

test('a metric counts requests by response, as long as the response is configured', async () => {
  const withResponses = (...responses: readonly ResponseConfig[]) => endpoint('/plans', {}, { responses });
  await using stand = await start(withResponses(planIs('gold'), planIs('silver')));
  for (const plan of ['gold', 'gold', 'silver', 'none']) await send(stand, '/plans', plan);
  await send(stand, '/v1/orders');
  const [gold, silver, action] = [
    series('post-plans', 'gold', 2),
    series('post-plans', 'silver', 1),
    series('post-plans', '', 1),
  ];
  expect((await responseSeries(stand)).sort()).toEqual([action, gold, silver].sort());

  await stand.operator.publish([withResponses(planIs('gold'), planIs('silver', 'renamed'))]);
  await send(stand, '/plans', 'silver');
  expect((await responseSeries(stand)).sort()).toEqual([action, gold, series('post-plans', 'renamed', 1)].sort());

  const { uid } = withResponses();
  await stand.operator.publish([], [`Endpoint/${uid}`]);
  expect(await responseSeries(stand)).toEqual([]);
});

test('the number of series has a limit, and responses beyond it are counted together', async () => {
  const responses = Array.from({ length: LIMITS.responsesMax }, (_, index) => planIs(`plan-${index}`));
  // One namespace gets half of the maximum.
  const counted = LIMITS.responseSeriesMax / 2;
  const full = Math.ceil(counted / responses.length);
  const endpoints = Array.from({ length: full }, (_, index) => endpoint(`/plans/${index}`, {}, { responses }));
  await using stand = await start(...endpoints);
  for (const [at] of endpoints.entries()) for (const { name } of responses) await send(stand, `/plans/${at}`, name);
  const found = await responseSeries(stand);
  expect(found).toHaveLength(counted + 1);
  const beyond = full * responses.length - counted;
  const other = 'standin_respond_responses_total{exported_namespace="",exported_endpoint="",response="other"}';
  expect(found.find((line) => line.startsWith(other))).toBe(`${other} ${beyond}`);
});
