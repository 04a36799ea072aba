import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { committed } from '../../operator/src/quota/ledger.ts';
import { eventually } from '../harness/eventually.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { isLongRun } from './oracle.ts';
import { QuotaStand } from './quota-stand.ts';

/**
 * Torture test 22: the operator repeatedly dies between its ledger write and its response to the gateway. The ledger then contains
 * granted blocks of permits that no gateway has. The last time, the three gateways die too, so no gateway can report that the
 * blocks never arrived.
 */

const KILLS = isLongRun() ? 100 : 5;
const GATEWAYS = 3;
const QUOTA = 500 + KILLS;
const TIMEOUT_MS = isLongRun() ? 20 * 60_000 : 120_000;

test(
  `22: killing the operator ${KILLS} times between ledger write and response grants nothing twice and loses nothing`,
  async () => {
    const folder = await createTempFolder('crash');
    const trap = path.join(folder, 'trap');
    await using stand = await QuotaStand.start({
      operators: 1,
      gateways: GATEWAYS,
      operatorEnv: {
        NODE_OPTIONS: `--import=${path.join(import.meta.dirname, 'crash-after-write.ts')}`,
        TEST_CRASH_REQUEST: '^PUT .*/standin-quota-',
        TEST_CRASH_TRAP: trap,
      },
      gatewayEnv: { STANDIN_SPOOL_QUIET_MS: '2000' },
    });
    const { gateways, operators } = stand.deployment;
    const [operator] = operators;
    assert(operator);

    /** Makes the operator die after its next ledger write. Returns the ids of the blocks that this write added. */
    const killBetween = async (): Promise<readonly string[]> => {
      const before = new Set((await stand.ledger()).blocks.map(({ id }) => id));
      await writeFile(trap, '');
      const answers = stand.volley(2 * GATEWAYS);
      expect(await operator.process.ended()).toEqual({ code: null, signal: 'SIGKILL' });
      const statuses = new Set((await answers).map(({ status, code }) => `${status} ${code}`));
      for (const status of statuses) expect(['200 ', '503 quota_unavailable']).toContain(status);
      const ledger = await stand.ledger();
      expect(committed(ledger)).toBeLessThanOrEqual(QUOTA);
      return ledger.blocks.map(({ id }) => id).filter((id) => !before.has(id));
    };

    await stand.setQuotaEverywhere(QUOTA);
    for (const gateway of gateways) await stand.untilAccepted(gateway);
    for (let kill = 1; kill < KILLS; kill++) {
      // Lowers the quota by one, which makes gateways return their permits and request new ones.
      await stand.setQuotaEverywhere(QUOTA - kill);
      const leaked = await killBetween();
      expect(leaked).not.toEqual([]);
      await stand.restartOperator(operator);
      for (const gateway of gateways) await stand.untilAccepted(gateway, 40_000);
      // When a gateway asks again without naming these blocks, the operator takes them back.
      const open = (await stand.ledger()).blocks.map(({ id }) => id);
      expect(open.filter((id) => leaked.includes(id))).toEqual([]);
    }

    const limit = QUOTA - KILLS;
    await stand.setQuotaEverywhere(limit);
    const leaked = await killBetween();
    await Promise.all(gateways.map(({ process }) => process.kill('SIGKILL')));
    await stand.restartOperator(operator);
    await Promise.all(
      gateways.map(async ({ process, adminUrl }) => {
        await process.restart();
        await process.waitForUrl(`${adminUrl}/readyz`, 40_000);
      }),
    );
    await eventually('the whole quota to be accepted', () => stand.volley(50).then(() => stand.accepted), {
      accept: (accepted) => accepted >= limit,
      timeoutMs: 90_000,
    });
    await stand.untilUsedUp();
    expect([stand.accepted, stand.unknown]).toEqual([limit, 0]);
    expect((await stand.ledger()).blocks.filter(({ id }) => leaked.includes(id))).toEqual([]);
    await eventually('all rows in the log', () => stand.counted(), {
      accept: ({ rows }) => rows >= limit,
      timeoutMs: 30_000,
    });
    expect(await stand.counted()).toEqual({ rows: limit, permits: limit });
    await rm(folder, { recursive: true, force: true });
  },
  TIMEOUT_MS,
);
