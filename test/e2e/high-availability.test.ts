import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { STREAM_SERVER_NAME } from '@standin/contract';
import { resourcePath } from '@standin/kube';
import { bodyAsBuffer } from '@standin/exchange';
import { EVERY_PROJECT, openLogStore, type LogStore } from '@standin/logstore';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type DeployedGateway, type DeployedOperator, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin, SYSTEM_NAMESPACE } from '../harness/install-standin.ts';
import { readMetric, post, Tenant } from './tenant.ts';
import { startTraffic, type Traffic } from './traffic.ts';

/**
 * Tests two operators and three gateways as processes with a real API server. The processes are killed, frozen, stopped and
 * restarted in turn. The tests build on each other, in order. Each one starts with every process running, also after a test that
 * failed.
 */

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let store: LogStore;
let deployment: Deployment;
let tenant: Tenant;
let key: string;
let path: string;
let gateways: readonly [DeployedGateway, DeployedGateway, DeployedGateway];

/**
 * The time after which operators forget a gateway that has lost its connection. Gateways reconnect to a new leader within this
 * time, even on a busy machine.
 */
const FORGET_MS = 6_000;
const FAILOVER_MS_MAX = 15_000;
/** The timeout for steps that are not measured. Measured steps have their own limits. */
const STEP_MS_MAX = 40_000;
/**
 * The maximum time until another operator serves after the leader has received SIGTERM. The leader releases the lease immediately.
 * Candidates check the lease at least every 1.2 s and read all accounts before they serve.
 */
const HANDOVER_MS_MAX = 4_000;
const API_OUTAGE_MS = 30_000;
/** A number of permits that exceeds what the traffic uses until the API server and a leader are available again. */
const OUTAGE_PERMITS = 8_000;
const DAY_MS = 24 * 3_600_000;

beforeAll(async () => {
  [cluster, clickHouse] = await Promise.all([startCluster(), startClickHouse()]);
  await installStandin(cluster);
  store = openLogStore(clickHouse);
  // Accounts on the Pro plan have no quota. The team's account is on the Free plan and has its default quota.
  const operatorEnv = { STANDIN_STREAM_GATEWAY_FORGET_MS: String(FORGET_MS), STANDIN_QUOTA_PRO: '0' };
  deployment = await deploy({ cluster, clickHouse, operators: 2, gateways: 3, operatorEnv });
  gateways = deployment.gateways as typeof gateways;
  tenant = await Tenant.create(cluster, 'high-availability');
  await tenant.accountAndProject();
  await tenant.mock('steady', '"steady"');
  await tenant.untilReason('Endpoint', 'steady', 'Ready');
  key = await tenant.readSecret('team-api-key');
  path = await tenant.projectPath();
  await tenant.apply('Account', 'unlimited', { plan: 'Pro' });
  await tenant.apply('Project', 'unlimited', { displayName: 'Unlimited', accountRef: { name: 'unlimited' } });
  const rest = {
    displayName: 'Unlimited',
    slug: '/unlimited',
    method: 'POST',
    action: 'JSON',
    json: { body: '"all"' },
  };
  await tenant.apply('Endpoint', 'unlimited', { ...rest, projectRef: { name: 'unlimited' } });
  await tenant.untilReason('Endpoint', 'unlimited', 'Ready');
});
afterAll(async () => {
  await deployment.stop();
  await tenant.client.close();
  await store.close();
  await clickHouse.stop();
  await cluster.stop();
});

beforeEach(async () => {
  const ended = [...deployment.operators, ...gateways].filter(({ process }) => process.hasEnded);
  await Promise.all(ended.map(({ process }) => process.restart()));
  await Promise.all(ended.map(({ process, adminUrl }) => process.waitForUrl(`${adminUrl}/readyz`)));
});

const leads = async ({ process, adminUrl }: DeployedOperator): Promise<boolean> => {
  if (process.hasEnded) return false;
  const status = await readMetric(adminUrl, 'leader_election_master_status').catch(() => new Map<string, number>());
  return status.get('name="standin-operator"') === 1;
};

/** Returns the operator that leads, and the other one. */
const roles = async (): Promise<{ leader: DeployedOperator; follower: DeployedOperator }> => {
  const [a, b] = deployment.operators;
  if (a === undefined || b === undefined) throw new Error('fewer than two operators are deployed');
  return eventually(
    'a leader',
    async () =>
      (await leads(a)) ? { leader: a, follower: b } : (await leads(b)) ? { leader: b, follower: a } : undefined,
    { timeoutMs: STEP_MS_MAX },
  ) as Promise<{ leader: DeployedOperator; follower: DeployedOperator }>;
};

