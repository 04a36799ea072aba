import { LIMITS, type ProjectConfig } from '@standin/contract';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { ConfigStore } from '../config/config-store.ts';
import {
  BASIC_OBJECTS,
  fetchMetrics,
  HOST,
  project,
  request,
  startTestGateway,
  URI,
  WITH_KEY,
} from '../gateway.testing.ts';
import { exchange } from '../raw-client.testing.ts';
import { ProjectCounts } from './project-counts.ts';

const withMetrics = (name: string, uri = name): ProjectConfig => ({ ...project(name, uri), metrics: 'Enabled' });

/** Returns the series of the metrics of projects, without those of the histogram's buckets. */
const seriesIn = (text: string): string[] =>
  text.split('\n').filter((line) => /^standin_(\w+_project_|observe_)/.test(line) && !line.includes('_bucket'));

test('the requests of a project are counted while its metrics are enabled, and those of others are not', async () => {
  await using stand = await startTestGateway();
  const send = (path: string, ...lines: string[]) =>
    exchange(stand.gateway.url, request('POST', path, [HOST, ...lines]));
  const read = async (): Promise<string[]> => seriesIn(await fetchMetrics(stand.gateway));
  const sendAll = async (): Promise<void> => {
    for (const path of ['/v1/orders', '/v1/orders', '/missing']) await send(`/${URI}${path}`, WITH_KEY);
    await send(`/${URI}/v1/orders`, 'x-api-key: wrong');
    await send('/theirs0123456789/v1/orders', WITH_KEY);
    await send('/no-project/v1/orders', WITH_KEY);
  };
  const none = ['standin_observe_uncounted_requests_total 0'];
  await sendAll();
  expect(await read()).toEqual(none);

  await stand.operator.publish([withMetrics('shop', URI)]);
  await sendAll();
  const labels = 'exported_namespace="team-a",project="shop"';
  const series = await read();
  expect(series.filter((line) => !line.includes('_sum{'))).toEqual([
    `standin_respond_project_requests_total{${labels},status="2xx"} 2`,
    `standin_receive_project_rejections_total{${labels},code="endpoint_not_found"} 1`,
    `standin_receive_project_rejections_total{${labels},code="api_key_invalid"} 1`,
    ...none,
    `standin_respond_project_duration_seconds_count{${labels}} 2`,
  ]);
  expect(series.find((line) => line.includes('_sum{'))).toMatch(/ 0\.\d+$/);

  await stand.operator.publish(BASIC_OBJECTS.filter(({ uid }) => uid === 'project-shop'));
  expect(await read()).toEqual(none);
});

test('buckets of durations include the shorter ones', async () => {
  const registry = new Registry();
  const counts = new ProjectCounts();
  const shop = withMetrics('shop');
  counts.expose(registry, { project: () => shop, hasMetrics: () => true });
  for (const seconds of [0.001, 0.002, 0.3, 61]) counts.responded(shop, 2, seconds);
  const buckets = (await registry.metrics()).matchAll(/_bucket\{.*,le="(.*)"\} (\d+)$/gm);
  expect([...buckets].map(([, bound, count]) => `${bound} ${count}`)).toEqual([
    '0.001 1',
    '0.005 2',
    '0.025 2',
    '0.1 2',
    '0.5 3',
    '2.5 3',
    '10 3',
    '60 3',
    '+Inf 4',
  ]);
});

test('namespaces share the maximum of projects, and requests to others are counted together', async () => {
  const registry = new Registry();
  const counts = new ProjectCounts();
  const logger = pino({ level: 'silent' });
  const store = new ConfigStore({ logger, maxStalenessMs: 0 });
  counts.expose(registry, store);
  const busy = Array.from({ length: LIMITS.projectSeriesMax + 1 }, (_, index) => withMetrics(`shop-${index}`));
  const other = { ...withMetrics('other'), namespace: 'team-b' };
  const publish = (revision: string, snapshot: boolean, put: readonly ProjectConfig[], removed: readonly string[]) => {
    store.begin({ revision, snapshot });
    for (const config of put) store.put(config);
    for (const uid of removed) store.remove(`Project/${uid}`);
    store.commit(revision);
  };
  const sendAll = (): void => {
    for (const shop of [...busy, other]) counts.responded(shop, 2, 0.001);
  };
  const read = async () => {
    const series = seriesIn(await registry.metrics());
    return {
      counted: series.flatMap(
        (line) => /^standin_respond_project_requests_total\{.*,project="(.*?)"/.exec(line)?.[1] ?? [],
      ),
      uncounted: Number(series.find((line) => line.startsWith('standin_observe_'))?.split(' ')[1]),
    };
  };
  publish('1.1', true, [...busy, other], []);
  sendAll();
  const names = busy.map(({ name }) => name).sort();
  const first = await read();
  expect(first.counted.toSorted()).toEqual(['other', ...names.slice(0, 499)]);
  expect(first.uncounted).toBe(2);

  // The selection depends neither on the order of requests nor on that of changes.
  const [gone] = busy.filter(({ name }) => name === names[0]);
  publish('1.2', false, [], [gone?.uid ?? '']);
  sendAll();
  expect((await read()).counted.toSorted()).toEqual(['other', ...names.slice(1, 500)]);
});
