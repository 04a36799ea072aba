import { resourcePath, type KubeClient } from '@standin/kube';
import { loadKubeClient } from '@standin/kube/load-kube-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { certificateSecret } from '../../operator/src/publish/certificate-secret.ts';
import { planCertificates } from '../../operator/src/publish/certificates.ts';
import { gatewayConfigMap } from '../../operator/src/gateways/gateway-memory.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type DeployedGateway, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin, OPERATOR_SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../harness/install-standin.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { createPerson, startClusterDashboard, type ClusterDashboard } from './cluster-dashboard.ts';
import { standin } from './dev-stand.ts';
import { post, Tenant } from './tenant.ts';

/**
 * Tests API keys, and properties that only one object can have, with a real API server. The tests check the effects in the
 * responses of a gateway.
 */

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let deployment: Deployment;
let gateway: DeployedGateway;
let tenant: Tenant;

const KEY = 'first-key-of-at-least-32-characters';
const OTHER_KEY = 'other-key-of-at-least-32-characters';

beforeAll(async () => {
  [cluster, clickHouse] = await Promise.all([startCluster(), startClickHouse()]);
  await installStandin(cluster);
  const operatorEnv = { STANDIN_SECRET_POLL_MS: '500' };
  deployment = await deploy({ cluster, clickHouse, operators: 1, gateways: 1, operatorEnv });
  [gateway] = deployment.gateways as [DeployedGateway];
  tenant = await Tenant.create(cluster, 'keys');
  await tenant.accountAndProject();
  await tenant.mock('orders', '"orders"');
  await tenant.untilReason('Endpoint', 'orders', 'Ready');
});
afterAll(async () => {
  await deployment.stop();
  await tenant.client.close();
  await Promise.all([cluster.stop(), clickHouse.stop()]);
});

const untilAnswer = async (path: string, key: string, status: number): Promise<void> => {
  await eventually(`${status} on ${path}`, () => post(gateway, path, key), {
    accept: (answer) => answer.status === status,
  });
};

/** Creates an Account with its own key, a Project and a mock, all with that name. Returns the mock's path. */
const ownAccount = async (name: string, secretName: string): Promise<string> => {
  await tenant.apply('Account', name, { plan: 'Free', apiKey: { secretName } });
  await tenant.apply('Project', name, { displayName: name, accountRef: { name } });
  const rest = { displayName: name, slug: '/own', method: 'POST', action: 'JSON', json: { body: '{}' } };
  await tenant.apply('Endpoint', name, { ...rest, projectRef: { name } });
  return `${await tenant.projectPath(name)}/own`;
};

describe('a key from a user-provided Secret', () => {
  test('follows the Secret in status and on gateways: missing, created, changed, too short, deleted', async () => {
    const path = await ownAccount('own', 'own-key');
    expect((await tenant.untilReason('Account', 'own', 'SecretNotFound')).message).toContain('own-key');
    await tenant.writeSecret('own-key', KEY);
    await tenant.untilReason('Endpoint', 'own', 'Ready');
    expect((await post(gateway, path, KEY)).status).toBe(200);
    const fingerprint = (await tenant.get('Account', 'own')).status?.['apiKey'];

    await tenant.writeSecret('own-key', OTHER_KEY);
    await untilAnswer(path, OTHER_KEY, 200);
    expect((await post(gateway, path, KEY)).status).toBe(401);
    await eventually('the new fingerprint', () => tenant.get('Account', 'own'), {
      accept: ({ status }) => JSON.stringify(status?.['apiKey']) !== JSON.stringify(fingerprint),
    });

    await tenant.writeSecret('own-key', 'too-short');
    expect((await tenant.untilReason('Account', 'own', 'SecretInvalid')).message).toContain('use at least 32');
    await untilAnswer(path, OTHER_KEY, 401);
    expect((await tenant.condition('Endpoint', 'own')).reason).toBe('ProjectNotReady');

    await tenant.writeSecret('own-key', KEY);
    await untilAnswer(path, KEY, 200);
    await tenant.removeSecret('own-key');
    await tenant.untilReason('Account', 'own', 'SecretNotFound');
    await untilAnswer(path, KEY, 401);
  });

  test('conflicts with the same key of another Account, which it does not name, until that Account is deleted', async () => {
    await tenant.writeSecret('shared-key', `shared-${KEY}`);
    const older = await ownAccount('older', 'shared-key');
    await tenant.untilReason('Endpoint', 'older', 'Ready');
    // The older Account keeps the key, and creation times have a resolution of one second.
    const { creationTimestamp } = (await tenant.get('Account', 'older')).metadata as unknown as {
      creationTimestamp: string;
    };
    await eventually('the next second', () => Date.now() >= Date.parse(creationTimestamp) + 1_000);
    const newer = await ownAccount('newer', 'shared-key');
    const { message } = await tenant.untilReason('Account', 'newer', 'Conflicted');
    expect(message).not.toContain('keys/older');
    expect(message).toContain('Secret shared-key');
    await eventually('the Event', async () =>
      (await listEvents('keys')).some(
        (event) => event.type === 'Warning' && event.reason === 'Conflicted' && event.regarding.name === 'newer',
      ),
    );
    expect((await post(gateway, older, `shared-${KEY}`)).status).toBe(200);
    expect((await post(gateway, newer, `shared-${KEY}`)).status).toBe(401);
    await tenant.remove('Account', 'older');
    await tenant.untilReason('Endpoint', 'newer', 'Ready');
    expect((await post(gateway, newer, `shared-${KEY}`)).status).toBe(200);
  });
});