/** Waits until the operator serves gateways. Returns the milliseconds from `since`, a time since the epoch, until then. */
const untilServing = async ({ process }: DeployedOperator, since: number): Promise<number> => {
  const event = await process.waitForEvent(
    'the operator to serve',
    ({ msg, objects }) => msg === 'leading' && objects !== undefined,
  );
  return Date.parse(String(event['time'])) - since;
};

const knownGateways = async (): Promise<number> => {
  const { leader } = await roles();
  return (await readMetric(leader.adminUrl, 'standin_publish_gateway_revision')).size;
};
const untilAllConnected = (): Promise<unknown> =>
  eventually(
    'three connected gateways',
    async () => {
      const { leader } = await roles();
      const revisions = await readMetric(leader.adminUrl, 'standin_publish_gateway_revision');
      return [...revisions.keys()].filter((labels) => labels.includes('connected="true"')).length === 3;
    },
    { timeoutMs: STEP_MS_MAX },
  );

const responseBodies = (name: string, selected: readonly DeployedGateway[] = gateways): Promise<string[]> =>
  Promise.all(selected.map(async (gateway) => (await post(gateway, `${path}/${name}`, key)).body));

/** Changes a mock and polls its condition Programmed. As soon as the condition is true, all gateways must serve the change. */
const changeAndCheck = async (name: string, body: string): Promise<void> => {
  const { metadata } = await tenant.mock(name, body);
  const condition = await eventually('Programmed', () => tenant.condition('Endpoint', name, 'Programmed'), {
    accept: ({ status }) => status === 'True',
    intervalMs: 2,
    timeoutMs: STEP_MS_MAX,
  });
  expect(await responseBodies(name)).toEqual([body, body, body]);
  expect(condition.observedGeneration).toBe(metadata.generation);
};

/**
 * Starts traffic to all gateways and waits until every gateway has served some requests. Each then holds permits of the quota and
 * needs no others while the operator is unavailable.
 */
const steadyTraffic = async (): Promise<Traffic> => {
  const traffic = startTraffic(gateways, `${path}/steady`, key);
  const isServedByAll = (): boolean => gateways.every((_, index) => traffic.answered.includes(`${index} 9`));
  await eventually('traffic', isServedByAll, { timeoutMs: STEP_MS_MAX });
  return traffic;
};

/** Waits until every gateway holds this many permits of the quota. */
const untilHolding = (permits: number): Promise<unknown> =>
  eventually(
    `${permits} permits`,
    async () => {
      const held = await Promise.all(gateways.map(({ adminUrl }) => readMetric(adminUrl, 'standin_admit_permits')));
      return Math.min(...held.map((count) => count.get('') ?? 0));
    },
    { accept: (least) => least >= permits, timeoutMs: STEP_MS_MAX },
  );

const askStream = async (operator: DeployedOperator): Promise<{ status: number | undefined; body: unknown }> => {
  const secret = {
    group: '',
    version: 'v1',
    plural: 'secrets',
    namespace: SYSTEM_NAMESPACE,
    name: 'standin-stream-tls',
  };
  const { data } = await tenant.client.get<{ data: Record<string, string> }>(resourcePath(secret));
  const file = (name: string): Buffer => Buffer.from(data[name] ?? '', 'base64');
  const client = httpsRequest(`${operator.streamUrl}/v1/config?gateway=g&instance=i`, {
    ca: file('ca.crt'),
    cert: file('gateway.crt'),
    key: file('gateway.key'),
    servername: STREAM_SERVER_NAME,
    agent: false,
  }).end();
  const [response] = (await once(client, 'response')) as [IncomingMessage];
  return { status: response.statusCode, body: JSON.parse((await response.toArray()).join('')) };
};

