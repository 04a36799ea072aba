import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readMetric } from '../e2e/tenant.ts';
import { eventually } from '../harness/eventually.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { isLongRun } from './oracle.ts';
import { QuotaStand, type QuotaResponse } from './quota-stand.ts';

/**
 * Torture tests 18, 21, 23, 24 and 26: the monthly quota, with two operators and five gateways as processes, a real API server and
 * the real ClickHouse engine.
 */

let stand: QuotaStand;
let folder: string;
/** If this file exists, the leader removes it and freezes just before its next ledger write. */
let trap: string;

const QUOTA = 10_000;
/** The quota of the Pro plan. The Free plan has no quota. */
const PRO_QUOTA = QUOTA + 5;
/** The maximum time from the API server's acknowledgement of a new quota until gateways enforce it. */
const EFFECT_MS_MAX = 2_000;
/** The minimum time that a gateway is frozen. */
const FROZEN_MS = isLongRun() ? 60_000 : 0;
/** The length of an API server outage. It is longer than an operator can lead without an API server. */
const OUTAGE_MS = isLongRun() ? 600_000 : 20_000;
/** The number of requests in a volley beyond the permits of the gateway. */
const VOLLEY = 200;
const VOLLEY_MS = OUTAGE_MS / 200;

beforeAll(async () => {
  folder = await createTempFolder('freeze');
  trap = path.join(folder, 'trap');
  stand = await QuotaStand.start({
    operators: 2,
    gateways: 5,
    operatorEnv: {
      NODE_OPTIONS: `--import=${path.join(import.meta.dirname, 'freeze-before-ledger-write.ts')}`,
      TEST_FREEZE_TRAP: trap,
      STANDIN_QUOTA_PRO: String(PRO_QUOTA),
    },
    gatewayEnv: { STANDIN_SPOOL_QUIET_MS: '2000' },
  });
});
afterAll(async () => {
  await stand[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

describe('quota enforcement', () => {
  test('writes no ledger for an account without a quota', async () => {
    expect((await stand.volley(6)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    const { stdout } = await stand.cluster.kubectl(['get', 'configmaps', '-n', 'standin-system', '-o', 'name']);
    expect(stdout).toContain('standin-gateways');
    expect(stdout).not.toContain('standin-quota');
    await stand.setQuota(0);
    await stand.untilUsedUp();
    stand.accepted = 0;
  });

  test('accepts 10,000 of 12,000 concurrent requests while the leader and two gateways are killed and one is frozen', async () => {
    await stand.setQuotaEverywhere(QUOTA);
    const { process } = await stand.leader();
    const answers = stand.volley(QUOTA + 2_000);
    const untilAccepted = (count: number): Promise<unknown> =>
      eventually(`${count} accepted requests`, () => Promise.resolve(stand.accepted), {
        accept: (n) => n >= count,
        intervalMs: 1,
        timeoutMs: 60_000,
      });
    await untilAccepted(500);
    await stand.gateway(1).process.restart();
    stand.gateway(2).process.signal('SIGSTOP');
    await untilAccepted(1_500);
    await process.restart();
    await stand.gateway(3).process.restart();
    await delay(FROZEN_MS);
    stand.gateway(2).process.signal('SIGCONT');
    const statuses = new Set((await answers).map(({ status, code }) => `${status} ${code}`));
    const expected = ['200 ', '0 lost', '429 quota_exceeded', '503 quota_unavailable', '503 not_ready'];
    for (const status of statuses) expect(expected).toContain(status);
    expect((await stand.counted()).rows).toBeLessThanOrEqual(QUOTA);

    // The permits of the killed gateways are returned as soon as the log shows how many were used.
    await eventually('the rest of the quota to be used', () => stand.volley(200).then(() => stand.counted()), {
      accept: ({ rows }) => rows >= QUOTA,
      timeoutMs: 90_000,
    });
    const [last] = await stand.untilUsedUp();
    expect(stand.accepted).toBeLessThanOrEqual(QUOTA);
    expect(stand.accepted + stand.unknown).toBeGreaterThanOrEqual(QUOTA);
    const logLines = stand.deployment.operators.flatMap((operator) => operator.process.logTail(1_000));
    expect(logLines.filter((line) => line.includes('permits of a stopped gateway settled'))).not.toEqual([]);
    [stand.accepted, stand.unknown] = [QUOTA, 0];
    expect(last).toMatchObject({ code: 'quota_exceeded', problem: { limit: QUOTA, used: QUOTA } });
    const reset = new Date(String(last?.problem['reset']));
    expect([reset.getUTCDate(), reset.getUTCHours(), reset.getUTCMinutes()]).toEqual([1, 0, 0]);
    expect(Math.abs(reset.getTime() - Date.now() - (last?.retryAfterS ?? 0) * 1_000)).toBeLessThan(10_000);

    const all = { rows: QUOTA, permits: QUOTA };
    await eventually('all rows in the log, each with its own permit', () => stand.counted(), {
      accept: ({ rows }) => rows >= QUOTA,
      timeoutMs: 30_000,
    });
    expect(await stand.counted()).toEqual(all);

    await eventually('the account’s condition', () => stand.tenant.condition('Account', 'team', 'QuotaAvailable'), {
      accept: ({ status, reason }) => status === 'False' && reason === 'QuotaUsedUp',
    });
    const events = ['get', 'events.events.k8s.io', '-n', stand.tenant.namespace];
    await eventually('the Event', () => stand.cluster.kubectl(events), {
      accept: ({ stdout }) => stdout.includes('QuotaUsedUp'),
    });
    const table = ['get', 'mac', 'team', '-n', stand.tenant.namespace, '--no-headers'];
    await eventually('the quota in the output of kubectl', () => stand.cluster.kubectl(table), {
      accept: ({ stdout }) => / 10000 +10000 /.test(stdout),
      timeoutMs: 30_000,
    });
  }, 300_000);

  test("applies a new plan's quota immediately if the account has no quota of its own", async () => {
    const changedTo = async (spec: { plan: string; monthlyQuota: number | null }): Promise<number> => {
      await stand.tenant.apply('Account', 'team', spec);
      return performance.now();
    };
    const proAt = await changedTo({ plan: 'Pro', monthlyQuota: null });
    await stand.untilAccepted(stand.gateway(3));
    expect(performance.now() - proAt).toBeLessThan(EFFECT_MS_MAX);
    await stand.untilUsedUp();
    expect(stand.accepted).toBe(PRO_QUOTA);

    const freeAt = await changedTo({ plan: 'Free', monthlyQuota: null });
    await stand.untilAccepted(stand.gateway(4));
    expect(performance.now() - freeAt).toBeLessThan(EFFECT_MS_MAX);
    await changedTo({ plan: 'Pro', monthlyQuota: null });
    await eventually('a rejection', () => stand.post(stand.gateway(4)), {
      accept: ({ status, problem }) => status === 429 && problem['limit'] === PRO_QUOTA,
      timeoutMs: EFFECT_MS_MAX,
    });
    await stand.untilUsedUp();
    // Requests that were accepted without a quota have no permit.
    stand.accepted = PRO_QUOTA;
  });

  test('accepts more requests as soon as the quota is raised, and none when it is lowered', async () => {
    await stand.setQuota(QUOTA + 10);
    const raisedAt = performance.now();
    await stand.untilAccepted(stand.gateway(1));
    expect(performance.now() - raisedAt).toBeLessThan(EFFECT_MS_MAX);
    await stand.untilUsedUp();
    expect(stand.accepted).toBe(QUOTA + 10);

    await stand.setQuota(2 * QUOTA);
    await stand.untilAccepted(stand.gateway(2));
    await stand.setQuota(5);
    await eventually('a rejection', () => stand.post(stand.gateway(2)), {
      accept: ({ status, problem }) => status === 429 && problem['limit'] === 5,
      timeoutMs: EFFECT_MS_MAX,
    });
    const before = stand.accepted;
    await stand.untilUsedUp();
    expect(stand.accepted).toBe(before);
  });

  test('grants nothing twice when a frozen leader resumes, believing that it still leads', async () => {
    const quota = QUOTA + 110;
    await stand.setQuota(quota);
    await stand.untilAccepted(stand.gateway(0));
    const old = await stand.leader();
    const other = stand.deployment.operators.find((operator) => operator !== old);
    assert(other);
    await writeFile(trap, '');
    const answers = stand.volley(40);
    await eventually('the leader to start its write', () => Promise.resolve(existsSync(trap)), {
      accept: (isSet) => !isSet,
    });
    await eventually('the other operator to lead', () => readMetric(other.adminUrl, 'standin_publish_revision'), {
      accept: ({ size }) => size > 0,
      timeoutMs: 40_000,
    });
    // This gateway has no permit, so the other operator must grant it one.
    await stand.untilAccepted(stand.gateway(4), 40_000);
    old.process.signal('SIGCONT');
    await eventually('the result of the delayed write', () => Promise.resolve(old.process.log().join('\n')), {
      accept: (log) => log.includes('the frozen ledger write: 409'),
    });
    await Promise.all([answers, stand.volley(40)]);
    await stand.untilUsedUp();
    expect(stand.accepted).toBe(quota);
    await eventually('all rows in the log', () => stand.counted(), {
      accept: ({ rows }) => rows >= quota,
      timeoutMs: 30_000,
    });
    expect(await stand.counted()).toEqual({ rows: quota, permits: quota });
  });

  test('takes back the permits of a stopped gateway, but not those of a killed one', async () => {
    const quota = QUOTA + 200;
    await stand.setQuota(quota);
    const [first, second, third] = [stand.gateway(0), stand.gateway(1), stand.gateway(2)];
    await stand.untilAccepted(first);
    expect(await readMetric(first.adminUrl, 'standin_admit_permits')).not.toEqual(new Map([['', 0]]));
    expect(await first.process.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    await stand.untilAccepted(second);
    const held = (await readMetric(second.adminUrl, 'standin_admit_permits')).get('') ?? 0;
    expect(held).toBeGreaterThan(0);
    await second.process.kill('SIGKILL');
    await stand.untilUsedUp([third]);
    expect(stand.unknown).toBe(0);
    expect(stand.accepted).toBe(quota - held);
  });

  test('without an operator, accepts requests while gateways have permits, then rejects them and does not count them', async () => {
    const third = stand.gateway(2);
    await stand.setQuota(10 * QUOTA);
    await stand.untilAccepted(third);
    await Promise.all(stand.deployment.operators.map(({ process }) => process.kill('SIGTERM')));
    const before = stand.accepted;
    const held = (await readMetric(third.adminUrl, 'standin_admit_permits')).get('') ?? 0;
    const answers = await stand.volley(held + 50, [third]);
    expect(stand.accepted - before).toBe(held);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(new Set(refused.map(({ status, code }) => `${status} ${code}`))).toEqual(new Set(['503 quota_unavailable']));
    await Promise.all(stand.deployment.operators.map(({ process }) => process.restart()));
    await stand.untilAccepted(third, 40_000);
  });

  test(
    'without an API server, accepts requests while gateways have permits, then rejects them with 503 until it is back',
    { timeout: OUTAGE_MS + 120_000 },
    async () => {
      const third = stand.gateway(2);
      // This gateway was killed, so it now delivers the rows that it left on disk.
      await stand.gateway(1).process.restart();
      await stand.cluster.stopApiServer('SIGKILL');
      const back = performance.now() + OUTAGE_MS;
      const refused: QuotaResponse[] = [];
      while (performance.now() < back || refused.length === 0) {
        // More requests than the gateway has permits, so that it must refuse some, however slow the machine is.
        const held = (await readMetric(third.adminUrl, 'standin_admit_permits')).get('') ?? 0;
        const answers = await stand.volley(held + VOLLEY, [third]);
        refused.push(...answers.filter(({ status }) => status !== 200));
        await delay(VOLLEY_MS);
      }
      expect(new Set(refused.map(({ status, code }) => `${status} ${code}`))).toEqual(
        new Set(['503 quota_unavailable']),
      );
      await stand.cluster.startApiServer();
      await stand.untilAccepted(third, 60_000);
      await eventually('all rows in the log, each with its own permit', () => stand.counted(), {
        accept: ({ rows }) => rows >= stand.accepted,
        timeoutMs: 30_000,
      });
      expect(await stand.counted()).toEqual({ rows: stand.accepted, permits: stand.accepted });
    },
  );
});
