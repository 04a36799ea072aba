import { randomBytes } from 'node:crypto';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { EVERY_PROJECT, openLogStore, type LogStore } from '@standin/logstore';
import type { StartedTestContainer } from 'testcontainers';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { dockerOrThrow } from '../cluster/docker.ts';
import { startDockerEngine, type DockerEngine } from '../cluster/docker-engine.ts';
import { buildImages, type Images } from '../cluster/images.ts';
import { Tenant } from '../e2e/tenant.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { mountStreamCertificates } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import {
  DASHBOARD_SERVICE_ACCOUNT,
  installStandin,
  OPERATOR_SERVICE_ACCOUNT,
  SYSTEM_NAMESPACE,
} from '../harness/install-standin.ts';
import { freePorts } from '../harness/ports.ts';
import { RestrictedContainer, runToEnd, terminate, USER } from '../harness/restricted-container.ts';
import { createTempFolder } from '../harness/temp-folder.ts';

/**
 * Tests the images without a node. The processes run in containers with the privileges of the chart's pods, and use a real API
 * server. The tests build on each other, in order.
 */

const ROOT = path.join(import.meta.dirname, '../..');
const QUICKSTART = path.join(ROOT, 'crds/examples/quickstart');
const GOLDEN = path.join(ROOT, 'charts/standin/golden');
/** The maximum unpacked size of the image standin. Node itself accounts for four fifths of the image. */
const STANDIN_BYTES_MAX = 260e6;
/** The terminationGracePeriodSeconds of operator and dashboard in the chart, in milliseconds. */
const GRACE_PERIOD_MS = 30_000;
const START_TIMEOUT_MS = 60_000;
const BUILD_TIMEOUT_MS = 20 * 60_000;
/** The password of the engine's only user. */
const PASSWORD = randomBytes(16).toString('hex');
const USERNAME = 'standin';

let docker: DockerEngine;
let images: Images;
let cluster: OwnCluster;
let tenant: Tenant;
let store: LogStore | undefined;
/** The folder with the bind mounts of the containers. */
let folder: string;
const containers = new Map<string, StartedTestContainer>();

