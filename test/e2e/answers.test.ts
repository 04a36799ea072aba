import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type Deployment } from '../harness/deployment.ts';
import { installStandin } from '../harness/install-standin.ts';
import { post, Tenant } from './tenant.ts';

/** Tests answers that depend on the request, with three gateways: what kubectl users see, and what callers get. */

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let deployment: Deployment;
let tenant: Tenant;
let key: string;

beforeAll(async () => {
  [cluster, clickHouse] = await Promise.all([startCluster(), startClickHouse()]);
  await installStandin(cluster);
  deployment = await deploy({ cluster, clickHouse, operators: 1, gateways: 3 });
  tenant = await Tenant.create(cluster, 'answers');
  await tenant.accountAndProject();
  await tenant.untilReason('Project', 'shop', 'Ready');
  key = await tenant.readSecret('team-api-key');
});
afterAll(async () => {
  await deployment.stop();
  await tenant.client.close();
  await clickHouse.stop();
  await cluster.stop();
});

/** Creates or changes an Endpoint for POST whose mock contains its name. */
const answer = (name: string, slug: string) =>
  tenant.apply('Endpoint', name, {
    ...{ projectRef: { name: 'shop' }, displayName: name, slug, method: 'POST', action: 'JSON' },
    json: { body: JSON.stringify({ name }) },
  });

/** Expects the same answer from all gateways. Returns the name of the endpoint that answered, or the status of a rejection. */
const answersAt = async (path: string): Promise<unknown> => {
  const projectPath = await tenant.projectPath();
  const answers = await Promise.all(
    deployment.gateways.map((gateway) => post(gateway, `${projectPath}${path}`, key, '{"a": 1}')),
  );
  const [first, ...others] = answers.map(({ status, body }) =>
    status === 200 ? (JSON.parse(body) as { name: string }).name : status,
  );
  expect(others).toEqual([first, first]);
  return first;
};

test('a path parameter matches on every gateway when the Endpoint is Ready, and literal text goes first', async () => {
  await answer('any-order', '/v1/orders/{id}');
  await answer('latest-order', '/v1/orders/latest');
  await answer('files', '/v1/{rest...}');
  for (const name of ['any-order', 'latest-order', 'files']) await tenant.untilReason('Endpoint', name, 'Ready');
  expect(await answersAt('/v1/orders/42')).toBe('any-order');
  expect(await answersAt('/v1/orders/a%2Fb')).toBe('any-order');
  expect(await answersAt('/v1/orders/latest')).toBe('latest-order');
  expect(await answersAt('/v1/orders/42/items')).toBe('files');
  expect(await answersAt('/v1/orders/')).toBe(404);
  expect(await answersAt('/v2/orders/42')).toBe(404);
});

test('the older of two Endpoints with the same shape answers, and the other one says so until it is changed', async () => {
  await answer('first', '/same/{a}');
  await tenant.untilReason('Endpoint', 'first', 'Ready');
  // Creation times are in whole seconds. After this delay, `first` is certainly the older Endpoint.
  await delay(1_000);
  await answer('second', '/same/{b}');
  const { message } = await tenant.untilReason('Endpoint', 'second', 'Conflicted');
  expect(message).toContain('with the slug /same/{a}, which differs only in the names of parameters');
  expect(await answersAt('/same/x')).toBe('first');
  await answer('second', '/same/{b}/more');
  await tenant.untilReason('Endpoint', 'second', 'Ready');
  expect(await answersAt('/same/x/more')).toBe('second');
});

test('a mistake in a slug or in an upstream is in the condition, and correcting it makes the Endpoint Ready', async () => {
  await answer('mistaken', '/twice/{x}/{x}');
  const twice = await tenant.untilReason('Endpoint', 'mistaken', 'Invalid');
  expect(twice.message).toBe('spec.slug: has two parameters named x: rename one of them.');
  await tenant.apply('Endpoint', 'mistaken', {
    slug: '/once/{x}',
    action: 'Forward',
    forward: { url: 'https://upstream.example/${path.y}' },
  });
  const unknown = await tenant.untilReason('Endpoint', 'mistaken', 'Invalid');
  expect(unknown.message).toContain('but the slug has no parameter {y}');
  await tenant.apply('Endpoint', 'mistaken', { forward: { url: 'https://upstream.example/${path.x}' } });
  await tenant.untilReason('Endpoint', 'mistaken', 'Ready');
});
