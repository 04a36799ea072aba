import { setTimeout as delay } from 'node:timers/promises';
import { parseFilter, type Filter } from '@standin/exchange/search';
import { EVERY_PROJECT, openLogStore } from '@standin/logstore';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin } from '../harness/install-standin.ts';
import { post, Tenant } from './tenant.ts';

/** Tests responses that depend on the request, with three gateways: what kubectl users see, and what callers get. */

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let deployment: Deployment;
let tenant: Tenant;
let key: string;

beforeAll(async () => {
  [cluster, clickHouse] = await Promise.all([startCluster(), startClickHouse()]);
  await installStandin(cluster);
  deployment = await deploy({ cluster, clickHouse, operators: 1, gateways: 3 });
  tenant = await Tenant.create(cluster, 'responses');
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
    projectRef: { name: 'shop' },
    displayName: name,
    slug,
    method: 'POST',
    action: 'JSON',
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
  expect(await answersAt('/v1/orders/')).toBe('files');
  expect(await answersAt('/v1')).toBe(404);
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

test('an error in a slug or in an upstream is in the condition, and correcting it makes the Endpoint Ready', async () => {
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

/** Returns the number of requests by response of an endpoint, from the metrics of each gateway. */
const responseCounts = (endpoint: string): Promise<readonly ReadonlyMap<string, number>[]> =>
  Promise.all(
    deployment.gateways.map(async ({ adminUrl }) => {
      const text = await (await fetch(`${adminUrl}/metrics`)).text();
      const labels = `exported_namespace="${tenant.namespace}",exported_endpoint="${endpoint}",response="([^"]*)"`;
      const series = text.matchAll(new RegExp(`^standin_respond_responses_total\\{${labels}\\} (\\d+)$`, 'gm'));
      return new Map([...series].map(([, response = '', count]) => [response, Number(count)]));
    }),
  );

const parsed = (text: string): Filter => {
  const result = parseFilter(text);
  if (result.kind === 'invalid') throw new Error(result.problem.message);
  return result.filter;
};

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
      projectRef: { name: 'shop' },
      displayName: 'Plans',
      slug: '/plans/{id}',
      method: 'POST',
      action: 'JSON',
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
    await eventually('no answers', answers, { accept: (seen) => seen.every((one) => one === 503) });
    await respond(gold);
    await tenant.untilReason('Endpoint', 'plans', 'Ready');
    expect(await answers()).toEqual(['action', 'gold', 'action', 'gold']);
  });

  test('can have regular expressions, and an error in one is in the condition', async () => {
    const matching = (value: string) => ({
      ...gold,
      when: { headers: [{ name: 'x-plan', type: 'RegularExpression', value }] },
    });
    await respond(matching('(?=g)old'));
    expect((await tenant.untilReason('Endpoint', 'plans', 'Invalid')).message).toContain(
      'spec.responses[0].when.headers[0].value: has (?= at character 1: RE2 has no look-around; add another condition instead.',
    );
    await respond(matching('g.*|silver'));
    await tenant.untilReason('Endpoint', 'plans', 'Ready');
    expect(await answersAt('/plans/1', { 'x-plan': 'gold' })).toBe('gold');
    expect(await answersAt('/plans/1', { 'x-plan': 'marigold' })).toBe('action');
  });

  test('can be templates, on every gateway, and an error in one is in the condition', async () => {
    const echo = (body: string, headers: readonly object[] = []) => ({ name: 'echo', template: 'CEL', body, headers });
    await respond(echo('{"name": ${path.other}}'));
    expect((await tenant.untilReason('Endpoint', 'plans', 'Invalid')).message).toContain(
      'spec.responses[0].body: has an error in ${path.other} at line 1, column 16: path has no field other',
    );
    await respond(echo('{${path.id}: 1}'));
    expect((await tenant.untilReason('Endpoint', 'plans', 'Invalid')).message).toContain('found ${path.id} at line 1');
    await respond(
      echo('{"name": "${path.id} ${fake(\'person.fullName\')}", "a": ${request.json.a / int(request.query.by)}}'),
    );
    await tenant.untilReason('Endpoint', 'plans', 'Ready');
    const projectPath = await tenant.projectPath();
    const [gateway] = deployment.gateways;
    if (gateway === undefined) throw new Error('there is no gateway');
    const made = await post(gateway, `${projectPath}/plans/%22?by=1`, key, { body: '{"a": 9223372036854775807}' });
    expect(made.body).toMatch(/^\{"name": "\\" [^"]+", "a": 9223372036854775807\}$/);
    expect(await answersAt('/plans/failed?by=0', {}, 200)).toBe(500);
    const store = openLogStore(clickHouse);
    onTestFinished(() => store.close());
    const search = parsed('path:/plans/failed outcome:template_failed status:500 response:echo');
    const list = () => store.list({ projectUid: EVERY_PROJECT, search, limit: 100 });
    const rows = await eventually('the rows', list, { accept: ({ length }) => length === deployment.gateways.length });
    for (const { templateError } of rows)
      expect(templateError).toMatch(/^body: \$\{request\.json\.a .* at line 1, column \d+: /);
  });

  test('can have expressions, and an error in one is in the condition', async () => {
    const evaluated = (cel: string) => ({ ...gold, when: { cel } });
    await respond(evaluated('request.jsn.a == 1'));
    expect((await tenant.untilReason('Endpoint', 'plans', 'Invalid')).message).toMatch(
      /^spec\.responses\[0\]\.when\.cel: is not valid at line 1, column 8 of "request\.jsn\.a == 1": request has no field jsn: use /,
    );
    await respond(evaluated('request.json.a == 1 && path.id.startsWith("g")'));
    await tenant.untilReason('Endpoint', 'plans', 'Ready');
    expect(await answersAt('/plans/g1')).toBe('gold');
    expect(await answersAt('/plans/1')).toBe('action');
    await respond(evaluated('request.json.nothing == 1'));
    await tenant.untilReason('Endpoint', 'plans', 'Ready');
    expect(await answersAt('/plans/g1')).toBe('action');
  });

  test('can be drawn by key, with the same result on every gateway and after a restart', async () => {
    const drawn = (key: string) => ({ ...gold, when: { draw: { percent: 50, key } } });
    await respond(drawn('int(path.id)'));
    expect((await tenant.untilReason('Endpoint', 'plans', 'Invalid')).message).toContain(
      'spec.responses[0].when.draw.key: is not valid at line 1, column 1 of "int(path.id)": the value has the type int, but a key must have the type string',
    );
    await respond(drawn('path.id'));
    await tenant.untilReason('Endpoint', 'plans', 'Ready');
    const ids = Array.from({ length: 10 }, (_, id) => String(id));
    const goldIds = async (): Promise<string> => {
      const seen = await Promise.all(ids.map((id) => answersAt(`/plans/${id}`)));
      return ids.filter((_, index) => seen[index] === 'gold').join('');
    };
    expect(await goldIds()).toBe('1256');
    await Promise.all(
      deployment.gateways.map(async ({ process, adminUrl }) => {
        await process.restart();
        await process.waitForUrl(`${adminUrl}/readyz`);
      }),
    );
    expect(await goldIds()).toBe('1256');
  });

  test('are recorded with their names and bodies, found by their names, and counted', async () => {
    await respond({ ...gold, status: 202 });
    await tenant.untilReason('Endpoint', 'plans', 'Ready');
    const before = await responseCounts('plans');
    await answersAt('/plans/recorded', { 'x-plan': 'gold' }, 202);
    await answersAt('/plans/recorded');
    const store = openLogStore(clickHouse);
    onTestFinished(() => store.close());
    const found = async (answer: string) => {
      const search = parsed(`path:/plans/recorded response:${answer}`);
      const entries = await store.list({ projectUid: EVERY_PROJECT, search, limit: 100 });
      return entries.map(({ status, responseName, response }) => ({ status, responseName, body: response.body }));
    };
    const untilFound = (answer: string) =>
      eventually(`the rows of ${answer}`, () => found(answer), {
        accept: ({ length }) => length === deployment.gateways.length,
      });
    const [byGold] = await untilFound('gold');
    expect(byGold).toEqual({ status: 202, responseName: 'gold', body: gold.body });
    const [byAction] = await untilFound('""');
    expect(byAction).toEqual({ status: 200, responseName: '', body: '{"name": "action"}' });
    const after = await responseCounts('plans');
    for (const [index, counts] of after.entries()) {
      for (const response of ['gold', ''])
        expect((counts.get(response) ?? 0) - (before[index]?.get(response) ?? 0)).toBe(1);
      expect([...counts.keys()].sort()).toEqual(['', 'gold']);
    }
    await tenant.remove('Endpoint', 'plans');
    await eventually('no counts', () => responseCounts('plans'), {
      accept: (seen) => seen.every(({ size }) => size === 0),
    });
  });
});
