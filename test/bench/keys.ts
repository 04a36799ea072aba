import { Tenant, type SeenObject } from '../e2e/tenant.ts';
import { startCluster } from '../harness/cluster.ts';
import { deploy } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin } from '../harness/install-standin.ts';
import { percentile, printMeasurements } from './machine.ts';
import { TARGETS } from './targets.ts';

const GATEWAYS = 10;
/** The number of accounts. One account is not enough, because its key may be regenerated only six times per hour. */
const ACCOUNTS = 20;
const PER_ACCOUNT = 5;
const { completedMsMax } = TARGETS.keys;
/** The poll interval, which limits the accuracy of the measurements. */
const POLL_MS = 5;
/** Settings with an unreachable ClickHouse, because this benchmark does not read captured requests. */
const NO_CLICKHOUSE = { env: { STANDIN_CLICKHOUSE_URL: 'http://127.0.0.1:1' } };

/** Returns the regeneration that is in progress according to an Account's status. */
const regeneratingIn = (status: SeenObject['status']): unknown =>
  (status?.['apiKey'] as { readonly regenerating?: unknown } | undefined)?.regenerating;

/**
 * Measures the time from the API server's acknowledgement of a KeyRegeneration until a poll finds it Completed. During this time, the
 * operator counts the regeneration and writes the Secret, and ten gateways replace the digests in memory and on disk, and
 * acknowledge.
 */
export const benchKeys = async (): Promise<boolean> => {
  await using cleanups = new AsyncDisposableStack();
  const cluster = await startCluster();
  cleanups.defer(() => cluster.stop());
  await installStandin(cluster);
  const gatewayEnv = { STANDIN_LOG_LEVEL: 'warn' };
  const deployment = await deploy({ cluster, clickHouse: NO_CLICKHOUSE, gateways: GATEWAYS, gatewayEnv });
  cleanups.defer(() => deployment.stop());
  const tenant = await Tenant.create(cluster, 'bench');
  cleanups.defer(() => tenant.client.close());
  const accounts = Array.from({ length: ACCOUNTS }, (_, index) => `account-${index}`);
  for (const account of accounts) await tenant.apply('Account', account, { plan: 'Free' });
  for (const account of accounts) await tenant.untilReason('Account', account, 'Ready', 60_000);

  const took: number[] = [];
  for (let round = 0; round < PER_ACCOUNT; round += 1) {
    for (const account of accounts) {
      const name = `${account}-${round}`;
      await tenant.apply('KeyRegeneration', name, { accountRef: { name: account } });
      const since = performance.now();
      await eventually(`${name} to complete`, () => tenant.get('KeyRegeneration', name), {
        accept: ({ status }) => status?.['phase'] === 'Completed',
        intervalMs: POLL_MS,
      });
      took.push(performance.now() - since);
      // Waits for the operator's cleanup, so that it does not affect the next measurement.
      await eventually(`${name} to be released`, () => tenant.get('Account', account), {
        accept: ({ status }) => regeneratingIn(status) === undefined,
        intervalMs: POLL_MS,
      });
    }
  }
  const [p50, max] = [percentile(took, 0.5), percentile(took, 1)];
  console.log(`${took.length} regenerations, ${GATEWAYS} gateways, one operator, one API server\n`);
  const measurements = [
    { what: 'regeneration → Completed, p50', measured: `${p50.toFixed(1)} ms`, target: '', met: true },
    {
      what: 'regeneration → Completed, slowest',
      measured: `${max.toFixed(1)} ms`,
      target: `≤ ${completedMsMax} ms`,
      met: max <= completedMsMax,
    },
  ];
  printMeasurements(measurements);
  return measurements.every(({ met }) => met);
};
