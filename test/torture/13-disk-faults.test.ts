import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readQuarantine } from '@standin/gateway';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { startProcess, type RunningProcess } from '../harness/processes.ts';
import { startFaultyClickHouse, type FaultyClickHouse } from './faulty-clickhouse.ts';
import { loadMs, Oracle, runSeed } from './oracle.ts';
import { ask, RawClient } from './raw-client.ts';
import { Stand } from './stand.ts';

/**
 * Torture tests 4, 13 to 17, 19 and 20: a gateway with disk faults, damaged or restored records, clients that abort, pauses, and
 * shutdowns.
 */

const RATE_PER_SECOND = 200;
/** The maximum peak memory of a gateway. It covers the requests in flight and the process itself. */
const MEMORY_MIB_MAX = 512;

let stand: Stand;
let clickhouse: FaultyClickHouse;
let oracle: Oracle;
let serial = 0;
beforeAll(async () => {
  stand = await Stand.start({
    env: {
      STANDIN_EGRESS_ALLOW_PRIVATE: 'true',
      STANDIN_DRAIN_TIMEOUT_MS: '3000',
      TEST_WRITE_TRAP: writeTrap(),
    },
    nodeArgs: ['--import', path.join(import.meta.dirname, 'fail-undone-writes.ts')],
    clickhouse: async (engineUrl) => (clickhouse = await startFaultyClickHouse(engineUrl)).url,
  });
});
beforeEach(async () => {
  clickhouse.fault = () => ({ kind: 'none' });
  // A failed test may have left the gateway stopped.
  if (stand.gateway.hasEnded) await startAgain();
  oracle = await Oracle.start({ stand, seed: runSeed() + (serial += 1) });
});
afterEach(() => oracle[Symbol.asyncDispose]());
afterAll(async () => {
  await stand[Symbol.asyncDispose]();
  await clickhouse[Symbol.asyncDispose]();
});

/** See fail-undone-writes.ts. */
const writeTrap = (): string => path.join(tmpdir(), `standin-write-trap-${process.pid}`);

const spoolDir = (): string => path.join(stand.directory, 'gateway', 'spool');

/** Limits the size of each file of the gateway from now on. Writes beyond this size fail, as on a full disk. */
const limitFiles = (bytes: number | 'unlimited'): void => {
  execFileSync('prlimit', ['--pid', String(stand.gateway.pid), `--fsize=${bytes}:unlimited`]);
};

/** Returns the segment files on disk, sorted by path. */
const segments = async (): Promise<string[]> => {
  const found = await readdir(spoolDir(), { recursive: true });
  return found
    .filter((name) => name.includes('.seg'))
    .map((name) => path.join(spoolDir(), name))
    .sort();
};

/** Returns the peak memory of a process since its start. */
const peakMiB = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;

/**
 * Puts load on the gateway while ClickHouse is unavailable, then kills the gateway, so that its records are only on disk. Returns
 * the files of these records.
 */
const leaveRecordsOnDisk = async (): Promise<string[]> => {
  const before = new Set(await segments());
  clickhouse.fault = () => ({ kind: 'down' });
  await oracle.load(RATE_PER_SECOND, delay(1_000));
  await stand.gateway.kill('SIGKILL');
  return (await segments()).filter((file) => !before.has(file));
};

const startAgain = async (): Promise<void> => {
  clickhouse.fault = () => ({ kind: 'none' });
  await stand.gateway.restart();
  await stand.ready();
};

test('13: on a full disk, the gateway is not ready and responds with 503 and Retry-After; it loses no answered request and recovers', async () => {
  const fault = async (): Promise<void> => {
    await delay(700);
    limitFiles(0);
    const head = stand.head('POST', stand.target('/mock'), [['Content-Length', '0']]);
    const refused = await eventually('a rejection', () => ask(stand.port, head), {
      accept: (answer) => answer?.status === 503,
    });
    expect([refused?.all('standin-rejected'), refused?.all('retry-after')]).toEqual([['log_unavailable'], ['1']]);
    await eventually('the gateway to be not ready', () => fetch(`http://127.0.0.1:${stand.adminPort}/readyz`), {
      accept: ({ status }) => status === 503,
    });
    await delay(loadMs(700));
    limitFiles('unlimited');
    await stand.ready();
    await delay(500);
  };
  await oracle.load(RATE_PER_SECOND, fault());
  expect(oracle.rejections().get('log_unavailable')).toBeGreaterThan(0);
  await oracle.verify();
}, 1_800_000);

