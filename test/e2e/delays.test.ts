import { afterAll, beforeAll, expect, test } from 'vitest';
import { clickHouseQuery } from '../harness/clickhouse-query.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type DeployedGateway, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin } from '../harness/install-standin.ts';
import { readMetric, post, Tenant } from './tenant.ts';
import { startUpstream, type Upstream } from './upstream.ts';

/** Tests delays and fallbacks with a real API server, two gateways and the real ClickHouse: what callers get, and what the log has. */

const LONG_MS = 20_000;

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let deployment: Deployment;
let gateway: DeployedGateway;
let tenant: Tenant;
let upstream: Upstream;
let path: string;
let key: string;

beforeAll(async () => {
  [cluster, clickHouse] = await Promise.all([startCluster(), startClickHouse()]);
  await installStandin(cluster);
  const env = { STANDIN_EGRESS_ALLOW_PRIVATE: 'true' };
  deployment = await deploy({ cluster, clickHouse, gateways: 2, gatewayEnv: env, operatorEnv: env });
  const [first] = deployment.gateways;
  if (first === undefined) throw new Error('no gateway');
  gateway = first;
  tenant = await Tenant.create(cluster, 'delays');
  await tenant.apply('Account', 'team', { plan: 'Free', monthlyQuota: 10_000 });
  await tenant.apply('Project', 'shop', { displayName: 'Shop', accountRef: { name: 'team' } });
  await tenant.untilReason('Project', 'shop', 'Ready');
  path = await tenant.projectPath();
  key = await tenant.readSecret('team-api-key');
  upstream = await startUpstream((_request, response) => response.end('fresh'));
});
afterAll(async () => {
  upstream.stop();
  await deployment.stop();
  await tenant.client.close();
  await clickHouse.stop();
  await cluster.stop();
});

const apply = async (name: string, spec: object, reason = 'Ready') => {
  const rest = { projectRef: { name: 'shop' }, displayName: name, slug: `/${name}`, method: 'POST', action: 'JSON' };
  await tenant.apply('Endpoint', name, { ...rest, ...spec });
  return tenant.untilReason('Endpoint', name, reason);
};
const ask = async (name: string, headers = {}) => {
  const sentMs = performance.now();
  const answer = await post(gateway, `${path}/${name}`, key, { headers });
  return { ...answer, ms: performance.now() - sentMs };
};
/** Returns the result of a query about the rows of an endpoint when there are `count` rows. */
const awaitRows = (name: string, columns: string, count = 1): Promise<string> => {
  const query = `SELECT count(), ${columns} FROM log FINAL WHERE endpoint = '${name}' AND outcome != 'in_progress' FORMAT TSV`;
  return eventually(`the rows of ${name}`, () => clickHouseQuery(clickHouse)(query), {
    accept: (text) => text.startsWith(`${count}\t`),
    timeoutMs: 30_000,
  });
};
const fixed = (duration: string) => ({ type: 'Fixed', fixed: duration });
/** Sends a request, and resolves when it is recorded, with the promise of its response. */
const askDelayed = async (name: string) => {
  const recorded = async (): Promise<number> =>
    (await readMetric(gateway.adminUrl, 'standin_respond_requests_total')).get('action="JSON",status="2xx"') ?? 0;
  const before = await recorded();
  const answer = ask(name);
  answer.catch(() => undefined);
  await eventually('the recorded request', recorded, { accept: (count) => count > before });
  return { answer };
};

test('each response has its own delay, which can be changed and removed', async () => {
  const gold = { name: 'gold', when: { headers: [{ name: 'x-plan', value: 'gold' }] }, body: '"gold"' };
  const json = (delay: unknown) => ({ body: '"action"', delay });
  await apply('slow', { responses: [{ ...gold, delay: fixed('400ms') }], json: json(fixed('200ms')) });
  const [plain, special] = [await ask('slow'), await ask('slow', { 'x-plan': 'gold' })];
  expect([plain.body, special.body]).toEqual(['"action"', '"gold"']);
  expect([plain.ms >= 200, special.ms >= 400]).toEqual([true, true]);
  expect(await awaitRows('slow', 'groupUniqArray((response, delay_us)), min(duration_us) >= 200000', 2)).toMatch(
    /^2\t\[(\('',200000\),\('gold',400000\)|\('gold',400000\),\('',200000\))\]\t1$/,
  );
  await apply('slow', { responses: null, json: json(null) });
  expect(await ask('slow')).toMatchObject({ status: 200, body: '"action"' });
  await awaitRows('slow', 'countIf(delay_us = 0) = 1', 3);
});

