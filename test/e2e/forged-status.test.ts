import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { API_GROUP, RESOURCES, type Kind } from '@standin/contract';
import { resourcePath, type KubeClient } from '@standin/kube';
import { loadKubeClient } from '@standin/kube/load-kube-client';
import pino from 'pino';
import { request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clusterBackends } from '../../dashboard/src/cluster/cluster-backend.ts';
import { Identities } from '../../dashboard/src/cluster/identities.ts';
import { SHARE_PATH } from '../../dashboard/src/shares/serve-shares.ts';
import { createShareToken, shareTokenSha256 } from '../../dashboard/src/shares/share-token.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type DeployedGateway, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin } from '../harness/install-standin.ts';
import { ask, type ApiAnswer } from './api-stand.ts';
import { createPerson, startClusterDashboard, type ClusterDashboard, type Person } from './cluster-dashboard.ts';
import { post, Tenant } from './tenant.ts';

/** Attacks by the owner of a namespace, who may do everything there, also edit statuses. */

const ROUNDS = 10;
const CALLERS_URL = 'http://standin.test';

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let deployment: Deployment;
let gateway: DeployedGateway;
let dashboard: ClusterDashboard;
let victim: Tenant;
let tenant: Tenant;
let owner: Person;
let attacker: KubeClient;
let elsewhere: Server;
/** The requests that another server received. */
const received: unknown[] = [];

beforeAll(async () => {
  [cluster, clickHouse] = await Promise.all([startCluster(), startClickHouse()]);
  await installStandin(cluster);
  deployment = await deploy({ cluster, clickHouse, operators: 1, gateways: 1 });
  const [first] = deployment.gateways;
  if (first === undefined) throw new Error('no gateway runs');
  gateway = first;
  [victim, tenant] = await Promise.all([Tenant.create(cluster, 'victim'), Tenant.create(cluster, 'attacker')]);
  for (const each of [victim, tenant]) {
    await each.accountAndProject();
    await each.mock('plain', '{}');
    await each.untilReason('Endpoint', 'plain', 'Ready');
  }
  elsewhere = createServer(({ url, headers }, response) => {
    received.push([url, headers]);
    response.end('the metadata');
  }).listen(0, '127.0.0.1');
  await once(elsewhere, 'listening');
  [owner, dashboard] = await Promise.all([
    createPerson(cluster, tenant.namespace, { name: 'owner', role: 'cluster-admin' }),
    startClusterDashboard({
      cluster,
      clickHouse,
      operators: deployment.operators,
      env: { STANDIN_GATEWAY_URL: CALLERS_URL, STANDIN_SEND_GATEWAY_URL: gateway.url },
    }),
  ]);
  const kubeconfigPath = await cluster.tokenKubeconfig(tenant.namespace, 'owner');
  attacker = loadKubeClient({ kubeconfigPath, writeRate: { qps: 10_000, burst: 10_000 } });
});
afterAll(async () => {
  await dashboard.process.kill();
  await deployment.stop();
  elsewhere.close();
  await Promise.all([victim, tenant].map(({ client }) => client.close()).concat(attacker.close()));
  await clickHouse.stop();
  await cluster.stop();
});

/** Edits a status as the owner of the namespace. */
const forge = (kind: Kind, name: string, status: object): Promise<unknown> => {
  const target = { group: API_GROUP, version: 'v1alpha1', plural: RESOURCES[kind].plural, name, subresource: 'status' };
  return attacker.mergePatch(resourcePath({ ...target, namespace: tenant.namespace }), { status });
};
/** Repeats an edit until the work is done, because the operator restores a status within milliseconds. */
const whileForged = async (edit: () => Promise<unknown>, work: () => Promise<void>): Promise<void> => {
  let isDone = false;
  const repeat = async (): Promise<void> => {
    while (!isDone) await edit();
  };
  const repeated = repeat();
  try {
    await Promise.race([work(), repeated]);
  } finally {
    isDone = true;
    await repeated;
  }
};
const inRounds = async (work: () => Promise<void>): Promise<void> => {
  for (let round = 0; round < ROUNDS; round += 1) await work();
};
const projectId = async (of: Tenant): Promise<string> => String((await of.get('Project', 'shop')).status?.['id']);
const read = (rest: string): Promise<ApiAnswer> =>
  ask(`${dashboard.url}/api/v1/namespaces/${tenant.namespace}/projects/shop${rest}`, {
    headers: { authorization: `Bearer ${owner.token}` },
  });

const signIn = async (): Promise<string> => {
  const form = { origin: dashboard.url, 'content-type': 'application/x-www-form-urlencoded' };
  const { headers } = await request(`${dashboard.url}/login`, {
    method: 'POST',
    headers: form,
    body: new URLSearchParams({ token: owner.token, to: '/' }).toString(),
  });
  return [headers['set-cookie'] ?? []]
    .flat()
    .map((cookie) => cookie.split(';')[0])
    .join('; ');
};