beforeAll(async () => {
  docker = await startDockerEngine(console.log);
  images = await buildImages(console.log);
  cluster = await startCluster();
  await installStandin(cluster);
  tenant = await Tenant.create(cluster, 'images');
  folder = await createTempFolder('images');
  // Containers read the folder as another user.
  await chmod(folder, 0o755);
}, BUILD_TIMEOUT_MS);
afterAll(async () => {
  await stopAll();
  await store?.close();
  await tenant.client.close();
  await cluster.stop();
  await docker.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Waits for a response with status 200. */
const untilAnswers = async (url: string): Promise<void> => {
  await eventually(`200 from ${url}`, async () => (await fetch(url)).status, {
    accept: (status) => status === 200,
    timeoutMs: START_TIMEOUT_MS,
    intervalMs: 200,
  });
};

const stopAll = async (): Promise<void> => {
  const all = [...containers.values()];
  containers.clear();
  await Promise.all(all.map((container) => container.stop({ remove: true })));
};

const start = async (name: string, container: RestrictedContainer): Promise<void> => {
  containers.set(name, await container.start());
};

/** Mounts a kubeconfig that the containers' user can read. */
const withKubeconfig = async (container: RestrictedContainer, serviceAccount: string): Promise<RestrictedContainer> => {
  const file = path.join(folder, `${serviceAccount}.kubeconfig`);
  await copyFile(await cluster.tokenKubeconfig(SYSTEM_NAMESPACE, serviceAccount), file);
  await chmod(file, 0o644);
  return container.withBindMounts([{ source: file, target: '/etc/standin/kubeconfig', mode: 'ro' }]);
};

/**
 * Returns a container that runs the engine as the chart does, with a mounted login, but on a free port, because it uses the host's
 * network.
 */
const engineContainer = async (port: string): Promise<RestrictedContainer> => {
  const login = path.join(folder, 'login');
  await mkdir(login, { recursive: true });
  for (const [name, text] of [
    ['username', USERNAME],
    ['password', PASSWORD],
  ] as const) {
    await writeFile(path.join(login, name), text);
  }
  const args = ['--host', '0.0.0.0', '--port', port, '--data', '/var/lib/standin-engine', '--login', '/etc/login'];
  return new RestrictedContainer(images.engine)
    .withCommand(args)
    .withBindMounts([{ source: login, target: '/etc/login', mode: 'ro' }]);
};

/** Returns the value of a JavaScript expression that is evaluated inside the image. */
const inspect = async (image: string, script: string): Promise<unknown> =>
  JSON.parse(
    await runToEnd(
      new RestrictedContainer(image).withEntrypoint(['node', '--eval', `console.log(JSON.stringify(${script}))`]),
    ),
  );

/** Returns the files of the image's working directory. */
const imageFiles = async (image: string): Promise<readonly string[]> =>
  (await inspect(image, `require('node:fs').readdirSync('.', { recursive: true })`)) as string[];

/** Matches the paths of files in links to workspaces, which are not third-party packages. */
const WORKSPACE_PACKAGE = /^node_modules\/(@standin\/[^/]+|standin)\//;
const PACKAGE = /(^|\/)node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/;

/** Returns the licence files of a package in this checkout, or its README if that contains the licence. */
const licenceFiles = (folder: string): readonly string[] => {
  const installed = path.join(ROOT, folder);
  const own = (readdirSync(installed, { recursive: true }) as string[]).filter(
    (file) => !file.includes('node_modules'),
  );
  const licences = own.filter(
    (file) => /(licen[cs]e|copying|notice)[^/]*$/i.test(file) && !/\.([cm]?[jt]s|map)$/.test(file),
  );
  if (licences.length > 0) return licences;
  const text = /permission is hereby granted|redistribution and use/i;
  return own.filter((file) => /^readme/i.test(file) && text.test(readFileSync(path.join(installed, file), 'utf8')));
};

const PRIVILEGES = `(() => {
  const { readFileSync, writeFileSync, existsSync } = require('node:fs');
  const attempt = (work) => { try { work(); return 'done'; } catch (error) { return error.code; } };
  const capabilities = /CapEff:\\s*(\\S+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1];
  return {
    uid: process.getuid(), gid: process.getgid(), capabilities: parseInt(capabilities, 16),
    root: attempt(() => writeFileSync('/standin/x', '')), tmp: attempt(() => writeFileSync('/tmp/x', '')),
    shell: existsSync('/bin/sh') || existsSync('/usr/bin/sh'), certificates: process.env.NODE_EXTRA_CA_CERTS,
  };
})()`;

describe.for(['standin', 'engine'] as const)('the image %s', (name) => {
  test('runs as an unprivileged user with a read-only root and no shell', async () => {
    expect(await inspect(images[name], PRIVILEGES)).toEqual({
      uid: USER,
      gid: USER,
      capabilities: 0,
      root: 'EROFS',
      tmp: 'done',
      shell: false,
    });
    // The user must be a number, because a kubelet cannot determine whether a name is root.
    const user = await dockerOrThrow(['image', 'inspect', '--format', '{{.Config.User}}', images[name]]);
    expect(user.trim()).toBe(`${USER}:${USER}`);
  });
});

test('the images contain the files that the chart starts', async () => {
  const golden = globSync('*.yaml', { cwd: GOLDEN }).map((name) => readFileSync(path.join(GOLDEN, name), 'utf8'));
  const commands = golden.flatMap((yaml) =>
    [...yaml.matchAll(/command: \[node, (?:--[^,]+, )*([^\],]+)/g)].map(([, file]) => file),
  );
  const present = [...(await imageFiles(images.standin)), ...(await imageFiles(images.engine))];
  expect(new Set(commands).size).toBeGreaterThanOrEqual(5);
  expect(present).toEqual(expect.arrayContaining([...new Set(commands)]));
});

describe('the image standin', () => {
  test('has no tests, no development packages and no ClickHouse', async () => {
    const files = await imageFiles(images.standin);
    const own = files.filter((file) => !file.includes('node_modules/'));
    expect(own.filter((file) => /\.test\.tsx?$|(^|\/)testdata\/|^test\//.test(file))).toEqual([]);
    const development = ['vite', 'vitest', 'typescript', '@remix-run/dev', 'playwright-core', 'testcontainers'];
    expect([...development, 'chdb', '@chdb'].filter((name) => files.includes(`node_modules/${name}`))).toEqual([]);
    const size = Number(await dockerOrThrow(['image', 'inspect', '--format', '{{.Size}}', images.standin]));
    expect(size).toBeLessThan(STANDIN_BYTES_MAX);
  });

  test('contains the licence of every package', async () => {
    const files = new Set(await imageFiles(images.standin));
    const packages = [...files]
      .filter((file) => PACKAGE.test(file) && !WORKSPACE_PACKAGE.test(file))
      .map((file) => path.dirname(file));
    expect(packages.length).toBeGreaterThan(300);
    const licences = packages.flatMap((folder) => licenceFiles(folder).map((file) => `${folder}/${file}`));
    expect(licences.filter((file) => file.endsWith('.md')).length).toBeGreaterThan(20);
    expect(licences.filter((file) => !files.has(file))).toEqual([]);
  });

  test('runs the CLI by default', async () => {
    const version = await runToEnd(new RestrictedContainer(images.standin).withCommand(['--version']));
    expect(images.standin).toBe(`standin:${version.trim()}`);
    const manifests = { source: QUICKSTART, target: '/manifests', mode: 'ro' } as const;
    const validate = new RestrictedContainer(images.standin).withCommand(['validate', '/manifests']);
    expect(await runToEnd(validate.withBindMounts([manifests]))).toContain('0 errors');
  });
});

test('all processes in separate containers capture a call', async () => {
  // Stops the containers of a failed first attempt.
  await stopAll();
  await store?.close();
  const ports = (await freePorts(7)).map(String);
  const [clickHousePort, streamPort, operatorPort, gatewayPort, adminPort, dashboardPort, collectorPort] = ports;
  const url = (port: string | undefined): string => `http://127.0.0.1:${port ?? ''}`;
  const spans: string[] = [];
  const collector = createServer((request, response) => {
    void readText(request).then((batch) => spans.push(batch));
    response.end('{}');
  }).listen(Number(collectorPort), '127.0.0.1');
  onTestFinished(() => void collector.close());
  const login = { username: USERNAME, password: PASSWORD, database: 'standin' };
  const clickHouse = {
    STANDIN_CLICKHOUSE_URL: url(clickHousePort),
    STANDIN_CLICKHOUSE_USERNAME: login.username,
    STANDIN_CLICKHOUSE_PASSWORD: PASSWORD,
  };
  const log = openLogStore({ ...login, url: url(clickHousePort) });
  store = log;

  const engine = await engineContainer(clickHousePort ?? '');
  const operator = await withKubeconfig(new RestrictedContainer(images.standin), OPERATOR_SERVICE_ACCOUNT);
  operator.withEntrypoint(['node', 'operator/src/main.ts']).withEnvironment({
    ...clickHouse,
    STANDIN_NAME: 'operator',
    STANDIN_KUBECONFIG: '/etc/standin/kubeconfig',
    STANDIN_STREAM_PORT: streamPort ?? '',
    STANDIN_ADMIN_PORT: operatorPort ?? '',
    STANDIN_GATEWAY_URL: url(gatewayPort),
  });
  await Promise.all([start('engine', engine), start('operator', operator)]);
  await Promise.all([untilAnswers(`${url(clickHousePort)}/ping`), untilAnswers(`${url(operatorPort)}/readyz`)]);

  const tls = path.join(folder, 'tls');
  await mkdir(tls, { recursive: true });
  await mountStreamCertificates({ cluster }, tls);
  for (const file of await readdir(tls)) await chmod(path.join(tls, file), 0o644);
  const gateway = new RestrictedContainer(images.standin)
    .withEntrypoint(['node', 'gateway/src/main.ts'])
    .withWritableFolders('/var/lib/standin-gateway')
    .withBindMounts([{ source: tls, target: '/etc/standin/stream-tls', mode: 'ro' }])
    .withEnvironment({
      ...clickHouse,
      STANDIN_NAME: 'gateway',
      STANDIN_DATA_DIR: '/var/lib/standin-gateway',
      STANDIN_PORT: gatewayPort ?? '',
      STANDIN_ADMIN_PORT: adminPort ?? '',
      STANDIN_OPERATOR_URLS: `https://127.0.0.1:${streamPort ?? ''}`,
      STANDIN_TRACING_URL: url(collectorPort),
    });
  const dashboard = await withKubeconfig(new RestrictedContainer(images.standin), DASHBOARD_SERVICE_ACCOUNT);
  dashboard.withEntrypoint(['node', 'dashboard/src/main.ts']).withEnvironment({
    ...clickHouse,
    STANDIN_KUBECONFIG: '/etc/standin/kubeconfig',
    STANDIN_SESSION_KEY: randomBytes(32).toString('base64'),
    STANDIN_PORT: dashboardPort ?? '',
    STANDIN_ADMIN_PORT: '0',
  });
  await Promise.all([start('gateway', gateway), start('dashboard', dashboard)]);
  await Promise.all([untilAnswers(`${url(adminPort)}/readyz`), untilAnswers(`${url(dashboardPort)}/healthz`)]);

  await tenant.accountAndProject();
  await tenant.mock('hello', '"hello"');
  await tenant.untilReason('Endpoint', 'hello', 'Ready');
  const key = await tenant.readSecret('team-api-key');
  const called = await fetch(`${url(gatewayPort)}${await tenant.projectPath()}/hello`, {
    method: 'POST',
    headers: { 'x-api-key': key },
    body: 'from a container',
  });
  expect([called.status, await called.text()]).toEqual([200, '"hello"']);
  await eventually('the row', () => log.summaries({ projectUid: EVERY_PROJECT, limit: 10 }), {
    accept: (rows) => rows.length === 1,
  });
  await eventually('the span', () => spans.join(), { accept: (text) => text.includes('POST /hello') });

  const page = await (await fetch(`${url(dashboardPort)}/login`)).text();
  expect(page).toContain('Kubernetes token');
  const [, script = ''] = /import\("(\/assets\/[^"]+)"\)/.exec(page) ?? [];
  expect((await fetch(`${url(dashboardPort)}${script}`)).headers.get('content-type')).toContain('javascript');
  const licences = await fetch(`${url(dashboardPort)}/third-party-licences.txt`);
  expect([licences.status, await licences.text()]).toEqual([
    200,
    expect.stringMatching(/^react \d[^\n]*\n\nMIT License/m),
  ]);
  const unauthorized = await fetch(`${url(clickHousePort)}/?query=SELECT+1&user=standin&password=guessed`);
  expect([unauthorized.status, await unauthorized.text()]).toEqual([
    403,
    expect.stringContaining('AUTHENTICATION_FAILED'),
  ]);
}, 180_000);

test('the engine stops while a statement runs', async () => {
  const [port = ''] = (await freePorts(1)).map(String);
  const container = await (await engineContainer(port)).start();
  const headers = { 'x-clickhouse-user': USERNAME, 'x-clickhouse-key': PASSWORD };
  const statement = 'SELECT count() FROM numbers(1e15) WHERE NOT ignore(sipHash64(number)) SETTINGS max_threads = 1';
  await untilAnswers(`http://127.0.0.1:${port}/ping`);
  const answer = fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body: statement }).catch(
    () => 'cut off',
  );
  await eventually(
    'the statement',
    async () =>
      (await fetch(`http://127.0.0.1:${port}/?query=SELECT+count()+FROM+system.processes`, { headers })).text(),
    { accept: (text) => text.trim() === '2' },
  );
  const started = performance.now();
  // The statement does not end, so after a while the engine kills itself, before a kubelet would.
  expect(await terminate(container, GRACE_PERIOD_MS)).toBe(137);
  expect(performance.now() - started).toBeLessThan(GRACE_PERIOD_MS - 5_000);
  expect(await answer).toBe('cut off');
});

// No rows are lost in this order, because gateways deliver before they end.
test.for(['gateway', 'dashboard', 'operator', 'engine'])('%s stops within its grace period', async (name) => {
  const container = containers.get(name);
  if (container === undefined) throw new Error(`${name} was not started`);
  containers.delete(name);
  expect(await terminate(container, GRACE_PERIOD_MS)).toBe(0);
});