describe('a generated key', () => {
  test('is replaced when its Secret is deleted, is reported in an Event, and makes the old key invalid', async () => {
    const path = `${await tenant.projectPath()}/orders`;
    const old = await tenant.readSecret('team-api-key');
    await tenant.removeSecret('team-api-key');
    const key = await eventually('another key', () => tenant.readSecret('team-api-key'));
    expect(key).not.toBe(old);
    await untilAnswer(path, key, 200);
    expect((await post(gateway, path, old)).status).toBe(401);
    await tenant.untilReason('Account', 'team', 'Ready');
    // This Event repeats the first one, so the count of the first Event increases.
    await eventually('the Event', async () =>
      (await listEvents('keys')).some(
        ({ reason, regarding, series }) =>
          reason === 'KeyGenerated' && regarding.name === 'team' && series?.count === 2,
      ),
    );
  });
});

describe("the CLI with the cluster's dashboard", () => {
  let dashboard: ClusterDashboard;
  let env: NodeJS.ProcessEnv;
  const run = (...args: string[]) =>
    standin([...args, '-n', 'keys', '--server', dashboard.url, '--trust-server'], { env });
  beforeAll(async () => {
    dashboard = await startClusterDashboard({ cluster, clickHouse });
    await createPerson(cluster, 'keys', { name: 'admin', role: 'standin-admin' });
    // Reading a key requires a separate permission.
    const role = ['--verb=get', '--resource=secrets', '--resource-name=team-api-key'];
    await cluster.kubectl(['create', 'role', 'see-key', ...role, '-n', 'keys']);
    const binding = ['--role=see-key', '--serviceaccount=keys:admin'];
    await cluster.kubectl(['create', 'rolebinding', 'see-key', ...binding, '-n', 'keys']);
    const home = {
      KUBECONFIG: await cluster.tokenKubeconfig('keys', 'admin'),
      XDG_STATE_HOME: await createTempFolder('state'),
    };
    env = { ...process.env, ...home };
  });
  afterAll(() => dashboard.process.kill());

  test('standin key regenerate prints the new key when the gateway rejects the old one', async () => {
    const path = `${await tenant.projectPath()}/orders`;
    const old = await tenant.readSecret('team-api-key');
    const { code, stdout, stderr } = await run('key', 'regenerate', 'team', '--yes');
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('No gateway accepts') as string,
    });
    expect(stdout).toBe(`${await tenant.readSecret('team-api-key')}\n`);
    expect((await post(gateway, path, old)).status).toBe(401);
    expect((await post(gateway, path, stdout.trim())).status).toBe(200);
  });

  test('standin usage prints the used quota by endpoint', async () => {
    await tenant.writeSecret('counted-key', `counted-${KEY}`);
    const path = await ownAccount('counted', 'counted-key');
    await tenant.apply('Account', 'counted', { monthlyQuota: 50 });
    await tenant.untilReason('Account', 'counted', 'Ready');
    await tenant.untilReason('Endpoint', 'counted', 'Ready');
    for (let n = 0; n < 3; n++) expect((await post(gateway, path, `counted-${KEY}`)).status).toBe(200);
    const { code, stdout } = await eventually('the requests to be counted', () => run('usage', 'counted'), {
      accept: (printed) => printed.stdout.includes(': 3 of 50 ') && /counted +3\n/.test(printed.stdout),
      timeoutMs: 40_000,
    });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^keys\/counted, \d{4}-\d\d: 3 of 50 requests \(6\.0 %\)\n/);
    expect(stdout).toMatch(/\nkeys\/counted +counted +3\n/);
  });
});

interface SeenEvent {
  readonly type: string;
  readonly reason: string;
  readonly regarding: { readonly name: string };
  readonly series?: { readonly count: number };
}

const listEvents = async (namespace: string): Promise<readonly SeenEvent[]> => {
  const { stdout } = await cluster.kubectl(['get', 'events.events.k8s.io', '-n', namespace, '-o', 'json']);
  return (JSON.parse(stdout) as { items: SeenEvent[] }).items;
};