test('14: occasional write failures lose no acknowledged request, and the gateway continues', async () => {
  const failedBefore = await stand.metric('standin_record_failures_total');
  const fault = async (): Promise<void> => {
    limitFiles(32_768);
    await delay(loadMs(1_500));
    limitFiles('unlimited');
    await stand.ready();
  };
  await oracle.load(RATE_PER_SECOND, fault());
  expect(await stand.metric('standin_record_failures_total')).toBeGreaterThan(failedBefore);
  await oracle.verify();
  expect(await readQuarantine(spoolDir())).toEqual([]);
}, 1_800_000);

test('14: failed writes that cannot be undone store no request without its response, and the stored bytes are counted correctly', async () => {
  const head = (): string => stand.head('POST', stand.target('/mock'), [['Content-Length', '0']]);
  const fault = async (): Promise<void> => {
    for (const until = performance.now() + loadMs(1_500); performance.now() < until;) {
      await writeFile(writeTrap(), '');
      await eventually('a failed write', () => existsSync(writeTrap()), { accept: (isSet) => !isSet, intervalMs: 5 });
      // The records of the failed write must be in the next segment before another write fails.
      await eventually('an accepted request', () => ask(stand.port, head()), {
        accept: (answer) => answer?.status === 200,
      });
    }
  };
  await oracle.load(RATE_PER_SECOND, fault());
  expect(oracle.rejections()).toEqual(new Map());
  await oracle.verify();
  await eventually('nothing to be stored', () => stand.metric('standin_deliver_backlog_bytes'), {
    accept: (bytes) => bytes === 0,
  });
  const before = await stand.query('SELECT countIf(version = 1) FROM log FORMAT TSV');
  expect(await stand.gateway.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(await stand.query('SELECT countIf(version = 1) FROM log FORMAT TSV')).toBe(before);
  await startAgain();
  await oracle.verify();
}, 1_800_000);

test('15: a flipped bit damages only one record, which is quarantined, and an incomplete last record loses no answered request', async () => {
  const files = await leaveRecordsOnDisk();
  const [file = '', last = file] = [files[0], files.at(-1)];
  // The last file ends with an incomplete record that was never acknowledged, as after a power failure.
  const whole = await readFile(last);
  await writeFile(last, Buffer.concat([whole, whole.subarray(28, 28 + 200)]));
  const damaged = await readFile(file);
  const middle = damaged.indexOf('o=', damaged.length >> 1);
  damaged[middle] = (damaged[middle] ?? 0) ^ 1;
  await writeFile(file, damaged);
  await startAgain();
  await eventually('the damage in quarantine', () => stand.metric('standin_deliver_damaged_total'), {
    accept: (count) => count === 1,
  });
  const kept = (await readQuarantine(spoolDir())).find(({ segment }) => segment === file);
  const hit = /o=\d+-[0-9a-f]{8}-\d+/.exec(
    (await readFile(kept?.file ?? '')).toString('latin1').replaceAll('n=', 'o='),
  )?.[0];
  expect(kept?.kind).toBe('damage');
  oracle.forget(hit ?? '');
  await oracle.verify();
}, 120_000);

test('16: restored segments that were already delivered are delivered again and appear once', async () => {
  await leaveRecordsOnDisk();
  const copy = path.join(stand.directory, 'copy');
  await cp(spoolDir(), copy, { recursive: true });
  await startAgain();
  await oracle.verify();
  await stand.gateway.kill('SIGKILL');
  await cp(copy, spoolDir(), { recursive: true });
  await startAgain();
  await oracle.verify();
}, 120_000);

test('17: a process that is paused or gets a tenth of a CPU completes its accepted requests', async () => {
  const pause = async (ms: number): Promise<void> => {
    stand.gateway.signal('SIGSTOP');
    await delay(ms);
    stand.gateway.signal('SIGCONT');
  };
  const fault = async (): Promise<void> => {
    await delay(300);
    await pause(3_000);
    for (const until = performance.now() + loadMs(3_000); performance.now() < until;) {
      await delay(10);
      await pause(90);
    }
    await delay(300);
  };
  await oracle.load(RATE_PER_SECOND, fault());
  await oracle.verify();
  expect(peakMiB(stand.gateway.pid)).toBeLessThan(MEMORY_MIB_MAX);
}, 1_800_000);

test('19: a client that aborts during its body leaves no row; one that aborts later leaves one row', async () => {
  const [within, after, during] = [stand.marker(), stand.marker(), stand.marker()];
  const head = (marker: string): string =>
    stand.head('POST', stand.target('/forward', marker), [['Content-Length', '10']]);
  const first = await RawClient.connect(stand.port);
  first.send(`${head(within)}12345`);
  const second = await RawClient.connect(stand.port);
  second.send(`${head(after)}1234567890`);
  const third = await RawClient.connect(stand.port);
  third.send(`${head(during)}1234567890`);
  await eventually('three running requests', () => stand.metric('standin_receive_running_requests'), {
    accept: (count) => count >= 1,
  });
  for (const client of [first, second]) client.socket.resetAndDestroy();
  await third.answer();
  third.socket.resetAndDestroy();
  await stand.row(during);
  const countRows = async (marker: string): Promise<number> =>
    Number(await stand.query(`SELECT uniqExact(id) FROM log WHERE query = '${marker}' FORMAT TSV`));
  expect(await countRows(within)).toBe(0);
  expect(await countRows(after)).toBeLessThanOrEqual(1);
  expect(await countRows(during)).toBe(1);
}, 120_000);

test('20: a gateway stopped under load loses nothing and leaves undelivered records to its successor', async () => {
  const stopAndStart = async (): Promise<void> => {
    for (const kind of ['none', 'down'] as const) {
      await delay(500);
      clickhouse.fault = () => ({ kind });
      expect(await stand.gateway.kill('SIGTERM')).toEqual({ code: 0, signal: null });
      await startAgain();
    }
  };
  await oracle.load(RATE_PER_SECOND, stopAndStart());
  await oracle.verify();
}, 240_000);

const drain = (...args: readonly string[]): RunningProcess =>
  startProcess({
    name: 'standin admin drain',
    main: 'cli/src/main.ts',
    args: ['admin', 'drain', '--clickhouse-url', stand.clickhouse.url, ...args],
    env: { STANDIN_CLICKHOUSE_PASSWORD: stand.clickhouse.password },
  });

test('4: drains next to a live gateway, two at a time, disturb neither its requests under load nor an idle gateway', async () => {
  const drainTwice = async (): Promise<void> => {
    const both = [drain(spoolDir(), '--quiet-seconds', '0'), drain(spoolDir(), '--quiet-seconds', '0')];
    for (const one of both) expect(await one.ended()).toEqual({ code: 0, signal: null });
    for (const one of both) expect(one.logTail().at(-1)).toContain('a running gateway');
  };
  const drains = async (): Promise<void> => {
    for (const until = performance.now() + loadMs(1_000); performance.now() < until;) await drainTwice();
  };
  await oracle.load(RATE_PER_SECOND, drains());
  await oracle.verify();
  await eventually('an empty spool', segments, { accept: ({ length }) => length === 0 });
  await drainTwice();
  await oracle.verify();
  expect(oracle.rejections()).toEqual(new Map());
}, 1_800_000);

test('4: standin admin drain delivers the records of a gateway that never comes back, and empties its folder', async () => {
  await leaveRecordsOnDisk();
  // Test 15 left this folder. The test removes the folder, as an administrator would, so that `--expect-empty` finds nothing left.
  await rm(path.join(spoolDir(), 'quarantine'), { recursive: true, force: true });
  const early = drain(spoolDir(), '--expect-empty');
  expect((await early.ended()).code).toBe(1);
  expect(early.logTail().at(-1)).toContain('their gateway may still be writing');
  const late = drain(spoolDir(), '--expect-empty', '--quiet-seconds', '0');
  expect((await late.ended()).code).toBe(0);
  expect(late.logTail().at(-1)).toMatch(/^\d+ rows? delivered/);
  await oracle.verifyStored();
  expect(await segments()).toEqual([]);
  // The first folder is missing on an existing volume, as if the gateway had never started. The second volume does not exist.
  expect((await drain(path.join(spoolDir(), 'none'), '--expect-empty').ended()).code).toBe(0);
  expect((await drain(path.join(spoolDir(), 'none/at/all'), '--expect-empty').ended()).code).toBe(1);
}, 120_000);
