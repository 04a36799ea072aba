import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { SCHEMA_FIELDS_ANNOTATION } from '@standin/crds';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { CHARTS, helm } from '../harness/helm.ts';
import { SYSTEM_NAMESPACE } from '../harness/install-standin.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { post, Tenant } from './tenant.ts';

/**
 * Tests a rollback of the chart's release to a version before `spec.responses`. The release is real. There is no node, so operator
 * and gateways are processes of the version whose image the release names.
 */

const PRELOAD = pathToFileURL(path.join(import.meta.dirname, '../harness/earlier-version.ts')).href;
const CHART = path.join(CHARTS, 'standin');
const CRD_FILE = 'charts/standin-crds/files/standin.dev_mockendpoints.yaml';
const EARLIER_TAG = '0.0.9';
const VALUES = ['--set', 'clickhouse.url=http://clickhouse:8123,clickhouse.existingSecret=clickhouse-login'];

let cluster: OwnCluster;
let clickHouse: TestClickHouse;
let deployment: Deployment;
let tenant: Tenant;
let key: string;
let folder: string;
let earlierChart: string;
/** While this file exists, processes start in the earlier version. */
let earlierFile: string;

const release = (...args: readonly string[]) =>
  helm([...args, '-n', SYSTEM_NAMESPACE, '--kubeconfig', cluster.kubeconfigPath]);
const released = async (...args: readonly string[]): Promise<void> => {
  const { code, stderr } = await release(...args);
  expect(code, stderr).toBe(0);
};

interface Schema {
  readonly metadata: { readonly annotations: Record<string, string> };
  readonly spec: { readonly versions: readonly { readonly schema: { openAPIV3Schema: Properties } }[] };
}
interface Properties {
  readonly properties: Readonly<Record<string, { readonly properties: Record<string, unknown> }>>;
}

/** Returns a copy of the chart whose images have an earlier tag, and whose CRD for Endpoints has no `spec.responses`. */
const writeEarlierChart = async (): Promise<string> => {
  const chart = path.join(folder, 'chart');
  await cp(CHART, chart, { recursive: true });
  const file = path.join(chart, 'Chart.yaml');
  await writeFile(file, (await readFile(file, 'utf8')).replace('appVersion: 0.1.0', `appVersion: ${EARLIER_TAG}`));
  const crd = parse(await readFile(path.join(chart, CRD_FILE), 'utf8')) as Schema;
  const { properties } = crd.spec.versions[0]?.schema.openAPIV3Schema.properties['spec'] ?? { properties: {} };
  expect(Object.keys(properties)).toContain('responses');
  delete properties['responses'];
  crd.metadata.annotations[SCHEMA_FIELDS_ANNOTATION] = '50';
  await writeFile(path.join(chart, CRD_FILE), stringify(crd, { version: '1.1' }));
  return chart;
};

/** Restarts the processes in the version of the release, as its controllers would. */
const roll = async (version: 'earlier' | 'later'): Promise<void> => {
  const images = ['get', 'deployment/standin-operator', 'statefulset/standin-gateway', '-n', SYSTEM_NAMESPACE];
  const { stdout } = await cluster.kubectl([...images, '-o', 'jsonpath={..image}']);
  const tags = new Set(stdout.split(' ').map((image) => (image.endsWith(`:${EARLIER_TAG}`) ? 'earlier' : 'later')));
  expect([...tags], stdout).toEqual([version]);
  await (version === 'earlier' ? writeFile(earlierFile, '') : rm(earlierFile, { force: true }));
  for (const { process, adminUrl } of [...deployment.gateways, ...deployment.operators]) {
    // An operator that ends with SIGTERM gives up its Lease.
    await process.kill();
    await process.restart();
    await process.waitForUrl(`${adminUrl}/readyz`, 40_000);
  }
};

/** Returns the responses to a request with the plan `gold`: the name in the body, or the code of the rejection. */
const answers = async (slug: string): Promise<unknown[]> => {
  const target = `${await tenant.projectPath()}${slug}`;
  const all = deployment.gateways.map(async (gateway) => {
    const { status, body } = await post(gateway, target, key, { headers: { 'x-plan': 'gold' } });
    const { name, code } = JSON.parse(body) as { name?: string; code?: string };
    return status === 200 ? name : `${status} ${code ?? ''}`;
  });
  return Promise.all(all);
};
const untilAnswers = (slug: string, expected: unknown): Promise<unknown> =>
  eventually(`the answers to ${slug}`, () => answers(slug), {
    accept: (seen) => seen.every((answer) => answer === expected),
    timeoutMs: 30_000,
  });