describe('properties that only one object can have', () => {
  test('a path belongs to the older endpoint until it is deleted', async () => {
    const key = await tenant.readSecret('team-api-key');
    const path = `${await tenant.projectPath()}/contested`;
    const spec = {
      projectRef: { name: 'shop' },
      displayName: 'Contested',
      slug: '/contested',
      method: 'POST',
      action: 'JSON',
    };
    await tenant.apply('Endpoint', 'a-winner', { ...spec, json: { body: '"winner"' } });
    await tenant.untilReason('Endpoint', 'a-winner', 'Ready');
    await tenant.apply('Endpoint', 'b-second', { ...spec, json: { body: '"second"' } });
    // If two objects were created in the same second, the uid decides.
    const conditions = await eventually(
      'one winner',
      async () => [await tenant.condition('Endpoint', 'a-winner'), await tenant.condition('Endpoint', 'b-second')],
      {
        accept: (both) =>
          both
            .map(({ reason }) => reason)
            .sort()
            .join() === 'Conflicted,Ready',
      },
    );
    const winner = conditions[0]?.reason === 'Ready' ? 'a-winner' : 'b-second';
    const other = winner === 'a-winner' ? 'b-second' : 'a-winner';
    expect(conditions.find(({ reason }) => reason === 'Conflicted')?.message).toContain(winner);
    expect((await post(gateway, path, key)).body).toBe(`"${winner.slice(2)}"`);
    await tenant.remove('Endpoint', winner);
    await tenant.untilReason('Endpoint', other, 'Ready');
    expect((await post(gateway, path, key)).body).toBe(`"${other.slice(2)}"`);
  });

  test('a deleted and recreated Project has the same URL, which serves its endpoints', async () => {
    const key = await tenant.readSecret('team-api-key');
    const old = await tenant.projectPath();
    const { uid } = (await tenant.get('Project', 'shop')).metadata;
    await tenant.remove('Project', 'shop');
    await tenant.untilReason('Endpoint', 'orders', 'ProjectNotFound');
    await untilAnswer(`${old}/orders`, key, 404);
    await tenant.apply('Project', 'shop', { displayName: 'Shop', accountRef: { name: 'team' } });
    await tenant.untilReason('Endpoint', 'orders', 'Ready');
    const path = await tenant.projectPath();
    expect([(await tenant.get('Project', 'shop')).metadata.uid === uid, path === old]).toEqual([false, true]);
    expect((await post(gateway, `${path}/orders`, key)).body).toBe('"orders"');
    const { length } = (await tenant.list('Endpoint')).filter(
      ({ metadata }) => !['own', 'older', 'newer', 'counted'].includes(metadata.name),
    );
    await eventually('the counts', () => tenant.get('Project', 'shop'), {
      accept: ({ status }) =>
        JSON.stringify(status?.['endpoints']) === JSON.stringify({ ready: length, total: length }),
    });
  });
});

describe('the shared state of operators, with only their own permissions', () => {
  let operator: KubeClient;
  beforeAll(async () => {
    const kubeconfigPath = await cluster.tokenKubeconfig(SYSTEM_NAMESPACE, OPERATOR_SERVICE_ACCOUNT);
    operator = loadKubeClient({ kubeconfigPath });
  });
  afterAll(() => operator.close());

  test("stores the known gateways and rejects an old leader's write", async () => {
    const known = (...names: string[]) => names.map((name) => ({ name, maxStalenessMs: name === 'b' ? 5_000 : 0 }));
    const stored = gatewayConfigMap(operator, SYSTEM_NAMESPACE, 'test-gateways');
    expect(await stored.read()).toEqual([]);
    await stored.write(known('a'));
    await stored.write(known('a', 'b'));
    expect(await stored.read()).toEqual(known('a', 'b'));
    // Simulates a leader that loses its lease while it writes.
    const late = gatewayConfigMap(operator, SYSTEM_NAMESPACE, 'test-gateways');
    await late.read();
    await stored.write(known('a', 'b', 'c'));
    await expect(late.write(known('a'))).rejects.toThrow();
    expect(await stored.read()).toEqual(known('a', 'b', 'c'));
    await late.write([]);
    expect(await stored.read()).toEqual([]);
  });

  test('stores the stream certificates with compare-and-swap', async () => {
    const store = certificateSecret(operator, SYSTEM_NAMESPACE, 'test-stream-tls');
    expect(await store.read()).toBeUndefined();
    const first = await planCertificates(undefined, new Date());
    expect(await Promise.all([store.write(first, undefined), store.write(first, undefined)])).toContain(false);
    const read = await store.read();
    expect(read?.certificates).toEqual(first);
    // Makes the plan for a time at which the renewal of the CA is due.
    const next = await planCertificates(first, new Date(Date.now() + 2_500 * 24 * 3_600_000));
    expect(next.nextCa).toBeDefined();
    expect(await store.write(next, read?.version)).toBe(true);
    expect(await store.write(first, read?.version)).toBe(false);
    expect((await store.read())?.certificates).toEqual(next);
  });

  test('does not overwrite a Secret with other content and says how to fix it', async () => {
    const secrets = { group: '', version: 'v1', plural: 'secrets', namespace: SYSTEM_NAMESPACE };
    const foreign = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'foreign' }, stringData: { password: 'x' } };
    await tenant.client.create(resourcePath(secrets), foreign);
    await expect(certificateSecret(operator, SYSTEM_NAMESPACE, 'foreign').read()).rejects.toThrow('delete it');
  });
});
