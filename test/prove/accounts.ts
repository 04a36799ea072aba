import { setTimeout as delay } from 'node:timers/promises';
import { post } from '../e2e/tenant.ts';
import type { DeployedGateway } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { acceptedAfter, startKeyLoad } from '../torture/key-load.ts';
import { QuotaStand } from '../torture/quota-stand.ts';
import { count, type Finding } from './guarantees.ts';

const GATEWAYS = 3;
const QUOTA = 3_000;
/** Volleys of concurrent requests. Together, they are more than the quota. */
const VOLLEYS = 12;
const VOLLEY = 300;
/** The volley during which a gateway is killed. */
const KILL_AT = 4;
/** How long the load with the old key continues after the end of the regeneration. */
const AFTERWARDS_MS = 2_000;

const startStand = (): Promise<QuotaStand> =>
  QuotaStand.start({
    operators: 1,
    gateways: GATEWAYS,
    // The permits of a killed gateway are returned when the rows on its volume are in the log.
    gatewayEnv: { STANDIN_SPOOL_QUIET_MS: '2000' },
  });

const restart = async ({ process, adminUrl }: DeployedGateway): Promise<void> => {
  await process.restart();
  await process.waitForUrl(`${adminUrl}/readyz`);
};

/** Uses up a quota with concurrent requests to three gateways. One of them is killed in the meantime. */
export const proveQuota = async (): Promise<readonly Finding[]> => {
  await using stand = await startStand();
  await stand.setQuotaEverywhere(QUOTA);
  for (let turn = 0; turn < VOLLEYS; turn += 1) {
    const responses = stand.volley(VOLLEY);
    if (turn === KILL_AT) await restart(stand.gateway(1));
    await responses;
  }
  await eventually('the rest of the quota to be used', () => stand.volley(200).then(() => stand.counted()), {
    accept: ({ rows }) => rows >= QUOTA,
    timeoutMs: 90_000,
  });
  await stand.untilUsedUp();
  const { rows, permits } = await stand.counted();
  const { accepted, unknown } = stand;
  return [
    {
      output:
        `quota ${count(QUOTA)}: ${count(accepted)} responses with 200 and ${count(unknown)} without a response; ` +
        `${count(rows)} rows, ${count(permits)} permits`,
      holds: rows === QUOTA && permits === QUOTA && accepted <= QUOTA && accepted + unknown >= QUOTA,
    },
  ];
};

/** Regenerates a key while three gateways receive requests with the old one. */
export const proveKeys = async (): Promise<readonly Finding[]> => {
  await using stand = await startStand();
  const { tenant, deployment, path, key: old } = stand;
  await using load = startKeyLoad(deployment.gateways, path, old);
  await tenant.apply('KeyRegeneration', 'proof', { accountRef: { name: 'team' } });
  await eventually('the regeneration to complete', () => tenant.get('KeyRegeneration', 'proof'), {
    accept: ({ status }) => status?.['phase'] === 'Completed',
    intervalMs: 5,
    timeoutMs: 40_000,
  });
  const completedAt = performance.now();
  await delay(AFTERWARDS_MS);
  const sent = await load.stop();
  const { before, after, tried } = acceptedAfter(sent, completedAt);
  const late = sent.filter(({ at }) => at >= completedAt).length;
  const fresh = await tenant.readSecret('team-api-key');
  const statuses = await Promise.all(deployment.gateways.map(async (one) => (await post(one, path, fresh)).status));
  const works = statuses.filter((status) => status === 200).length;
  return [
    {
      output:
        `old key: ${after.length} of ${count(late)} requests accepted on ${tried} gateways; ` +
        `new key: accepted by ${works} of ${GATEWAYS}`,
      holds: before && after.length === 0 && tried === GATEWAYS && works === GATEWAYS,
    },
  ];
};