/** Calls the gateways until it is stopped, and adds the responses to `seen`. Ignores connections that a restarting gateway refuses. */
const watch = (slug: string, seen: Set<unknown>) => {
  let isStopped = false;
  const run = async (): Promise<void> => {
    while (!isStopped) {
      const all = await answers(slug).catch(() => []);
      for (const answer of all) seen.add(answer);
    }
  };
  const running = run();
  return {
    stop: (): Promise<void> => {
      isStopped = true;
      return running;
    },
  };
};

/** The tests build on each other. */
const NO_RETRY = { retry: 0 };

const GOLD = { name: 'gold', when: { headers: [{ name: 'x-plan', value: 'gold' }] }, body: '{"name": "gold"}' };

beforeAll(async () => {
  [cluster, clickHouse, folder] = await Promise.all([startCluster(), startClickHouse(), createTempFolder('rollback')]);
  earlierFile = path.join(folder, 'earlier');
  await writeFile(earlierFile, '');
  earlierChart = await writeEarlierChart();
  await released('install', 'standin', earlierChart, '--create-namespace', ...VALUES);
  const env = { NODE_OPTIONS: `--import=${PRELOAD}`, TEST_EARLIER_FILE: earlierFile };
  deployment = await deploy({
    cluster,
    clickHouse,
    gateways: 2,
    gatewayEnv: env,
    // The responses are watched for several seconds. A quota would end them.
    operatorEnv: { ...env, STANDIN_QUOTA_FREE: '0' },
  });
  tenant = await Tenant.create(cluster, 'rollback');
  await tenant.accountAndProject();
  await tenant.mock('plans', '{"name": "action"}');
  await tenant.apply('Endpoint', 'any', {
    projectRef: { name: 'shop' },
    displayName: 'Any',
    slug: '/{any}',
    method: 'POST',
    action: 'JSON',
    json: { body: '{"name": "any"}' },
  });
  for (const name of ['plans', 'any']) await tenant.untilReason('Endpoint', name, 'Ready');
  key = await tenant.readSecret('team-api-key');
});
afterAll(async () => {
  await deployment.stop();
  await tenant.client.close();
  await clickHouse.stop();
  await cluster.stop();
  await rm(folder, { recursive: true, force: true });
});

test('helm upgrade brings a field that the earlier version does not have', NO_RETRY, async () => {
  expect(await answers('/plans')).toEqual(['action', 'action']);
  await released('upgrade', 'standin', CHART, ...VALUES);
  await roll('later');
  await tenant.apply('Endpoint', 'plans', { responses: [GOLD] });
  await untilAnswers('/plans', 'gold');
});

test(
  'helm rollback keeps the later CRDs, so that the earlier version withholds the object and says so',
  NO_RETRY,
  async () => {
    const { code, stderr } = await release('rollback', 'standin', '1');
    expect([code, stderr]).toEqual([1, expect.stringContaining('keep the CRDs: helm upgrade with the earlier chart')]);
    const seen = new Set<unknown>();
    const watching = watch('/plans', seen);
    await roll('earlier');
    const { message } = await eventually('Accepted=False', () => tenant.condition('Endpoint', 'plans', 'Accepted'), {
      accept: ({ status }) => status === 'False',
      timeoutMs: 30_000,
    });
    expect(message).toContain('unknown field "spec.responses"');
    expect(message).toContain('If it is written for a newer version of Standin, upgrade the operator.');
    await untilAnswers('/plans', '503 endpoint_not_accepted');
    await untilAnswers('/other', 'any');
    await watching.stop();
    // The later operator withholds the Endpoint from an earlier gateway, and the earlier operator does not accept it.
    const expected: readonly unknown[] = ['gold', '503 not_ready', '503 endpoint_not_accepted'];
    expect([...seen].filter((answer) => !expected.includes(answer))).toEqual([]);
  },
);

test('the remedy in the error keeps the CRDs and the object', NO_RETRY, async () => {
  await released('upgrade', 'standin', earlierChart, ...VALUES, '--set', 'crds.enabled=false');
  expect(await tenant.get('Endpoint', 'plans')).toMatchObject({ spec: { responses: [GOLD] } });
});

test('an upgrade makes the object Ready again', NO_RETRY, async () => {
  await released('upgrade', 'standin', CHART, ...VALUES, '--set', 'crds.enabled=true');
  await roll('later');
  await tenant.untilReason('Endpoint', 'plans', 'Ready', 30_000);
  await untilAnswers('/plans', 'gold');
});
