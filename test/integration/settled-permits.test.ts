import assert from 'node:assert/strict';
import { encodeRow, openLogStore, type LogStore } from '@standin/logstore';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MemoryLedgers } from '../../operator/src/quota/memory-ledgers.testing.ts';
import { QuotaController } from '../../operator/src/quota/quota-controller.ts';
import { newLogRow } from '../../packages/exchange/src/log-row.testing.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';

/** Tests how the permits that an unreachable gateway used are counted, with the real ClickHouse engine and wrong clocks. */

let clickHouse: TestClickHouse;
let store: LogStore;

beforeAll(async () => {
  clickHouse = await startClickHouse();
  store = openLogStore(clickHouse);
  await store.migrate();
});

afterAll(async () => {
  await store.close();
  await clickHouse.stop();
});

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const USED = 7;

test.each([
  ['are correct', 0, 0],
  ['are an hour and 90 s behind on a gateway', -61.5 * MINUTE_MS, 0],
  ['are a month behind on a gateway', -30 * DAY_MS, 0],
  ['are a day ahead on a gateway', DAY_MS, 0],
  ['are a day ahead on the operator', 0, DAY_MS],
  ['are a day behind on the operator', 0, -DAY_MS],
])(
  'used permits of an unreachable gateway are not granted again when clocks %s',
  async (...[, gatewayOffsetMs, operatorOffsetMs]) => {
    const ledgers = new MemoryLedgers();
    const uid = `account ${gatewayOffsetMs} ${operatorOffsetMs}`;
    const controller = new QuotaController({
      store: ledgers,
      cache: new Map(),
      logger: pino({ level: 'silent' }),
      limit: () => 100,
      gatewayCount: () => 1,
      isConnected: () => false,
      recall: () => undefined,
      onUsage: () => undefined,
      clock: () => Date.now() + operatorOffsetMs,
      countPermits: (filter) => store.permits(filter),
    });
    const request = { gateway: 'a', instance: 'a', account: uid, serial: 1, want: 50, held: [], closed: [] };
    const answer = await controller.request(request);
    assert(answer.kind === 'granted');
    const rows = Array.from({ length: USED }, (_, quotaPermit) =>
      encodeRow(
        newLogRow({
          accountUid: uid,
          quotaPeriod: answer.period,
          quotaBlock: answer.block,
          quotaPermit,
          receivedAtUs: (Date.now() + gatewayOffsetMs) * 1_000,
        }),
      ),
    );
    await store.insert({ rows: Buffer.concat(rows), rowCount: USED, token: uid });
    expect(await store.spentPermits(uid, answer.period)).toEqual({ requests: USED, permits: USED });
    await controller.drained('a');
    expect(await ledgers.read(uid)).toMatchObject({ ledger: { used: USED, blocks: [] } });
    await controller.stop();
  },
);
