import { readFile } from 'node:fs/promises';
import type { Browser } from 'playwright-core';
import { request } from 'undici';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { FOLDER, NODE_ADDRESS } from '../cluster/node/layout.ts';
import { listProcesses } from '../cluster/node/own-processes.ts';
import { runCommand } from '../cluster/run-command.ts';
import { ask, listedRequests } from '../e2e/api-stand.ts';
import { createPerson, signIn } from '../e2e/cluster-dashboard.ts';
import { watched } from '../e2e/dashboard-stand.ts';
import { startBrowser } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { NodeStand } from './stand.ts';
import { helloWithoutCertificate, ownService, TENANT, tenantObjects } from './tenant-services.ts';

/**
 * Tests the chart on a real node, as a new user sees it, with Services, volumes, and pods that run images of this checkout. There
 * is one installation. The tests build on each other, in order, and each one leaves everything running.
 */

let stand: NodeStand;
let browser: Browser;
/** `/PROJECT-URI` */
let project: string;
let key: string;
let gatewayUrl: string;

/** Installing the chart takes a while, and the steps build on each other. */
const NO_RETRY = { timeout: 240_000, retry: 0 };

beforeAll(async () => {
  [stand, browser] = await Promise.all([NodeStand.start(), startBrowser()]);
  // The timeout includes the time to build the images.
}, 600_000);
afterAll(async () => {
  await browser.close();
  await stand.stop();
});
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') console.error(await stand.describe().catch(String));
});

test(
  'helm install with embedded ClickHouse gives a working quickstart, whose request appears in the CLI, the API and the dashboard',
  NO_RETRY,
  async () => {
    const notes = await stand.helm('install', '--create-namespace', '--set', 'clickhouse.embedded.enabled=true');
    expect(notes).toContain('kubectl apply -f crds/examples/quickstart');
    await stand.kubectl('apply', '-f', 'crds/examples/quickstart');
    await stand.kubectl('wait', '--for=condition=Ready', 'mep', '--all', '--timeout=60s');
    key = Buffer.from(
      await stand.kubectl('get', 'secret', 'default-api-key', '-o', 'jsonpath={.data.api-key}'),
      'base64',
    ).toString();
    project = new URL(await stand.kubectl('get', 'mpr', 'shop', '-o', 'jsonpath={.status.url}')).pathname;
    gatewayUrl = await stand.serviceUrl('standin-gateway');

    const answer = await request(`${gatewayUrl}${project}/v1/orders`, { headers: { 'x-api-key': key } });
    expect([answer.statusCode, await answer.body.json()]).toEqual([
      200,
      { orders: [{ id: 1001, status: 'accepted' }], next: null },
    ]);

    const server = await stand.forward('standin-dashboard', 80);
    const logs = (url: string, ...args: string[]): Promise<string> =>
      stand.kubectlStandin('logs', '--server', url, '-n', 'default', '-p', 'shop', ...args);
    await eventually('the row', () => logs(server, '--trust-server'), {
      accept: (text) => text.includes('/v1/orders'),
    });
    // The CLI recognizes the server by its Service, even though the local port differs.
    expect(await logs(await stand.forward('standin-dashboard', 80))).toContain('/v1/orders');
    // Without --server, the plugin itself forwards a port to a pod, through the API server and the kubelet.
    const kubeconfig = ['--kubeconfig', stand.cluster.kubeconfigPath];
    expect(await stand.kubectlStandin('logs', ...kubeconfig, '-n', 'default', '-p', 'shop')).toContain('/v1/orders');
    expect(await stand.kubectlStandin('check')).not.toMatch(/^(Failed|Unknown)/m);

    const person = await createPerson(stand.cluster, 'default', { name: 'me', role: 'standin-edit' });
    const headers = { authorization: `Bearer ${person.token}` };
    const listed = await ask(`${server}/api/v1/namespaces/default/projects/shop/requests`, { headers });
    expect(listedRequests(listed).map(({ endpoint }) => endpoint)).toEqual(['list-orders']);

    const { page, close } = await watched(browser);
    await signIn(page, `${server}/p/default/shop/traffic`, person);
    await expect.poll(() => page.locator('[data-traffic-row]').allInnerTexts()).toHaveLength(1);
    await close();
  },
);

