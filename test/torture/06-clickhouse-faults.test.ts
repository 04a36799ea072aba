import { setTimeout as delay } from 'node:timers/promises';
import { readQuarantine } from '@standin/gateway';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { startProcess } from '../harness/processes.ts';
import { startFaultyClickHouse, type FaultyClickHouse, type InsertFault } from './faulty-clickhouse.ts';
import { loadMs, Oracle, runSeed } from './oracle.ts';
import { ask } from './raw-client.ts';
import { Stand } from './stand.ts';

/**
 * Torture tests 6 to 12: however inserts fail, every answered request is stored once. A row that ClickHouse never accepts is
 * quarantined.
 */

const RATE_PER_SECOND = 200;
const LOAD_MS = 1_500;

let stand: Stand;
let clickhouse: FaultyClickHouse;
beforeAll(async () => {
  stand = await Stand.start({
    env: { STANDIN_EGRESS_ALLOW_PRIVATE: 'true', STANDIN_CLICKHOUSE_TIMEOUT_MS: '1000' },
    clickhouse: async (engineUrl) => (clickhouse = await startFaultyClickHouse(engineUrl)).url,
  });
});
beforeEach(() => {
  clickhouse.fault = () => ({ kind: 'none' });
});
afterAll(async () => {
  await stand[Symbol.asyncDispose]();
  await clickhouse[Symbol.asyncDispose]();
});

const refusal = (code: number, text: string): InsertFault => ({
  kind: 'refuse',
  code,
  message: `Code: ${code}. DB::Exception: ${text}`,
});

/** Each fault applies to every other request to ClickHouse during the load, or, with `always`, to every request. */
const FAULTS: readonly [torture: string, fault: InsertFault, always: boolean][] = [
  ['hangs (6)', { kind: 'hang' }, false],
  ['loses acknowledgements after the commit (7)', { kind: 'reset after commit' }, false],
  ['closes connections when they are used (9)', { kind: 'down' }, false],
  ['responds with 200 and an exception in a header (10)', { kind: 'exception with 200' }, true],
  [
    'has too many parts (11)',
    refusal(252, 'Too many parts (3001). Merges are slower than inserts. (TOO_MANY_PARTS)'),
    true,
  ],
  ['is out of memory (11)', refusal(241, 'Memory limit (total) exceeded. (MEMORY_LIMIT_EXCEEDED)'), false],
  ['runs too many queries (11)', refusal(202, 'Too many simultaneous queries. (TOO_MANY_SIMULTANEOUS_QUERIES)'), false],
  ['is slow', { kind: 'slow', delayMs: 700 }, true],
];

test.each(FAULTS)(
  'nothing is lost or duplicated if ClickHouse %s',
  async (torture, fault, always) => {
    await using oracle = await Oracle.start({ stand, seed: runSeed() + torture.length });
    let turn = 0;
    clickhouse.fault = () => (always || turn++ % 2 === 0 ? fault : { kind: 'none' });
    await oracle.load(RATE_PER_SECOND, delay(loadMs(LOAD_MS)));
    expect(oracle.counts.rejected + oracle.counts.unanswered).toBe(0);
    clickhouse.fault = () => ({ kind: 'none' });
    await oracle.verify();
  },
  1_800_000,
);

test('8: a segment that is sent again after ClickHouse has forgotten its token appears once', async () => {
  await using oracle = await Oracle.start({ stand, seed: runSeed() + 100 });
  let turn = 0;
  // The proxy gives the first insert a different token, so ClickHouse does not recognize the repeated insert as a duplicate.
  clickhouse.fault = () => (turn++ % 2 === 0 ? { kind: 'reset after commit', forgets: true } : { kind: 'none' });
  await oracle.load(RATE_PER_SECOND, delay(loadMs(LOAD_MS)));
  clickhouse.fault = () => ({ kind: 'none' });
  await oracle.verify();
  expect(turn).toBeGreaterThan(2);
}, 1_800_000);

test('12: only the row that ClickHouse never accepts is quarantined; it is counted and readable', async () => {
  await using oracle = await Oracle.start({ stand, seed: runSeed() + 200 });
  clickhouse.fault = () => ({ kind: 'poison', bytes: 'poisonous' });
  const marker = stand.marker();
  const loaded = oracle.load(RATE_PER_SECOND, delay(loadMs(1_500)));
  const head = stand.head('POST', stand.target('/mock', marker), [['Content-Length', '9']]);
  expect((await ask(stand.port, `${head}poisonous`))?.status).toBe(200);
  await loaded;
  await oracle.verify();
  await eventually('the row in quarantine', () => stand.metric('standin_deliver_quarantine'), {
    accept: (count) => count === 1,
  });
  const [put, ...others] = await readQuarantine(`${stand.directory}/gateway/spool`);
  expect(others).toEqual([]);
  const shown = startProcess({
    name: 'standin admin quarantine',
    main: 'cli/src/main.ts',
    args: ['admin', 'quarantine', `${stand.directory}/gateway/spool`],
  });
  expect((await shown.ended()).code).toBe(1);
  expect(shown.log().join('\n')).toMatch(/torture-own\/post-mock POST \/mock .*\n.*INCORRECT_DATA/);
  expect([put?.row?.query, put?.row && Buffer.from(put.row.requestBody).toString()]).toEqual([marker, 'poisonous']);
}, 1_800_000);