describe('operators', () => {
  test('a follower rejects a gateway and names the leader', async () => {
    const { leader, follower } = await roles();
    expect(await askStream(follower)).toEqual({
      status: 503,
      body: { error: 'not_leader', leader: leader.streamUrl },
    });
  });

  test('when the leader is killed under traffic, no request is lost, and a change made in the meantime goes live', async () => {
    const { leader, follower } = await roles();
    const traffic = await steadyTraffic();
    const killed = Date.now();
    await leader.process.kill('SIGKILL');
    await changeAndCheck('changed', '{"while": "no leader"}');
    expect(await untilServing(follower, killed)).toBeLessThan(FAILOVER_MS_MAX);
    await untilAllConnected();
    await traffic.stop();
    expect(traffic.failures).toEqual([]);
    expect(traffic.answered.length).toBeGreaterThan(300);
    const summaries = await eventually(
      'every row',
      () => store.list({ projectUid: EVERY_PROJECT, namespace: tenant.namespace, endpoint: 'steady', limit: 10_000 }),
      { accept: (entries) => entries.length >= traffic.answered.length },
    );
    const logged = summaries.map(({ request }) => bodyAsBuffer(request).toString());
    expect(logged.sort()).toEqual([...traffic.answered].sort());
    await leader.process.restart();
    await leader.process.waitForUrl(`${leader.adminUrl}/readyz`);
  });

  test('a stopped leader hands over immediately', async () => {
    const { leader, follower } = await roles();
    await untilAllConnected();
    const stopped = Date.now();
    const exit = leader.process.kill('SIGTERM');
    expect(await untilServing(follower, stopped)).toBeLessThan(HANDOVER_MS_MAX);
    expect(await exit).toEqual({ code: 0, signal: null });
    await changeAndCheck('changed', '{"after": "handover"}');
    await leader.process.restart();
    await leader.process.waitForUrl(`${leader.adminUrl}/readyz`);
  });

  test('restarted operators write no status if nothing has changed', async () => {
    const all = async () =>
      (await Promise.all((['Account', 'Project', 'Endpoint'] as const).map((kind) => tenant.list(kind)))).flat();
    const project = () => tenant.get('Project', 'shop');
    await eventually('the counts', project, {
      accept: ({ status }) => isDeepStrictEqual(status?.['endpoints'], { total: 2, ready: 2 }),
    });
    const { uid } = (await tenant.get('Account', 'team')).metadata;
    const year = { from: new Date(Date.now() - 300 * DAY_MS), to: new Date(Date.now() + DAY_MS) };
    // No client sends requests, so the count stays the same after all requests are counted.
    await eventually(
      'the usage',
      async () => {
        const { status } = await tenant.get('Account', 'team');
        const { accepted } = status?.['usage'] as { accepted: number };
        const { days } = await store.usage({ uid, namespace: tenant.namespace, name: 'team' }, year);
        return accepted === days.reduce((sum, { requests }) => sum + requests, 0);
      },
      { timeoutMs: 30_000 },
    );
    const before = (await all()).map(({ metadata }) => [metadata.name, metadata.resourceVersion]);
    // They release the lease, so one of them leads immediately.
    await Promise.all(deployment.operators.map(({ process }) => process.kill('SIGTERM')));
    await Promise.all(deployment.operators.map(({ process }) => process.restart()));
    await untilAllConnected();
    const { leader } = await roles();
    // The operator checks each object when it becomes the leader, and again when the last gateway has reconnected.
    await eventually('two checks of each object', async () => {
      const checks = await readMetric(leader.adminUrl, 'workqueue_adds_total');
      const depth = await readMetric(leader.adminUrl, 'workqueue_depth');
      const isIdle = depth.get('name="status",controller="status"') === 0;
      return isIdle && (checks.get('name="status",controller="status"') ?? 0) >= 2 * before.length;
    });
    const written = await readMetric(leader.adminUrl, 'standin_status_writes_total');
    expect([...written.values()]).toEqual([0]);
    expect((await all()).map(({ metadata }) => [metadata.name, metadata.resourceVersion])).toEqual(before);
  });
});

