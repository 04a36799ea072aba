import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { queryOf } from '../harness/clickhouse-query.ts';
import { deploy, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
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
const answersAt = async (path: string, headers = {}, expectedStatus = 200): Promise<unknown> => {
  const projectPath = await tenant.projectPath();
  const answers = await Promise.all(
    deployment.gateways.map((gateway) => post(gateway, `${projectPath}${path}`, key, { body: '{"a": 1}', headers })),
  );
  const [first, ...others] = answers.map(({ status, body }) =>
    status === expectedStatus ? (JSON.parse(body) as { name: string }).name : status,
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

test('the older of two Endpoints with the same shape answers, and the other one is Conflicted until its slug changes', async () => {
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

describe('responses with conditions', () => {
  const gold = { name: 'gold', when: { headers: [{ name: 'x-plan', value: 'gold' }] }, body: '{"name": "gold"}' };
  const debug = {
    name: 'debug',
    when: { queryParams: [{ name: 'debug', type: 'Present' }] },
    body: '{"name": "debug"}',
  };
  const other = { name: 'other', body: '{"name": "other"}' };
  const respond = (...responses: readonly object[]) =>
    tenant.apply('Endpoint', 'plans', {
      ...{ projectRef: { name: 'shop' }, displayName: 'Plans', slug: '/plans/{id}', method: 'POST', action: 'JSON' },
      responses,
      json: { body: '{"name": "action"}' },
    });
  const answers = async (): Promise<unknown[]> => [
    await answersAt('/plans/1'),
    await answersAt('/plans/1', { 'x-plan': 'gold' }),
    await answersAt('/plans/1?debug'),
    await answersAt('/plans/1?debug', { 'X-Plan': 'gold' }),
  ];

  test('are tried in order before the action, on every gateway, and can be edited, reordered and broken', async () => {
    await respond(gold, debug);
    await tenant.untilReason('Endpoint', 'plans', 'Ready');
    expect(await answers()).toEqual(['action', 'gold', 'debug', 'gold']);
    await respond(debug, gold);
    await tenant.untilReason('Endpoint', 'plans', 'Ready');
    expect(await answers()).toEqual(['action', 'gold', 'debug', 'debug']);
    await respond(gold, other);
    await tenant.untilReason('Endpoint', 'plans', 'Ready');
    expect(await answers()).toEqual(['other', 'gold', 'other', 'gold']);
    await respond({ ...gold, body: '{' });
    expect((await tenant.untilReason('Endpoint', 'plans', 'Invalid')).message).toContain('spec.responses[0].body');
    await eventually('no answers', answers, { accept: (seen) => seen.every((one) => one === 404) });
    await respond(gold);
    await tenant.untilReason('Endpoint', 'plans', 'Ready');
    expect(await answers()).toEqual(['action', 'gold', 'action', 'gold']);
  });

  test('can have regular expressions, and a mistake in one is in the condition', async () => {
    const matching = (value: string) => ({
      ...gold,
      when: { headers: [{ name: 'x-plan', type: 'RegularExpression', value }] },
    });
    await respond(matching('(?=g)old'));
    expect((await tenant.untilReason('Endpoint', 'plans', 'Invalid')).message).toBe(
      'spec.responses[0].when.headers[0].value: has (?= at character 1: RE2 has no look-around; add another condition instead.',
    );
    await respond(matching('g.*|silver'));
    await tenant.untilReason('Endpoint', 'plans', 'Ready');
    expect(await answersAt('/plans/1', { 'x-plan': 'gold' })).toBe('gold');
    expect(await answersAt('/plans/1', { 'x-plan': 'marigold' })).toBe('action');
  });

  test('are recorded with their bodies', async () => {
    await respond({ ...gold, status: 202 });
    await tenant.untilReason('Endpoint', 'plans', 'Ready');
    await answersAt('/plans/recorded', { 'x-plan': 'gold' }, 202);
    const rows = () =>
      queryOf(clickHouse)(
        "SELECT status, response_body FROM log WHERE endsWith(path, '/plans/recorded') FORMAT TabSeparated",
      );
    const lines = await eventually('the rows', async () => (await rows()).split('\n').filter((line) => line !== ''), {
      accept: ({ length }) => length === deployment.gateways.length,
    });
    expect(new Set(lines)).toEqual(new Set([`202\t${gold.body}`]));
  });
});
