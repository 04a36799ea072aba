import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findKubectl } from '../cluster/kubectl.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type DeployedGateway, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin } from '../harness/install-standin.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { post, Tenant, type SeenCondition } from './tenant.ts';

/**
 * Tests the secrets of signed requests with a real API server and three gateways. Users repair each problem with the command in its
 * message. The tests build on each other, in order.
 */

const [FIRST, SECOND, THIRD] = [
  'first secret of the webhook',
  'second secret of the webhook',
  'third secret of the hook',
];
const SECRETS = [FIRST, SECOND, THIRD];
const BODY = 'Hello, World!';
const NAMESPACE = 'hooks';
const ACCEPTED = '{"received":true}';

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let deployment: Deployment;
let tenant: Tenant;
let folder: string;
let hook: string;

beforeAll(async () => {
  [cluster, clickHouse] = await Promise.all([startCluster(), startClickHouse()]);
  await installStandin(cluster);
  folder = await createTempFolder('signatures');
  deployment = await deploy({
    cluster,
    clickHouse,
    operators: 1,
    gateways: 3,
    operatorEnv: { STANDIN_SECRET_POLL_MS: '500' },
    gatewayEnv: (index) => Promise.resolve({ STANDIN_DATA_DIR: path.join(folder, `gateway-${index}`) }),
  });
  tenant = await Tenant.create(cluster, NAMESPACE);
  await tenant.accountAndProject();
  hook = `${await tenant.projectPath()}/hook`;
});
afterAll(async () => {
  await deployment.stop();
  await tenant.client.close();
  await Promise.all([cluster.stop(), clickHouse.stop()]);
  await rm(folder, { recursive: true, force: true });
});

const applyHook = (...keys: string[]) =>
  tenant.apply('Endpoint', 'hook', {
    projectRef: { name: 'shop' },
    displayName: 'Hook',
    slug: '/hook',
    method: 'POST',
    action: 'JSON',
    json: { body: ACCEPTED },
    credential: {
      type: 'Signature',
      signature: { scheme: 'GitHub', secretRefs: keys.map((key) => ({ name: 'github', key })) },
    },
  });

/** Sends a signed request without a key. Returns the body of the mock, or the code of the rejection. */
const send = async (gateway: DeployedGateway, secret: string): Promise<string> => {
  const signature = createHmac('sha256', secret).update(BODY).digest('hex');
  const headers = { 'x-hub-signature-256': `sha256=${signature}` };
  const response = await request(`${gateway.url}${hook}`, { method: 'POST', headers, body: BODY });
  const text = await response.body.text();
  const rejected = response.headers['standin-rejected'];
  return typeof rejected === 'string' ? rejected : text;
};
const sendAll = (secret: string): Promise<string[]> =>
  Promise.all(deployment.gateways.map((gateway) => send(gateway, secret)));
const all = (answer: string): string[] => [answer, answer, answer];
const untilAll = (secret: string, answer: string) =>
  eventually(`${answer} from all gateways`, () => sendAll(secret), {
    accept: (answers) => answers.every((one) => one === answer),
  });
/** Sends a request with the Account's key to all gateways. Returns the statuses. */
const withKey = async (): Promise<number[]> => {
  const key = await tenant.readSecret('team-api-key');
  return Promise.all(deployment.gateways.map(async (gateway) => (await post(gateway, hook, key)).status));
};

/** Runs the command in parentheses at the end of a message, as a user would in a shell. */
const repair = async ({ message }: SeenCondition, secret: string): Promise<void> => {
  const command = /\((kubectl .*)\)/.exec(message)?.[1] ?? '';
  expect(command).toContain(NAMESPACE);
  const file = path.join(folder, 'secret.txt');
  await writeFile(file, secret);
  const text = command.replace('=FILE', `=${file}`).replace('"SECRET"', JSON.stringify(secret));
  const script = `kubectl() { command "${await findKubectl(() => undefined)}" "$@"; }; ${text}`;
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfigPath };
  await promisify(execFile)('bash', ['-ec', script], { env });
  await rm(file);
};
const shownVersions = async (): Promise<unknown> => (await tenant.get('Endpoint', 'hook')).status?.['signingSecrets'];
const untilReady = () => tenant.untilReason('Endpoint', 'hook', 'Ready');

test('an account that does not allow signatures, a missing Secret and a missing value are repaired by their messages', async () => {
  await applyHook('current');
  const denied = await tenant.untilReason('Endpoint', 'hook', 'NotPermitted');
  expect((await tenant.condition('Endpoint', 'hook', 'Accepted')).status).toBe('False');
  expect(await sendAll(FIRST)).toEqual(all('api_key_missing'));
  await repair(denied, '');

  await repair(await tenant.untilReason('Endpoint', 'hook', 'SecretNotFound'), FIRST);
  await untilReady();
  expect(await sendAll(FIRST)).toEqual(all(ACCEPTED));
  expect(await sendAll(SECOND)).toEqual(all('signature_invalid'));
  expect(await shownVersions()).toMatchObject([{ name: 'github', key: 'current' }]);

  await applyHook('current', 'next');
  const missing = await tenant.untilReason('Endpoint', 'hook', 'SecretInvalid');
  expect(await sendAll(FIRST)).toEqual(all(ACCEPTED));
  await repair(missing, SECOND);
  await untilReady();
  expect([await sendAll(FIRST), await sendAll(SECOND)]).toEqual([all(ACCEPTED), all(ACCEPTED)]);
});