test('the refused requests and the log of another project stay hidden if its id is in the status', async () => {
  const secret = await post(gateway, `${await victim.projectPath()}/secret`, await victim.readSecret('team-api-key'));
  expect(secret.status).toBe(404);
  const id = await projectId(victim);
  const answers: ApiAnswer[] = [];
  await whileForged(
    () => forge('Project', 'shop', { id }),
    () =>
      inRounds(async () => {
        answers.push(...(await Promise.all([read('/refusals'), read('/requests')])));
      }),
  );
  for (const { json } of answers) expect(JSON.stringify(json)).not.toContain('secret');
  expect(answers.filter(({ status }) => status === 503).map(({ json }) => JSON.stringify(json))).toContainEqual(
    expect.stringContaining('does not confirm the identity'),
  );
  await eventually('the id to be restored', () => projectId(tenant), { accept: (restored) => restored !== id });
  expect((await read('/refusals')).status).toBe(200);
});

test('a request is sent to the gateways, with an address of another server in every status', async () => {
  const cookie = await signIn();
  const url = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
  const uri = (await tenant.projectPath()).slice(1);
  const edit = () =>
    Promise.all([
      forge('Project', 'shop', { uri, url: `${url}/${uri}` }),
      forge('Endpoint', 'plain', { url: `${url}/plain` }),
    ]);
  const send = async (): Promise<void> => {
    const { body } = await request(`${dashboard.url}/p/${tenant.namespace}/shop/endpoints/plain/requests`, {
      method: 'POST',
      body: new URLSearchParams({ body: '{}' }).toString(),
      headers: { cookie, origin: dashboard.url, 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(await body.json()).toMatchObject({ status: 200, text: '{}' });
    expect((await read('')).json).toMatchObject({ url: `${CALLERS_URL}/${uri}` });
  };
  await whileForged(edit, () => inRounds(send));
  expect(received).toEqual([]);
});

test('a link of an account without the Pro plan shows nothing if its status says that it is accepted', async () => {
  const items = async () => ((await read('/requests')).json as { items: { id: string }[] }).items;
  const [captured] = await eventually('a captured request', items, { accept: ({ length }) => length > 0 });
  const token = createShareToken();
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z');
  await tenant.apply('Share', 'link', {
    projectRef: { name: 'shop' },
    requestId: captured?.id,
    tokenSha256: shareTokenSha256(token),
    expiresAt,
  });
  const accepted = { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'The Share is valid.' };
  const open = async (): Promise<number> => {
    const { statusCode, body } = await request(`${dashboard.url}${SHARE_PATH}${token}`);
    await body.dump();
    return statusCode;
  };
  const conditions = [{ ...accepted, observedGeneration: 1, lastTransitionTime: '2026-11-21T09:00:00Z' }];
  await whileForged(
    () => forge('Share', 'link', { conditions }),
    () => inRounds(async () => expect(await open()).toBe(404)),
  );
  await tenant.apply('Account', 'team', { plan: 'Pro' });
  await tenant.untilReason('Share', 'link', 'Ready');
  expect(await open()).toBe(200);
});

test('a project that was created again keeps its log, and can be edited and deleted by its own uid', async () => {
  const before = (await read('/requests')).json;
  const id = await projectId(tenant);
  await tenant.remove('Project', 'shop');
  await tenant.apply('Project', 'shop', { displayName: 'Shop', accountRef: { name: 'team' } });
  await eventually('the id of the first project', () => projectId(tenant), { accept: (restored) => restored === id });
  expect((await read('/requests')).json).toEqual(before);
  expect((await read('/refusals')).status).toBe(200);

  const backends = clusterBackends({
    config: attacker.config,
    gatewayUrl: CALLERS_URL,
    sendUrl: CALLERS_URL,
    logger: pino({ level: 'silent' }),
    store: {} as never,
    operator: {} as never,
    identities: new Identities({} as never),
    index: { serves: () => true, namespaces: () => new Map() },
  });
  const { resources } = backends.as(owner.token, {
    findHolder: () => Promise.resolve('owner'),
    signal: new AbortController().signal,
  });
  const ref = { kind: 'Project', namespace: tenant.namespace, name: 'shop' } as const;
  const shown = await resources.get(ref);
  if (shown === undefined) throw new Error('the project is missing');
  const { metadata, apiVersion, kind } = shown;
  expect(metadata.uid).not.toBe(id);
  const spec = { displayName: 'Renamed', accountRef: { name: 'team' } };
  const edited = { apiVersion, kind, metadata: { namespace: ref.namespace, name: ref.name }, spec };
  expect(await resources.apply(edited, metadata)).toMatchObject({ ok: true });
  await resources.delete(ref, metadata.uid);
  expect(await resources.get(ref)).toBeUndefined();
  await backends.close();
});
