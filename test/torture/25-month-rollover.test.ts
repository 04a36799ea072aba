import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { periodEndMs, periodAt } from '@standin/contract';
import { expect, test } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { ShiftedClock } from '../harness/shifted-clock.ts';
import { startKeyLoad } from './key-load.ts';
import { QuotaStand } from './quota-stand.ts';

/**
 * Torture test 25: the month ends while the clocks of three gateways are 90 s behind the operator's clock, equal to it, and 90 s
 * ahead. Then all clocks are set back to an hour before the end of the month, and a new leader starts. One account uses up its
 * quota in each month. Another account has a large quota and gets requests continuously.
 */

const SKEWS_MS = [-90_000, 0, 90_000];
const QUOTA = 300;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/**
 * The time after which new clocks have taken effect. Processes read the offset of their clock 20 times per second, and a gateway
 * checks an exhausted quota again after one second.
 */
const SETTLED_MS = 1_500;

/** The boundary between the two months. It is at least a day ahead, so the real time does not reach it during the test. */
const MONTH_END_MS = periodEndMs(periodAt(Date.now() + DAY_MS));
const [BEFORE, AFTER] = [periodAt(MONTH_END_MS - 1), periodAt(MONTH_END_MS)];

/**
 * Creates an account with a large quota, a project and an endpoint, all named `plenty`. Returns the path and the key for its
 * requests.
 */
const addPlenty = async ({ tenant }: QuotaStand): Promise<{ path: string; key: string }> => {
  await tenant.apply('Account', 'plenty', { plan: 'Free', monthlyQuota: 1_000_000 });
  await tenant.apply('Project', 'plenty', { displayName: 'Plenty', accountRef: { name: 'plenty' } });
  const rest = { displayName: 'Plenty', slug: '/plenty', method: 'POST', action: 'JSON', json: { body: '1' } };
  await tenant.apply('Endpoint', 'plenty', { ...rest, projectRef: { name: 'plenty' } });
  await tenant.untilReason('Endpoint', 'plenty', 'Ready');
  return { path: `${await tenant.projectPath('plenty')}/plenty`, key: await tenant.readSecret('plenty-api-key') };
};

test('25: each row counts once, in the month of its permit, when the month ends with skewed clocks and when clocks are set back', async () => {
  await using clocks = new AsyncDisposableStack();
  const newClock = async (): Promise<ShiftedClock> => clocks.use(await ShiftedClock.create());
  const operatorClock = await newClock();
  const gatewayClocks = await Promise.all(SKEWS_MS.map(newClock));
  await using stand = await QuotaStand.start({
    operators: 1,
    gateways: SKEWS_MS.length,
    operatorEnv: operatorClock.env,
    gatewayEnv: (index) => Promise.resolve(gatewayClocks[index]?.env ?? {}),
  });
  const [operator] = stand.deployment.operators;
  assert(operator);
  /**
   * Sets the operator's clock to this time after the end of the month (negative: before), and each gateway's clock with its skew.
   */
  const setClocks = async (fromEndMs: number): Promise<void> => {
    const offsetMs = MONTH_END_MS + fromEndMs - Date.now();
    await operatorClock.set(offsetMs);
    await Promise.all(gatewayClocks.map((clock, index) => clock.set(offsetMs + (SKEWS_MS[index] ?? 0))));
    await delay(SETTLED_MS);
  };
  const refusal = async (): Promise<unknown> => {
    const answers = await stand.volley(30);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([429]));
    return answers[0]?.problem['reset'];
  };

  const plenty = await addPlenty(stand);
  await setClocks(-100_000);
  await using load = startKeyLoad(stand.deployment.gateways, plenty.path, plenty.key);
  await stand.setQuotaEverywhere(QUOTA);
  await stand.untilAccepted(stand.gateway(0));
  await stand.volley(QUOTA);
  await stand.untilUsedUp();
  expect(stand.accepted).toBe(QUOTA);

  // One gateway's clock is already in the next month, but the operator's clock counts.
  await setClocks(-45_000);
  await refusal();
  expect(stand.accepted).toBe(QUOTA);

  // One gateway's clock has not reached the next month yet.
  await setClocks(45_000);
  for (const gateway of stand.deployment.gateways) await stand.untilAccepted(gateway);
  await stand.volley(QUOTA);
  await stand.untilUsedUp();
  expect(stand.accepted).toBe(2 * QUOTA);

  await setClocks(-HOUR_MS);
  const reset = new Date(periodEndMs(AFTER)).toISOString();
  expect(await refusal()).toBe(reset);
  await operator.process.kill('SIGKILL');
  await stand.restartOperator(operator);
  await stand.leader();
  await delay(SETTLED_MS);
  // Gateways respond with 503 until they are connected to the new leader.
  await stand.untilUsedUp();
  expect(await refusal()).toBe(reset);
  expect(stand.accepted).toBe(2 * QUOTA);

  // Gateways return the remaining permits of the past month when their own clock reaches the new month.
  await setClocks(HOUR_MS);
  await delay(SETTLED_MS);
  const sent = await load.stop();
  expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([200]));
  expect(new Set(sent.map(({ gateway }) => gateway)).size).toBe(SKEWS_MS.length);
  for (const { process } of stand.deployment.gateways) expect((await process.kill('SIGTERM')).code).toBe(0);

  const countRows = (endpoint: string) => stand.countedBy(endpoint);
  await eventually('all rows in the log', () => countRows('orders'), {
    accept: (counts) => Object.values(counts).reduce((sum, { rows }) => sum + rows, 0) >= 2 * QUOTA,
    timeoutMs: 30_000,
  });
  const all = { rows: QUOTA, permits: QUOTA };
  expect(await countRows('orders')).toEqual({ [BEFORE]: all, [AFTER]: all });
  expect(await stand.ledger()).toMatchObject({ period: AFTER, used: QUOTA, blocks: [] });

  const { [BEFORE]: old, [AFTER]: recent, ...others } = await countRows('plenty');
  assert(old && recent);
  expect(others).toEqual({});
  expect(old.rows + recent.rows).toBe(sent.length);
  expect([old.permits, recent.permits]).toEqual([old.rows, recent.rows]);
  expect(await stand.ledger('plenty')).toMatchObject({ period: AFTER, used: recent.rows, blocks: [] });
  const perBlock = `SELECT count() FROM (SELECT quota_block FROM log WHERE quota_period != '' GROUP BY quota_block HAVING uniqExact(quota_period) > 1)`;
  expect(await stand.query(perBlock)).toBe('0');
  expect(await stand.query('SELECT uniqExact(id) = count() FROM log FINAL')).toBe('1');
}, 180_000);