test('a removed secret is reported as removed when no gateway accepts it, not even a frozen one', async () => {
  const before = await shownVersions();
  const [, frozen] = deployment.gateways;
  frozen?.process.signal('SIGSTOP');
  try {
    await applyHook('next');
    const waiting = await eventually('the frozen gateway', () => tenant.condition('Endpoint', 'hook', 'Programmed'), {
      accept: ({ message }) => message.includes('gateway-1'),
    });
    expect(waiting.status).toBe('False');
    expect(await shownVersions()).toEqual(before);
  } finally {
    frozen?.process.signal('SIGCONT');
  }
  await untilReady();
  expect([await sendAll(FIRST), await sendAll(SECOND)]).toEqual([all('signature_invalid'), all(ACCEPTED)]);
  expect(await shownVersions()).toMatchObject([{ name: 'github', key: 'next' }]);
});

test('a gateway that starts without an operator has no secrets', async () => {
  const [operator] = deployment.operators;
  const [gateway] = deployment.gateways as [DeployedGateway];
  const key = await tenant.readSecret('team-api-key');
  await operator?.process.kill('SIGTERM');
  await gateway.process.restart();
  await gateway.process.waitForUrl(`${gateway.adminUrl}/readyz`);
  expect(await send(gateway, SECOND)).toBe('not_ready');
  expect((await post(gateway, hook, key)).status).not.toBe(401);
  await operator?.process.restart();
  await eventually('the secrets from the operator', () => sendAll(SECOND), {
    accept: (answers) => answers.every((one) => one === ACCEPTED),
    timeoutMs: 20_000,
  });
});

test('a Secret that changes, loses its label or is deleted is followed', async () => {
  const patch = (data: object) =>
    cluster.kubectl(['patch', 'secret', 'github', '-n', NAMESPACE, '-p', JSON.stringify(data)]);
  await patch({ stringData: { next: THIRD } });
  await untilAll(THIRD, ACCEPTED);
  expect(await sendAll(SECOND)).toEqual(all('signature_invalid'));
  await untilReady();

  await cluster.kubectl(['label', 'secret', 'github', '-n', NAMESPACE, 'standin.dev/signing-secret-']);
  const unlabelled = await tenant.untilReason('Endpoint', 'hook', 'SecretInvalid');
  await untilAll(THIRD, 'signature_invalid');
  expect(await withKey()).toEqual([200, 200, 200]);
  await repair(unlabelled, '');
  await untilReady();
  expect(await sendAll(THIRD)).toEqual(all(ACCEPTED));

  await patch({ stringData: { next: `${THIRD}\n` } });
  expect((await tenant.untilReason('Endpoint', 'hook', 'SecretInvalid')).message).toContain('ends with a line break');
  await tenant.removeSecret('github');
  await repair(await tenant.untilReason('Endpoint', 'hook', 'SecretNotFound'), THIRD);
  await untilReady();
  expect(await sendAll(THIRD)).toEqual(all(ACCEPTED));
});

test('no secret is on the disk of a gateway, in output, metrics, statuses or Events', async () => {
  const values = SECRETS.flatMap((value) => [value, Buffer.from(value).toString('base64')]);
  const found = (where: string, content: { includes(value: string): boolean }): string[] =>
    values.filter((value) => content.includes(value)).map((value) => `${where}: ${value}`);
  for (const { process: running } of deployment.gateways) {
    const copy = path.join(folder, running.name, 'config.ndjson');
    // The id of the secret, which shows that the copy has the Endpoint's credential.
    await eventually('the copy on disk', () => readFile(copy, 'utf8'), {
      accept: (text) => text.includes(`${NAMESPACE}/github/next@`),
    });
  }
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((file) => file.isFile());
  for (const { parentPath, name } of files) {
    expect(found(name, await readFile(path.join(parentPath, name)))).toEqual([]);
  }
  for (const { process: running, adminUrl } of [...deployment.operators, ...deployment.gateways]) {
    expect(running.logTail(5_000).length).toBeGreaterThan(1);
    expect(found(running.name, running.logTail(5_000).join('\n'))).toEqual([]);
    const metrics = await request(`${adminUrl}/metrics`);
    expect(found(adminUrl, await metrics.body.text())).toEqual([]);
  }
  for (const resources of ['mockaccounts,mockprojects,mockendpoints', 'configmaps,events']) {
    const { stdout, stderr } = await cluster.kubectl(['get', resources, '--all-namespaces', '--output=yaml']);
    expect({ stdout, stderr }).toEqual({ stdout: expect.stringContaining('hook') as string, stderr: '' });
    expect(found(resources, stdout)).toEqual([]);
  }
});

test('an account that withdraws the permission ends signed requests', async () => {
  await tenant.apply('Account', 'team', { signatures: 'Denied' });
  await tenant.untilReason('Endpoint', 'hook', 'NotPermitted');
  await untilAll(THIRD, 'api_key_missing');
  await eventually('the removal from the status', shownVersions, { accept: (shown) => shown === undefined });
});