describe('gateways', () => {
  test('a killed gateway is named in the condition until it is forgotten, and gets the newest configuration when it restarts', async () => {
    const [first, second, third] = gateways;
    await untilAllConnected();
    await third.process.kill('SIGKILL');
    await tenant.mock('changed', '{"without": "gateway-2"}');
    // The condition may first name the other gateways too, until they have acknowledged the change.
    await eventually('gateway-2 in the condition', () => tenant.condition('Endpoint', 'changed'), {
      accept: ({ reason, message }) =>
        reason === 'PartiallyProgrammed' &&
        message === 'Some gateways have not acknowledged the object yet: waiting for gateway-2.',
      intervalMs: 20,
      timeoutMs: FORGET_MS,
    });
    expect(await responseBodies('changed', [first, second])).toEqual([
      '{"without": "gateway-2"}',
      '{"without": "gateway-2"}',
    ]);
    await tenant.untilReason('Endpoint', 'changed', 'Ready', 2 * FORGET_MS);
    expect(await knownGateways()).toBe(2);
    await third.process.restart();
    await third.process.waitForUrl(`${third.adminUrl}/readyz`);
    expect(await responseBodies('changed', [third])).toEqual(['{"without": "gateway-2"}']);
    await untilAllConnected();
  });

  test('a change waits for a gateway that restarts in time', async () => {
    const [, second] = gateways;
    await second.process.kill('SIGKILL');
    await tenant.mock('changed', '{"waits": true}');
    await tenant.untilReason('Endpoint', 'changed', 'PartiallyProgrammed');
    await second.process.restart();
    await tenant.untilReason('Endpoint', 'changed', 'Ready');
    expect(await responseBodies('changed')).toEqual(Array.from({ length: 3 }, () => '{"waits": true}'));
  });

  test('a frozen gateway keeps its connection but is forgotten', async () => {
    const [, , third] = gateways;
    await untilAllConnected();
    third.process.signal('SIGSTOP');
    try {
      await tenant.mock('changed', '{"frozen": "gateway-2"}');
      expect((await tenant.untilReason('Endpoint', 'changed', 'PartiallyProgrammed')).message).toContain('gateway-2');
      await tenant.untilReason('Endpoint', 'changed', 'Ready', 4 * FORGET_MS);
    } finally {
      third.process.signal('SIGCONT');
    }
    await untilAllConnected();
    expect(await responseBodies('changed')).toEqual(Array.from({ length: 3 }, () => '{"frozen": "gateway-2"}'));
  });

  test('a stopped gateway sends a goodbye message, and no change waits for it', async () => {
    const [first] = gateways;
    expect((await first.process.kill('SIGTERM')).code).toBe(0);
    expect(await knownGateways()).toBe(2);
    await tenant.mock('changed', '{"said": "goodbye"}');
    await tenant.untilReason('Endpoint', 'changed', 'Ready', FORGET_MS / 2);
    await first.process.restart();
    await first.process.waitForUrl(`${first.adminUrl}/readyz`);
    await untilAllConnected();
  });

  test('a gateway that restarts without an operator serves from its disk', async () => {
    const [first] = gateways;
    await Promise.all(deployment.operators.map(({ process }) => process.kill('SIGTERM')));
    // The copy on disk may be a second behind.
    await delay(2_000);
    await first.process.kill('SIGKILL');
    await first.process.restart();
    await first.process.waitForUrl(`${first.adminUrl}/readyz`);
    const unlimited = [
      `${await tenant.projectPath('unlimited')}/unlimited`,
      await tenant.readSecret('unlimited-api-key'),
    ] as const;
    expect(await post(first, ...unlimited)).toEqual({ status: 200, body: '"all"' });
    // The gateway holds no permit of a quota, and no operator can grant a permit.
    const refused = await post(first, `${path}/changed`, key);
    expect([refused.status, refused.body]).toEqual([503, expect.stringContaining('quota_unavailable')]);
    await Promise.all(deployment.operators.map(({ process }) => process.restart()));
    await untilAllConnected();
    await changeAndCheck('changed', '{"operators": "are back"}');
  });
});

describe('the API server', () => {
  test('can be down for half a minute during changes: traffic continues, and all changes go live afterwards', async () => {
    const traffic = await steadyTraffic();
    await untilHolding(OUTAGE_PERMITS);
    await Promise.all(Array.from({ length: 20 }, (_, index) => tenant.mock(`many-${index}`, `${index}`)));
    await cluster.stopApiServer('SIGKILL');
    await delay(API_OUTAGE_MS);
    expect(await responseBodies('changed')).toEqual(Array.from({ length: 3 }, () => '{"operators": "are back"}'));
    await cluster.startApiServer();
    await changeAndCheck('changed', '{"api": "is back"}');
    for (let index = 0; index < 20; index += 1) await tenant.untilReason('Endpoint', `many-${index}`, 'Ready');
    expect(await responseBodies('many-7')).toEqual(['7', '7', '7']);
    await traffic.stop();
    expect(traffic.failures).toEqual([]);
    for (const { process } of deployment.operators) expect(process.hasEnded).toBe(false);
  });
});
