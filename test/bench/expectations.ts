import { setTimeout as delay } from 'node:timers/promises';
import { LIMITS } from '@standin/contract';
import { post, readMetric, Tenant } from '../e2e/tenant.ts';
import { startClickHouse } from '../harness/clickhouse.ts';
import { startCluster } from '../harness/cluster.ts';
import { deploy } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin } from '../harness/install-standin.ts';
import { printMeasurements } from './machine.ts';
import { TARGETS } from './targets.ts';

const PROJECTS = 10;
const OPEN = LIMITS.expectationsOpenPerNamespaceMax;
const SECONDS = 60;
const REQUESTS_PER_SECOND = 20;
const { cpuPercentMax } = TARGETS.expectations;

/**
 * Measures the CPU time of the operator with many open Expectations that never match, in one namespace: without requests, and while each
 * of their projects gets requests. The same operator without Expectations is subtracted.
 */
export const benchExpectations = async (): Promise<boolean> => {
  await using cleanups = new AsyncDisposableStack();
  const [cluster, clickHouse] = await Promise.all([startCluster(), startClickHouse()]);
  cleanups.defer(() => clickHouse.stop());
  cleanups.defer(() => cluster.stop());
  await installStandin(cluster);
  const env = clickHouse.env;
  const deployment = await deploy({ cluster, clickHouse, gateways: 1, operatorEnv: env });
  cleanups.defer(() => deployment.stop());
  const [operator, gateway] = [deployment.operators[0], deployment.gateways[0]];
  if (operator === undefined || gateway === undefined) throw new Error('no operator or no gateway is deployed');
  const tenant = await Tenant.create(cluster, 'bench');
  cleanups.defer(() => tenant.client.close());
  await tenant.apply('Account', 'team', { plan: 'Free' });
  const projects = Array.from({ length: PROJECTS }, (_, index) => `shop-${index}`);
  for (const name of projects) {
    await tenant.apply('Project', name, { displayName: name, accountRef: { name: 'team' } });
    const mock = { slug: '/orders', method: 'POST', action: 'JSON', json: { body: '1' } };
    await tenant.apply('Endpoint', name, { projectRef: { name }, displayName: name, ...mock });
    await tenant.untilReason('Endpoint', name, 'Ready', 60_000);
  }
  const key = await tenant.readSecret('team-api-key');
  const paths = await Promise.all(projects.map((name) => tenant.projectPath(name)));

  /** Returns the share of a core that the operator uses. */
  const measure = async (isBusy: boolean): Promise<number> => {
    const readCpu = async (): Promise<number> =>
      [...(await readMetric(operator.adminUrl, 'process_cpu_seconds_total')).values()][0] ?? 0;
    await delay(5_000);
    const before = await readCpu();
    const untilMs = performance.now() + SECONDS * 1_000;
    for (let sent = 0; performance.now() < untilMs; sent += 1) {
      if (isBusy) await post(gateway, `${paths[sent % PROJECTS] ?? ''}/orders`, key, { body: '{"id": "pr-1"}' });
      await delay(1_000 / REQUESTS_PER_SECOND);
    }
    return ((await readCpu()) - before) / SECONDS;
  };

  const [quiet, busy] = [await measure(false), await measure(true)];
  for (let index = 0; index < OPEN; index += 1)
    await tenant.apply('Expectation', `number-${index}`, {
      projectRef: { name: projects[index % PROJECTS] },
      filter: { search: `method:POST path:/orders body:"never-${index}"` },
      count: { max: 0 },
      deadline: '12h',
    });
  await eventually('all Expectations to be open', () => readMetric(operator.adminUrl, 'standin_expectations_open'), {
    accept: (series) => series.get('') === OPEN,
    timeoutMs: 60_000,
  });
  const shares = [
    { what: 'without requests', share: (await measure(false)) - quiet },
    { what: `with ${REQUESTS_PER_SECOND} requests/s`, share: (await measure(true)) - busy },
  ];
  console.log(`${OPEN} open Expectations of ${PROJECTS} projects in one namespace, ${SECONDS} s each\n`);
  const measurements = shares.map(({ what, share }) => ({
    what: `CPU of the operator, ${what}`,
    measured: `${(share * 100).toFixed(1)} % of a core`,
    target: `≤ ${cpuPercentMax} %`,
    met: share * 100 <= cpuPercentMax,
  }));
  printMeasurements(measurements);
  return measurements.every(({ met }) => met);
};
