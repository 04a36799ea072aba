import { resourcePath } from '@standin/kube';
import { LEASE_NAME } from '@standin/operator';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type DeployedGateway, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin, SYSTEM_NAMESPACE } from '../harness/install-standin.ts';
import { standin } from './dev-stand.ts';
import { post, Tenant } from './tenant.ts';

/**
 * Tests that a tenant cannot take what belongs to another tenant, with a real API server (ADR 041): a URI, an API key, a prefix and an
 * adopted identity. The tenant `rival` knows the URIs and the keys of `owner`, and its objects are older.
 */

const URI = 'payments-0123456789';
const KEY = 'key-of-the-owner-0123456789-0123456789';
const PENDING_MS = 40_000;

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let deployment: Deployment;
let gateway: DeployedGateway;
let rival: Tenant;
let owner: Tenant;

beforeAll(async () => {
  [cluster, clickHouse] = await Promise.all([startCluster(), startClickHouse()]);
  await installStandin(cluster);
  const operatorEnv = { STANDIN_SECRET_POLL_MS: '500' };
  deployment = await deploy({ cluster, clickHouse, operators: 1, gateways: 1, operatorEnv });
  [gateway] = deployment.gateways as [DeployedGateway];
  rival = await Tenant.create(cluster, 'rival');
  owner = await Tenant.create(cluster, 'owner');
  await rival.accountAndProject();
  await rival.apply('Project', 'old', { displayName: 'Old', accountRef: { name: 'team' } });
  await rival.projectPath('old');
  // Creation times have a resolution of one second.
  const createdAt = Math.floor(Date.now() / 1_000);
  await eventually('the next second', () => Math.floor(Date.now() / 1_000) > createdAt);
  await owner.writeSecret('own-key', KEY);
  await owner.apply('Account', 'team', { plan: 'Free', apiKey: { secretName: 'own-key' } });
  await applyShop();
  await owner.mock('orders', '"orders"');
  await owner.untilReason('Endpoint', 'orders', 'Ready');
});
afterAll(async () => {
  await deployment.stop();
  await Promise.all([rival.client.close(), owner.client.close()]);
  await Promise.all([cluster.stop(), clickHouse.stop()]);
});

const applyShop = () => owner.apply('Project', 'shop', { displayName: 'Shop', accountRef: { name: 'team' }, uri: URI });

const call = () => post(gateway, `/${URI}/orders`, KEY);

const LEASE = resourcePath({
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  namespace: SYSTEM_NAMESPACE,
  name: LEASE_NAME,
});

/** Restarts the operator. Calls `between` while it does not run. */
const restartOperator = async (between: () => Promise<unknown> = () => Promise.resolve()): Promise<void> => {
  const [operator] = deployment.operators;
  await operator?.process.kill('SIGKILL');
  await between();
  await rival.client.mergePatch(LEASE, { spec: { holderIdentity: '' } });
  await operator?.process.restart();
  await operator?.process.waitForEvent('the leader', ({ msg }) => msg === 'leading', PENDING_MS);
};

const expectConflict = async (tenant: Tenant, kind: 'Project' | 'Account', name: string): Promise<void> => {
  const { message } = await tenant.untilReason(kind, name, 'Conflicted', PENDING_MS);
  expect(message).toContain('is already in use');
  expect(message).not.toMatch(/owner|shop|older|newer/);
};

describe('a URI', () => {
  test('is not given to an older Project that pins it later', async () => {
    await rival.apply('Project', 'old', { uri: URI });
    await expectConflict(rival, 'Project', 'old');
    expect((await call()).status).toBe(200);
    expect((await owner.condition('Project', 'shop', 'Accepted')).reason).toBe('Accepted');
  });

  test('is kept for its Project while it is deleted, also by the next leader', async () => {
    await rival.apply('Project', 'waiting', { displayName: 'W', accountRef: { name: 'team' }, uri: URI });
    await expectConflict(rival, 'Project', 'waiting');
    await owner.remove('Project', 'shop');
    await owner.untilReason('Endpoint', 'orders', 'ProjectNotFound');
    await restartOperator();
    await expectConflict(rival, 'Project', 'waiting');
    // A new object is evaluated after everything that came before it.
    await rival.apply('Project', 'latest', { displayName: 'L', accountRef: { name: 'team' }, uri: URI });
    await expectConflict(rival, 'Project', 'latest');
    expect((await rival.condition('Project', 'old')).reason).toBe('Conflicted');
    await applyShop();
    await owner.untilReason('Endpoint', 'orders', 'Ready', PENDING_MS);
    expect((await call()).status).toBe(200);
  });

  test('is kept when all objects of a namespace are applied again in another order', async () => {
    await owner.remove('Project', 'shop');
    await owner.remove('Account', 'team');
    await owner.remove('Endpoint', 'orders');
    await owner.mock('orders', '"orders"');
    await applyShop();
    await owner.apply('Account', 'team', { plan: 'Free', apiKey: { secretName: 'own-key' } });
    await owner.untilReason('Endpoint', 'orders', 'Ready', PENDING_MS);
    expect((await call()).status).toBe(200);
    expect((await rival.condition('Project', 'waiting')).reason).toBe('Conflicted');
  });

  test('that is derived is not given to a Project that pins it', async () => {
    await owner.apply('Project', 'derived', { displayName: 'D', accountRef: { name: 'team' } });
    const uri = (await owner.projectPath('derived')).slice(1);
    await rival.apply('Project', 'pinned', { displayName: 'P', accountRef: { name: 'team' }, uri });
    await expectConflict(rival, 'Project', 'pinned');
  });
});