test('a tenant can forward to its own pods, but not to ClickHouse or the operator’s stream', NO_RETRY, async () => {
  const podAddress = (component: string): Promise<string> =>
    stand.system(
      'get',
      'pods',
      '-l',
      `app.kubernetes.io/component=${component}`,
      '-o',
      'jsonpath={.items[0].status.podIP}',
    );
  const tenant = (...args: readonly string[]): Promise<string> => stand.kubectl('-n', TENANT, ...args);
  const apply = (items: readonly object[]): Promise<void> =>
    stand.cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  const operator = await podAddress('operator');
  await apply(tenantObjects({ clickhouse: await podAddress('clickhouse'), operator }));

  const reasons = async (): Promise<Readonly<Record<string, string>>> => {
    const format = '{range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Ready")].reason}{"\\n"}{end}';
    const lines = (await tenant('get', 'mep', '-o', `jsonpath=${format}`)).split('\n');
    return Object.fromEntries(lines.map((line) => line.split(' ') as [string, string]));
  };
  const refused = { alias: 'ServiceNotAllowed', api: 'ServiceNotAllowed', 'by-hand': 'ServiceNotAllowed' };
  const expected = { ...refused, metrics: 'ServiceNotAllowed', mixed: 'Ready', stream: 'Ready' };
  await expect.poll(reasons, { timeout: 30_000 }).toEqual({ ...expected, own: 'BackendNotFound' });

  const apiKey = Buffer.from(
    await tenant('get', 'secret', 'default-api-key', '-o', 'jsonpath={.data.api-key}'),
    'base64',
  );
  const uri = await tenant('get', 'mpr', 'shop', '-o', 'jsonpath={.status.uri}');
  const call = async (slug: string): Promise<readonly [number, string]> => {
    const headers = { 'x-api-key': apiKey.toString() };
    const answer = await request(`${gatewayUrl}/${uri}/${slug}`, { method: 'POST', headers, body: 'SELECT 1' });
    return [answer.statusCode, await answer.body.text()];
  };
  for (const slug of ['alias', 'metrics', 'api', 'by-hand']) {
    const [status, body] = await call(slug);
    expect([slug, status, (JSON.parse(body) as { code: string }).code]).toEqual([slug, 502, 'upstream_blocked']);
  }
  expect((await call('own'))[0]).toBe(502);

  // The gateway cannot see which addresses are behind a Service's address. Here, the password and the certificates protect
  // ClickHouse and the operator. The node sets up the rules for a Service's address shortly after the Service is created.
  await expect
    .poll(() => call('mixed'), { timeout: 30_000 })
    .toEqual([403, expect.stringContaining('AUTHENTICATION_FAILED')]);
  expect((await call('stream'))[0]).toBe(502);
  expect(await helloWithoutCertificate(operator, 9443)).toBe('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED');

  await apply(ownService(await stand.image()));
  await tenant('wait', '--for=condition=Ready', 'pod/own', '--timeout=60s');
  const address = await tenant('get', 'service', 'own', '-o', 'jsonpath={.spec.clusterIP}');
  const direct = async (): Promise<string> => (await request(`http://${address}/`)).body.text();
  await expect.poll(direct, { timeout: 30_000 }).toBe('pod');
  await expect.poll(() => call('own'), { timeout: 30_000 }).toEqual([200, 'pod']);
  await expect.poll(reasons, { timeout: 10_000 }).toEqual({ ...expected, own: 'Ready' });
});

test('helm uninstall leaves only what docs/guides/install.md lists', NO_RETRY, async () => {
  await stand.helm('uninstall', '--wait');
  await expect
    .poll(() => stand.leftovers(), { timeout: 60_000 })
    .toEqual([
      'configmap/standin-claims-…',
      'configmap/standin-gateways',
      'configmap/standin-quota-…',
      'lease.coordination.k8s.io/standin-operator',
      'persistentvolumeclaim/data-standin-clickhouse-0',
      'persistentvolumeclaim/data-standin-gateway-0',
      'persistentvolumeclaim/data-standin-gateway-1',
      'secret/standin-installation',
      'secret/standin-stream-tls',
    ]);
  const roles = await stand.kubectl('get', 'clusterrole,clusterrolebinding', '-o', 'name');
  expect(roles.split('\n').filter((name) => name.includes('standin'))).toEqual([]);
  expect(await stand.kubectl('get', 'mep', '-o', 'name')).toContain('create-order');
});

test('a stopped node leaves nothing on the machine', NO_RETRY, async () => {
  await stand.stop();
  const [addresses, chains, mounts, processes] = await Promise.all([
    runCommand('ip', ['address']),
    runCommand('iptables-save', []),
    readFile('/proc/self/mountinfo', 'utf8'),
    listProcesses(),
  ]);
  expect(addresses.stdout).not.toContain(NODE_ADDRESS);
  expect(chains.stdout).not.toMatch(/KUBE|CNI/);
  expect(mounts).not.toContain(FOLDER);
  expect(processes.filter(({ args }) => args.some((arg) => arg.includes(FOLDER)))).toEqual([]);
});
