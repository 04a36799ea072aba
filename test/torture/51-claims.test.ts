import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { resourcePath } from '@standin/kube';
import { LEASE_NAME } from '@standin/operator';
import { expect, test } from 'vitest';
import { post, Tenant } from '../e2e/tenant.ts';
import { startClickHouse } from '../harness/clickhouse.ts';
import { startCluster } from '../harness/cluster.ts';
import { deploy } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin, SYSTEM_NAMESPACE } from '../harness/install-standin.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { isLongRun } from './oracle.ts';

/**
 * Torture test 51: two tenants claim the same URIs at the same time while the leading operator repeatedly dies between the record of
 * a claim and the configuration. One of them gets each URI and keeps it. Meanwhile, the second tenant pins the URI of a project that
 * is in use on older objects, and its callers see no difference.
 */

const ROUNDS = isLongRun() ? 100 : 4;
const TIMEOUT_MS = isLongRun() ? 30 * 60_000 : 180_000;
const UNTIL = { timeoutMs: 40_000, intervalMs: 20 };
const SHOP_URI = 'shop-in-use-0123456789';
const CLAIM_WRITE = '^(PUT .*/standin-claims-|POST .*/configmaps$)';

const LEASE = resourcePath({
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  namespace: SYSTEM_NAMESPACE,
  name: LEASE_NAME,
});

test(
  `51: in ${ROUNDS} rounds with a killed leader, a URI that two tenants claim belongs to one of them`,
  async () => {
    const folder = await createTempFolder('claims');
    const trap = path.join(folder, 'trap');
    const [cluster, clickHouse] = await Promise.all([startCluster(), startClickHouse()]);
    await installStandin(cluster);
    const deployment = await deploy({
      cluster,
      clickHouse,
      operators: 1,
      gateways: 1,
      operatorEnv: {
        ...clickHouse.env,
        NODE_OPTIONS: `--import=${path.join(import.meta.dirname, 'crash-after-write.ts')}`,
        TEST_CRASH_TRAP: trap,
        TEST_CRASH_REQUEST: CLAIM_WRITE,
        // Without an operator, callers need no permits.
        STANDIN_QUOTA_FREE: '0',
      },
    });
    const [operator] = deployment.operators;
    const [gateway] = deployment.gateways;
    assert(operator && gateway);
    const rival = await Tenant.create(cluster, 'rival');
    const owner = await Tenant.create(cluster, 'owner');
    await rival.accountAndProject();
    const olds = Array.from({ length: ROUNDS }, (_, round) => `old-${round}`);
    for (const name of olds) await rival.apply('Project', name, { displayName: name, accountRef: { name: 'team' } });
    await rival.projectPath(olds.at(-1));
    await owner.apply('Account', 'team', { plan: 'Free' });
    const spec = { displayName: 'Shop', accountRef: { name: 'team' }, uri: SHOP_URI };
    await owner.apply('Project', 'shop', spec);
    await owner.mock('orders', '"orders"');
    await owner.untilReason('Endpoint', 'orders', 'Ready');
    const key = await owner.readSecret('team-api-key');

    const statuses = new Map<number, number>();
    const state = { isOver: false };
    const calling = (async () => {
      while (!state.isOver) {
        const { status } = await post(gateway, `/${SHOP_URI}/orders`, key);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        await delay(5);
      }
    })();

    const winners: Tenant[] = [];
    const contestedName = (round: number): string => `contested-${round}`;
    const tenants = [rival, owner];
    const awaitWinner = async (round: number): Promise<Tenant> => {
      const name = contestedName(round);
      const reasons = await eventually(
        `one holder of ${name}`,
        () => Promise.all(tenants.map(async (tenant) => (await tenant.condition('Project', name, 'Accepted')).reason)),
        { ...UNTIL, accept: (both) => both.toSorted().join() === 'Accepted,Conflicted' },
      );
      const winner = tenants[reasons.indexOf('Accepted')];
      assert(winner);
      return winner;
    };
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const contested = { ...spec, uri: `contested-${round}-0123456789` };
        await rival.apply('Project', olds[round] ?? '', { uri: SHOP_URI });
        await rival.untilReason('Project', olds[round] ?? '', 'Conflicted', UNTIL.timeoutMs);
        await writeFile(trap, '');
        await Promise.all(tenants.map((tenant) => tenant.apply('Project', contestedName(round), contested)));
        expect(await operator.process.ended()).toEqual({ code: null, signal: 'SIGKILL' });
        await rival.client.mergePatch(LEASE, { spec: { holderIdentity: '' } });
        await operator.process.restart();
        const winner = await awaitWinner(round);
        winners.push(winner);
        // The winner is applied again, and is then the younger one.
        await winner.remove('Project', contestedName(round));
        await winner.apply('Project', contestedName(round), contested);
      }
      for (const [round, winner] of winners.entries()) expect(await awaitWinner(round)).toBe(winner);
      expect((await owner.condition('Project', 'shop', 'Accepted')).reason).toBe('Accepted');
    } finally {
      state.isOver = true;
      await calling;
      await deployment.stop();
      await Promise.all([...tenants.map(({ client }) => client.close()), cluster.stop(), clickHouse.stop()]);
      await rm(folder, { recursive: true, force: true });
    }
    expect([...statuses.keys()]).toEqual([200]);
  },
  TIMEOUT_MS,
);