describe('an API key', () => {
  test('is not given to an older Account whose owner knows it', async () => {
    await rival.writeSecret('team-api-key', KEY);
    await expectConflict(rival, 'Account', 'team');
    expect((await call()).status).toBe(200);
    await restartOperator();
    await expectConflict(rival, 'Account', 'team');
    expect((await call()).status).toBe(200);
    await rival.removeSecret('team-api-key');
    await rival.untilReason('Account', 'team', 'Ready', PENDING_MS);
  });

  test('is kept while its Account is deleted, and after it was replaced', async () => {
    await rival.writeSecret('own', KEY);
    await rival.apply('Account', 'waiting', { plan: 'Free', apiKey: { secretName: 'own' } });
    await expectConflict(rival, 'Account', 'waiting');
    await owner.remove('Account', 'team');
    await owner.untilReason('Project', 'shop', 'AccountNotFound');
    await restartOperator();
    await expectConflict(rival, 'Account', 'waiting');
    await owner.apply('Account', 'team', { plan: 'Free', apiKey: { secretName: 'own-key' } });
    await owner.untilReason('Endpoint', 'orders', 'Ready', PENDING_MS);
    await owner.writeSecret('own-key', `next-${KEY}`);
    await eventually('the next key', () => post(gateway, `/${URI}/orders`, `next-${KEY}`), {
      accept: ({ status }) => status === 200,
    });
    await rival.apply('Account', 'second', { plan: 'Free', apiKey: { secretName: 'own' } });
    await expectConflict(rival, 'Account', 'second');
    await owner.writeSecret('own-key', KEY);
    await eventually('the first key', call, { accept: ({ status }) => status === 200 });
  });
});

test('a prefix is kept while its Account is deleted, and applies to older Projects', async () => {
  const prefixed = { plan: 'Free', uriPrefix: 'team-b-' };
  await owner.apply('Account', 'prefixed', prefixed);
  await owner.untilReason('Account', 'prefixed', 'Ready', PENDING_MS);
  await rival.apply('Account', 'squatter', prefixed);
  const accepted = (tenant: Tenant, name: string) => tenant.condition('Account', name, 'Accepted');
  await eventually('the refused prefix', () => accepted(rival, 'squatter'), {
    accept: ({ message }) => message.includes('The prefix team-b- is not reserved'),
  });
  await owner.remove('Account', 'prefixed');
  await rival.apply('Project', 'aged', { displayName: 'A', accountRef: { name: 'team' }, uri: 'team-b-0123456789' });
  await rival.untilReason('Project', 'aged', 'Conflicted');
  await owner.apply('Account', 'prefixed', prefixed);
  await owner.untilReason('Account', 'prefixed', 'Ready', PENDING_MS);
  expect((await accepted(owner, 'prefixed')).message).toBe('The object is valid.');
  expect((await accepted(rival, 'squatter')).message).toContain('is not reserved');
});

const identities = ({ namespace }: Tenant): string =>
  resourcePath({ group: '', version: 'v1', plural: 'secrets', namespace, name: 'standin-identities' });
interface SecretData {
  readonly data: Readonly<Record<string, string>>;
}

test('an identity that was adopted is not taken back with a restored Secret, also after a restart', async () => {
  const spec = { displayName: 'Moved', accountRef: { name: 'team' } };
  await rival.apply('Project', 'moved', spec);
  const path = await rival.projectPath('moved');
  const { data } = await rival.client.get<SecretData>(identities(rival));
  const restored = { 'Project.moved': data['Project.moved'] };
  await rival.remove('Project', 'moved');
  const args = ['admin', 'adopt', 'project', 'owner/moved', '--from', 'rival/moved'];
  const { code, stderr } = await standin([...args, '--kubeconfig', cluster.kubeconfigPath]);
  expect(code, stderr).toBe(0);
  await owner.apply('Project', 'moved', spec);
  await eventually('the adopted URL', () => owner.projectPath('moved'), { accept: (found) => found === path });

  await restartOperator(async () => {
    await rival.client.mergePatch(identities(rival), { data: restored });
    await rival.apply('Project', 'moved', spec);
  });
  const { message } = await rival.untilReason('Project', 'moved', 'IdentityInvalid', PENDING_MS);
  expect(message).toContain('was moved to another object');
  await eventually('the adopted URL', () => owner.get('Project', 'moved'), {
    accept: ({ status }) => String(status?.['url']).endsWith(path),
  });
  expect((await owner.condition('Project', 'moved', 'Accepted')).status).toBe('True');
  // The owner's other entries are still valid.
  expect((await call()).status).toBe(200);
});

const configMaps = (name?: string): string => {
  const all = { group: '', version: 'v1', plural: 'configmaps', namespace: SYSTEM_NAMESPACE };
  return resourcePath(name === undefined ? all : { ...all, name });
};
interface ConfigMaps {
  readonly items: readonly { readonly metadata: { readonly name: string; readonly labels?: object }; data?: object }[];
}

test('records that are restored from a backup decide, and the records show neither URIs nor keys', async () => {
  const list = await owner.client.get<ConfigMaps>(configMaps());
  const claims = list.items.filter(({ metadata: { name } }) => name.startsWith('standin-claims-'));
  expect(claims.length).toBeGreaterThan(1);
  expect(JSON.stringify(claims)).not.toMatch(/payments|team-b|key-of/);
  await restartOperator(async () => {
    for (const { metadata } of claims) await owner.client.removeByName(configMaps(metadata.name));
    for (const { metadata, data } of claims) {
      const { name, labels } = metadata;
      await owner.client.create(configMaps(), {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, namespace: SYSTEM_NAMESPACE, labels },
        data,
      });
    }
  });
  await eventually('a response', call, { accept: ({ status }) => status === 200 });
  expect((await rival.condition('Project', 'old')).reason).toBe('Conflicted');
});