test('an error in a delay is refused by the API server', async () => {
  const delay = { type: 'Uniform', uniform: { min: '2s', max: '1s' } };
  await expect(apply('wrong', { json: { body: '1', delay } })).rejects.toThrow(/must not be shorter than min/);
});

test('a delayed request survives changes of its endpoint and its key', async () => {
  await apply('kept', { json: { body: '"before"', delay: fixed('6s') } });
  const { answer } = await askDelayed('kept');
  await apply('kept', { json: { body: '"after"', delay: null } });
  expect((await ask('kept')).body).toBe('"after"');
  await tenant.remove('Endpoint', 'kept');
  await tenant.apply('KeyRegeneration', 'new-key', { accountRef: { name: 'team' } });
  await eventually('the old key to be refused', () => ask('slow'), { accept: ({ status }) => status === 401 });
  key = await tenant.readSecret('team-api-key');
  expect(await answer).toMatchObject({ status: 200, body: '"before"' });
  expect(await awaitRows('kept', 'uniqExact(id)', 2)).toBe('2\t2');
});

test('a gateway killed during a delay leaves one row and one permit, and a stopped one responds at once', async () => {
  await apply('long', { json: { body: '"late"', delay: fixed(`${LONG_MS}ms`) } });
  const killed = await askDelayed('long');
  await gateway.process.kill('SIGKILL');
  await expect(killed.answer).rejects.toThrow();
  await gateway.process.restart();
  await gateway.process.waitForUrl(`${gateway.adminUrl}/readyz`);
  expect(await awaitRows('long', 'uniqExact(id), uniqExact(quota_block, quota_permit), any(outcome)')).toBe(
    '1\t1\t1\tresponse_unknown',
  );

  const stopped = await askDelayed('long');
  await gateway.process.kill('SIGTERM');
  const answer = await stopped.answer;
  expect([answer.body, answer.ms < LONG_MS]).toEqual(['"late"', true]);
  await gateway.process.restart();
  await gateway.process.waitForUrl(`${gateway.adminUrl}/readyz`);
  const sent = `countIf(outcome = 'mocked' AND duration_us < ${LONG_MS}000)`;
  expect(await awaitRows('long', `uniqExact(quota_block, quota_permit), ${sent}`, 2)).toBe('2\t2\t1');
}, 120_000);

test('the fallback responds while the upstream fails, and the row says why', async () => {
  const forward = { url: `${upstream.url}/prices`, timeout: '500ms', fallback: { on: ['Timeout', 'ServerError'] } };
  const json = { status: 203, body: '"stale"', delay: fixed('100ms') };
  const withoutMock = apply('prices', { action: 'Forward', forward });
  await expect(withoutMock).rejects.toThrow(/is required if forward.fallback is set/);
  await apply('prices', { action: 'Forward', forward, json });
  expect((await ask('prices')).body).toBe('fresh');
  upstream.answer = (_request, response) => response.writeHead(503).end('down');
  expect(await ask('prices')).toMatchObject({ status: 203, body: '"stale"' });
  upstream.answer = () => undefined;
  expect((await ask('prices')).ms).toBeGreaterThanOrEqual(600);
  upstream.answer = (_request, response) => response.writeHead(404).end('unknown');
  expect(await ask('prices')).toMatchObject({ status: 404, body: 'unknown' });
  const columns = 'arraySort(groupArray((outcome, status, response_body, upstream_error, delay_us)))';
  expect(await awaitRows('prices', columns, 4)).toBe(
    `4\t[${[
      "('fallback',203,'\"stale\"','The upstream did not respond within 500 ms.',100000)",
      "('fallback',203,'\"stale\"','The upstream responded with status 503.',100000)",
      "('forwarded',200,'fresh','',0)",
      "('forwarded',404,'unknown','',0)",
    ].join(',')}]`,
  );
});
