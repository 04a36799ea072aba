import { randomUUID } from 'node:crypto';
import {
  appendFile,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { LogRow } from '@standin/contract';
import { encodeRow, LOG_COLUMNS, LogStoreError, type InsertBatch } from '@standin/logstore';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { oldestReceivedMs, quiet } from '../gateway.testing.ts';
import {
  decodeHeader,
  encodeHeader,
  FRAME_HEAD_BYTES,
  HEADER_BYTES,
  newSegmentHeader,
  putFrameHead,
  readParts,
} from '../record/spool/segment-format.ts';
import { nodeDisk } from '../record/spool/spool-disk.ts';
import { isSegmentName } from '../record/spool/spool-folder.ts';
import { FaultyDisk, diskError, testRow } from '../record/spool/spool.testing.ts';
import { Spool, type SpoolOptions } from '../record/spool/spool.ts';
import { ByteBudget } from '../request/byte-budget.ts';
import { Delivery, type DeliveryOptions } from './delivery.ts';
import { DrainedFolders } from './drained-folders.ts';
import { MemorySink } from './memory-sink.testing.ts';
import { Quarantine, readQuarantine } from './quarantine.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const unavailable = (): never => {
  throw new LogStoreError('unavailable', { kind: 'retryable', code: '1' });
};
const rowIds = (rows: readonly LogRow[]): string[] => rows.map(({ id }) => id);

/** Opens the spool in a folder and starts its delivery, as a gateway does. */
const startOn = async (
  dir: string,
  sink: MemorySink,
  {
    migrate = false,
    onDrained = () => Promise.resolve(),
    disk = nodeDisk,
  }: Partial<DeliveryOptions> & Pick<SpoolOptions, 'disk'> = {},
) => {
  const quietMs = 600_000;
  const limits = { bytesMax: 10_000_000, segmentBytes: 1_000_000, reserveBytes: 0, quietMs };
  const budget = new ByteBudget(100_000_000);
  const spool = await Spool.open({ dir, durability: 'process', budget, logger: quiet, disk, ...limits });
  const delivery = new Delivery({ sink, spool, migrate, quietMs, onDrained, logger: quiet });
  delivery.start();
  const stopNow = async (timeoutMs: number): Promise<number> => {
    await spool.close();
    const left = await delivery.stop(timeoutMs);
    await spool.leave({ isSettled: true });
    return left;
  };
  let stopped: Promise<number> | undefined;
  const stop = (timeoutMs = 5_000): Promise<number> => (stopped ??= stopNow(timeoutMs));
  cleanups.push(() => stop(0));
  return { spool, delivery, stop };
};

const newFolder = async (): Promise<string> => {
  const dir = await mkdtemp(path.join(tmpdir(), 'standin-delivery-'));
  cleanups.push(() => rm(dir, { recursive: true, force: true }));
  return dir;
};

const setUp = async (options = {}) => {
  const dir = await newFolder();
  const sink = new MemorySink();
  return { dir, sink, ...(await startOn(dir, sink, options)) };
};

/** Copies a process's folder under another name, which begins with `digit`, as if the process had been killed. */
const crash = async (dir: string, spool: Spool, digit = '0'): Promise<string> => {
  const left = path.join(dir, `${digit}${randomUUID().slice(1)}`);
  // The delivery in progress would remove the copy as long as it is empty.
  const copy = path.join(tmpdir(), path.basename(left));
  await mkdir(copy);
  for (const name of (await readdir(spool.folder)).filter(isSegmentName))
    await copyFile(path.join(spool.folder, name), path.join(copy, name));
  await rename(copy, left);
  return left;
};

describe('rows', () => {
  test('that arrive together are delivered in one batch, and their segment is removed', async () => {
    const { dir, sink, spool, delivery, stop } = await setUp();
    const rows = [testRow(), testRow(), testRow()];
    await Promise.all(rows.map((row) => spool.exchange(row)));
    await sink.until(({ rows: taken }) => taken.length === 3);
    expect(sink.rows).toEqual(rows);
    expect(await stop()).toBe(0);
    expect([delivery.deliveredRows, delivery.deliveredBatches, await readdir(dir)]).toEqual([3, 1, []]);
  });

  test('keep their bytes and token across all retries, and later rows get a separate batch', async () => {
    const { sink, spool, delivery, stop } = await setUp();
    let failures = 2;
    sink.onInsert = () => (failures-- > 0 ? unavailable() : undefined);
    await spool.exchange(testRow());
    await sink.until(({ attempts }) => attempts.length === 1);
    await spool.exchange(testRow());
    expect(await stop()).toBe(0);
    expect(sink.rows).toHaveLength(2);
    const [first, second, third, fourth] = sink.attempts;
    expect([second, third]).toEqual([first, first]);
    expect(fourth?.token).not.toBe(first?.token);
    expect([delivery.failedAttempts, delivery.failingSinceMs]).toEqual([2, undefined]);
  });

  test('report when the oldest of them was received', async () => {
    const { dir, sink, spool, delivery } = await setUp();
    await expect.poll(() => oldestReceivedMs(delivery)).toBe(Infinity);
    sink.onInsert = unavailable;
    const before = performance.now();
    await spool.exchange(testRow({ requestUs: 1, durationUs: 2_000_000 }));
    const recorded = performance.now();
    expect(oldestReceivedMs(delivery)).toBeGreaterThanOrEqual(before - 2_000);
    expect(oldestReceivedMs(delivery)).toBeLessThanOrEqual(recorded - 2_000);
    await sink.until(({ attempts }) => attempts.length === 1);
    expect(oldestReceivedMs(delivery)).toBeLessThanOrEqual(recorded - 2_000);
    // This request is in a later segment but was received earlier, because its body took three seconds to arrive.
    await spool.exchange(testRow({ requestUs: 3_000_000, durationUs: 0 }));
    expect(oldestReceivedMs(delivery)).toBeLessThanOrEqual(performance.now() - 3_000);
    // The records of an earlier process may have any age.
    await crash(dir, spool);
    const later = await startOn(dir, sink);
    expect(oldestReceivedMs(later.delivery)).toBe(-Infinity);
    sink.onInsert = () => undefined;
    await expect.poll(() => oldestReceivedMs(delivery)).toBe(Infinity);
  });

  test('that ClickHouse always rejects are quarantined individually, with tokens derived from the batch', async () => {
    const { dir, sink, spool, delivery, stop } = await setUp();
    sink.onInsert = ({ rows }) => {
      if (rows.includes('poison')) throw new LogStoreError('bad row', { kind: 'permanent', code: '33' });
    };
    const rows = Array.from({ length: 9 }, (_, n) => testRow({ query: n === 4 ? 'poison' : `n=${n}` }));
    await Promise.all(rows.map((row) => spool.exchange(row)));
    await sink.until(({ rows: taken }) => taken.length === 8);
    expect(await stop()).toBe(0);
    expect(rowIds(sink.rows)).toEqual(rowIds(rows.filter(({ query }) => query !== 'poison')));
    expect(await readQuarantine(dir)).toMatchObject([{ kind: 'row', reason: 'bad row', row: { id: rows[4]?.id } }]);
    expect(delivery.quarantined).toBe(1);
    const token = sink.attempts[0]?.token ?? '?';
    for (const attempt of sink.attempts) expect(attempt.token.startsWith(token)).toBe(true);
    expect(new Set(sink.attempts.map((attempt) => attempt.token)).size).toBe(sink.attempts.length);
  });

  test('with encoded bodies are delivered with their texts, also again and in halves, and quarantined as they are', async () => {
    const { dir, sink, spool, delivery, stop } = await setUp();
    sink.onInsert = unavailable;
    const gzipped = (n: number): LogRow =>
      testRow({ query: `n=${n}`, requestHeaders: [['content-encoding', 'gzip']], requestBody: gzipSync(`text ${n}`) });
    const request = { ...gzipped(9), version: 1, outcome: 'response_unknown' } as const;
    const rows = [testRow(), gzipped(1), gzipped(2), gzipped(3)];
    await Promise.all([spool.request(request), ...rows.map((row) => spool.exchange(row))]);
    await sink.until(({ attempts }) => attempts.length > 0);
    await stop(0);
    const again = new MemorySink();
    again.onInsert = ({ rows: sent }) => {
      if (sent.includes('n=3')) throw new LogStoreError('bad row', { kind: 'permanent', code: '33' });
    };
    const later = await startOn(dir, again);
    await again.until(({ rows: taken }) => taken.length === 4);
    const texts = [...again.texts].map(([id, { requestText }]) => [id, Buffer.from(requestText).toString()]);
    const expected = [...rows.slice(1, 3), request].map(({ id, query }) => [id, query.replace('n=', 'text ')]);
    expect(texts.filter(([, text]) => text !== '')).toEqual(expected);
    expect(again.attempts[0]).toEqual(sink.attempts[0]);
    expect(again.attempts[0]?.rows.includes('text 3')).toBe(true);
    await expect.poll(() => later.delivery.quarantined).toBe(1);
    const [quarantined] = await readQuarantine(dir);
    expect(quarantined).toMatchObject({ bytes: encodeRow(gzipped(3)).length, row: { id: rows[3]?.id } });
    expect(delivery.quarantined).toBe(0);
  });

  test('without encoded bodies are delivered as they are', async () => {
    const { sink, spool } = await setUp();
    const row = testRow({ requestHeaders: [['content-type', 'application/json; charset=utf-8']] });
    await spool.exchange(row);
    await sink.until(({ rows }) => rows.length === 1);
    expect(sink.attempts[0]).toMatchObject({ rows: encodeRow(row), hasTexts: false });
  });

  test('that are quarantined again keep the entry of the first time', async () => {
    const { dir } = await setUp();
    const quarantine = new Quarantine(dir);
    const row = Buffer.from('a row');
    await quarantine.addRow({ row, columnCount: 1, reason: 'first' });
    const first = await readQuarantine(dir);
    await quarantine.addRow({ row, columnCount: 1, reason: 'second' });
    expect(await readQuarantine(dir)).toEqual(first);
    expect(quarantine.count).toBe(1);
  });

  test('wait until the tables exist', async () => {
    const { sink, spool, stop } = await setUp({ migrate: true });
    await spool.exchange(testRow());
    expect([await stop(), sink.rows.length]).toEqual([0, 1]);
  });

  test('wait on disk while ClickHouse is unavailable, and are delivered by the next process', async () => {
    const { dir, sink, spool, stop } = await setUp();
    sink.onInsert = unavailable;
    const row = testRow();
    await spool.exchange(row);
    await sink.until(({ attempts }) => attempts.length === 1);
    expect(await stop(50)).toBeGreaterThan(0);
    sink.onInsert = undefined;
    const next = await startOn(dir, sink);
    await sink.until(({ rows }) => rows.length === 1);
    expect(sink.rows).toEqual([row]);
    expect(new Set(sink.attempts.map(({ token }) => token)).size).toBe(1);
    expect(await next.stop()).toBe(0);
  });

  test('of a segment that another process has delivered and removed do not block the others', async () => {
    const { sink, spool, stop } = await setUp();
    sink.onInsert = unavailable;
    await spool.exchange(testRow());
    await sink.until(({ attempts }) => attempts.length === 1);
    await spool.exchange(testRow({ query: 'second' }));
    // The spool may be writing into it.
    await rm(spool.folder, { recursive: true, maxRetries: 10 });
    sink.onInsert = undefined;
    expect(await stop()).toBe(0);
  });
});

describe('a forwarded request', () => {
  const request = (): LogRow => testRow({ version: 1, action: 'Forward', outcome: 'response_unknown', status: 0 });
  const withResponse = (row: LogRow): LogRow => ({ ...row, version: 2, outcome: 'forwarded', status: 200 });

  test('stays on disk until its response is delivered, and is not stored as a separate row', async () => {
    const { sink, spool, stop } = await setUp();
    const row = request();
    await spool.request(row);
    await spool.exchange(testRow({ query: 'other' }));
    await sink.until(({ rows }) => rows.length === 1);
    expect((await readdir(spool.folder)).filter(isSegmentName)).toHaveLength(1);
    await spool.exchange(withResponse(row));
    expect(await stop()).toBe(0);
    expect(sink.rows.map(({ query, outcome }) => [query, outcome])).toEqual([
      ['other', 'mocked'],
      ['', 'forwarded'],
    ]);
  });

  test('is not stored without its response if a failed write left it in two segments', async () => {
    const disk = new FaultyDisk();
    const { sink, spool, stop } = await setUp({ disk });
    disk.isTruncateBroken = true;
    disk.onAppend = (bytes) => {
      disk.onAppend = () => undefined;
      return { error: diskError('EIO'), bytesWritten: bytes.length };
    };
    const row = request();
    expect(await spool.request(row)).toBe(true);
    await spool.exchange(withResponse(row));
    await sink.until(({ rows }) => rows.length === 1);
    expect(await stop()).toBe(0);
    expect(sink.rows.map(({ version }) => version)).toEqual([2]);
    expect(spool.guard.storedBytes).toBe(0);
  });

  test('that takes long soon holds up only its own project, and the rows beside it are not delivered again', async () => {
    const { dir, sink, spool, delivery, stop } = await setUp();
    const running = { ...request(), projectUid: 'project-slow' };
    await Promise.all([spool.request(running), spool.exchange(testRow())]);
    await sink.until(({ rows }) => rows.length === 1);
    // Until then, a Purge of the other project must wait, because the row could be delivered again after the Purge.
    expect(oldestReceivedMs(delivery, 'project-shop')).toBeLessThan(Infinity);
    await expect.poll(() => oldestReceivedMs(delivery, 'project-shop'), { timeout: 10_000 }).toBe(Infinity);
    expect(oldestReceivedMs(delivery, 'project-slow')).toBeLessThan(Infinity);
    const left = await crash(path.join(dir, '..'), spool);
    await spool.exchange(withResponse(running));
    expect(await stop()).toBe(0);
    expect(sink.rows.map(({ version, outcome, projectUid }) => [version, outcome, projectUid])).toEqual([
      [2, 'mocked', 'project-shop'],
      [0, 'in_progress', 'project-slow'],
      [2, 'forwarded', 'project-slow'],
    ]);
    expect(await readdir(dir)).toEqual([]);
    await rename(left, path.join(dir, path.basename(left)));
    // This log has forgotten the token of the segment.
    const forgetful = new MemorySink();
    const next = await startOn(dir, forgetful);
    await forgetful.until(({ rows }) => rows.length > 0);
    await next.stop();
    expect(forgetful.rows.map(({ id, version }) => [id, version])).toEqual([[running.id, 1]]);
  });

  test('beside one that takes longer holds up its project only until its response is delivered', async () => {
    const { sink, spool, delivery } = await setUp();
    const [endless, slow] = ['project-endless', 'project-slow'].map((projectUid) => ({ ...request(), projectUid }));
    if (endless === undefined || slow === undefined) throw new Error('no requests');
    await Promise.all([spool.request(endless), spool.request(slow), spool.exchange(testRow())]);
    await expect.poll(() => oldestReceivedMs(delivery, 'project-shop'), { timeout: 10_000 }).toBe(Infinity);
    await spool.exchange(withResponse(slow));
    await sink.until(({ rows }) => rows.filter(({ version }) => version === 2).length === 2);
    await expect.poll(() => oldestReceivedMs(delivery, 'project-slow'), { timeout: 10_000 }).toBe(Infinity);
    expect(oldestReceivedMs(delivery, 'project-endless')).toBeLessThan(Infinity);
  });

  test('that takes long is shown as in progress once, and the others leave its segment', async () => {
    const { sink, spool, delivery, stop } = await setUp();
    const body = Buffer.alloc(100_000, 'x');
    const [quick, endless] = [request(), request()];
    await Promise.all([spool.request({ ...quick, requestBody: body }), spool.request(endless)]);
    await sink.until(({ rows }) => rows.length === 2);
    expect(sink.rows.map(({ id, version, outcome }) => [id, version, outcome])).toEqual([
      [quick.id, 0, 'in_progress'],
      [endless.id, 0, 'in_progress'],
    ]);
    await expect.poll(() => spool.guard.storedBytes).toBeGreaterThan(100_000);
    await spool.exchange(withResponse(quick));
    await expect.poll(() => spool.guard.storedBytes, { timeout: 10_000 }).toBeLessThan(1_000);
    expect(oldestReceivedMs(delivery)).toBeLessThan(Infinity);
    expect(await stop()).toBe(0);
    expect(sink.rows.slice(2).map(({ id, version, outcome }) => [id, version, outcome])).toEqual([
      [quick.id, 2, 'forwarded'],
      [endless.id, 1, 'response_unknown'],
    ]);
  });

  test('is found by the text of its body while it is in progress', async () => {
    const { sink, spool } = await setUp();
    const requestBody = gzipSync('{"customer": "Ada"}');
    const running = { ...request(), requestHeaders: [['content-encoding', 'gzip']] as const, requestBody };
    await spool.request(running);
    await sink.until(({ rows }) => rows.length === 1);
    expect(sink.rows[0]).toMatchObject({ id: running.id, outcome: 'in_progress' });
    expect(String(sink.texts.get(running.id)?.requestText)).toBe('{"customer": "Ada"}');
  });

  test('does not hold up other rows while many are shown as in progress', async () => {
    const { sink, spool } = await setUp();
    const count = 10;
    // Delivers all segments at the same time, so that all are due then.
    const written = Promise.withResolvers<undefined>();
    sink.onInsert = () => written.promise;
    await spool.exchange(testRow());
    await expect.poll(() => sink.attempts.length).toBe(1);
    for (let n = 0; n < count; n++) {
      await spool.request(request());
      await spool.seal();
    }
    sink.onInsert = ({ rows }) => (rows.includes('in_progress') ? delay(100) : undefined);
    written.resolve(undefined);
    await sink.until(({ rows }) => rows.length === 2);
    const other = testRow({ query: 'other' });
    await spool.exchange(other);
    await sink.until(({ rows }) => rows.length === count + 2);
    expect(rowIds(sink.rows).slice(0, -1)).toContain(other.id);
  });

  test('is found at its place after a segment was replaced without this process having noticed', async () => {
    const { sink, spool, stop } = await setUp();
    const running = request();
    await spool.exchange(testRow());
    await spool.request(running);
    await sink.until(({ rows }) => rows.length === 1);
    // As after a failure to sync the folder.
    const [name = ''] = (await readdir(spool.folder)).filter(isSegmentName);
    const file = path.join(spool.folder, name);
    const segment = await readFile(file);
    const [, second] = readParts(segment, decodeHeader(segment) ?? newSegmentHeader(0));
    const start = second?.start ?? 0;
    const header = segment.subarray(0, HEADER_BYTES);
    await writeFile(file, Buffer.concat([header, segment.subarray(start - FRAME_HEAD_BYTES)]));
    await sink.until(({ rows }) => rows.length === 2);
    expect(sink.rows[1]).toEqual({ ...running, version: 0, outcome: 'in_progress' });
    expect(await stop()).toBe(0);
    expect(sink.rows[2]).toEqual(running);
  }, 10_000);

  test('whose record is damaged while it waits is left to the next process, which quarantines it', async () => {
    const { dir, sink, spool, stop } = await setUp();
    const [whole, damaged] = [request(), { ...request(), query: 'damaged' }];
    for (const row of [whole, damaged]) await spool.request(row);
    await spool.exchange(testRow());
    await sink.until(({ rows }) => rows.length === 1);
    const [name = ''] = (await readdir(spool.folder)).filter(isSegmentName);
    const file = path.join(spool.folder, name);
    const segment = await readFile(file);
    segment.write('D', segment.indexOf('damaged'));
    await writeFile(file, segment);
    await stop();
    expect(sink.rows.slice(1)).toEqual([whole]);
    const { delivery } = await startOn(dir, sink);
    await expect.poll(() => delivery.quarantined).toBe(1);
  });

  test('is left to another process that has delivered its segment', async () => {
    const { sink, spool, delivery, stop } = await setUp();
    await spool.request(request());
    await spool.exchange(testRow());
    await sink.until(({ rows }) => rows.length === 1);
    await rm(spool.folder, { recursive: true, maxRetries: 10 });
    await expect.poll(() => oldestReceivedMs(delivery), { timeout: 10_000 }).toBe(Infinity);
    expect([await stop(), spool.guard.storedBytes]).toEqual([0, 0]);
  });

  test('becomes a row with an unknown response on shutdown and after a crash', async () => {
    const { dir, sink, spool, stop } = await setUp();
    const [answered, cut] = [request(), request()];
    // A delivered segment would be removed before it is copied.
    const copied = Promise.withResolvers<undefined>();
    sink.onInsert = () => copied.promise;
    await spool.request(answered);
    await spool.request(cut);
    await spool.exchange(withResponse(answered));
    await spool.seal();
    // The first process must not deliver the copy, which it would find when its first scan is late.
    const copy = await crash(path.join(dir, '..'), spool);
    copied.resolve(undefined);
    await sink.until(({ rows }) => rows.length === 1);
    expect(await stop()).toBe(0);
    await rename(copy, path.join(dir, path.basename(copy)));
    const next = await startOn(dir, sink);
    await sink.until(({ rows }) => rows.length === 3);
    await next.stop();
    const versions = sink.rows.map(({ id, version, outcome }) => [id, version, outcome]);
    // The response in the copy is delivered again with the same id and version, so readers see it once.
    expect(versions).toEqual([
      [answered.id, 2, 'forwarded'],
      [cut.id, 1, 'response_unknown'],
      [answered.id, 2, 'forwarded'],
    ]);
  });
});

describe('the end of a segment', () => {
  /** Makes the first write of records fail before its last bytes, and keeps them in the file. */
  const tear = (): FaultyDisk => {
    const disk = new FaultyDisk();
    let failures = 1;
    disk.isTruncateBroken = true;
    disk.onAppend = ({ length }) =>
      failures-- > 0 ? { error: diskError('EIO'), bytesWritten: length - 10 } : undefined;
    return disk;
  };

  test('that an incomplete write left is skipped, because its records are in the next segment', async () => {
    const { dir, sink, spool, delivery, stop } = await setUp({ disk: tear() });
    const row = testRow();
    expect(await spool.exchange(row)).toBe(true);
    expect(await stop()).toBe(0);
    expect(sink.rows).toEqual([row]);
    expect([delivery.damagedRecords, delivery.quarantined]).toEqual([0, 0]);
    expect(await readdir(dir)).toEqual([]);
  });

  test('that an incomplete write of an earlier process left is skipped, too', async () => {
    const { dir, sink, spool, stop } = await setUp({ disk: tear() });
    sink.onInsert = unavailable;
    const row = testRow();
    expect(await spool.exchange(row)).toBe(true);
    await crash(dir, spool);
    // The spool may be writing into it.
    await rm(spool.folder, { recursive: true, maxRetries: 10 });
    await stop(0);
    const later = new MemorySink();
    const { delivery } = await startOn(dir, later);
    await later.until(({ rows }) => rows.length === 1);
    expect(later.rows).toEqual([row]);
    expect([delivery.damagedRecords, delivery.quarantined]).toEqual([0, 0]);
  });

  test('that is missing after it was acknowledged is damage, which is kept and counted', async () => {
    const { sink, spool, delivery } = await setUp();
    const truncated = Promise.withResolvers<undefined>();
    sink.onInsert = () => truncated.promise;
    await spool.exchange(testRow());
    await expect.poll(() => sink.attempts.length).toBe(1);
    await spool.exchange(testRow());
    await spool.seal();
    const second = path.join(spool.folder, '0000000002.seg');
    await writeFile(second, (await readFile(second)).subarray(0, -10));
    truncated.resolve(undefined);
    await expect.poll(() => delivery.quarantined).toBe(1);
    expect([sink.rows.length, delivery.damagedRecords]).toEqual([1, 1]);
  });
});

describe('the spool of an earlier process', () => {
  /** Leaves a folder with `count` rows in one segment, as a killed process does. */
  const leave = async (count: number) => {
    const stand = await setUp();
    stand.sink.onInsert = unavailable;
    const rows = Array.from({ length: count }, (_, n) => testRow({ query: `n=${n}` }));
    for (const row of rows) await stand.spool.exchange(row);
    const folder = await crash(stand.dir, stand.spool);
    await rm(stand.spool.folder, { recursive: true });
    await stand.stop(0);
    const sink = new MemorySink();
    return { dir: stand.dir, folder, rows, sink, file: path.join(folder, '0000000001.seg') };
  };

  test('is delivered at the next start, and its last segment stays until it is quiet and is delivered again if it grows', async () => {
    const { dir, folder, rows, sink, file } = await leave(3);
    const whole = await readFile(file);
    await writeFile(file, whole.subarray(0, whole.length - 10));
    await (await startOn(dir, sink)).stop(0);
    const first = await startOn(dir, sink);
    await sink.until(({ rows: taken }) => taken.length === 2);
    await first.stop();
    const [taken = ''] = await readdir(folder);
    expect(taken).toBe(`0000000001.seg.taken-${whole.length - 10}`);

    await appendFile(path.join(folder, taken), whole.subarray(-10));
    const second = await startOn(dir, sink);
    await sink.until(({ rows: all }) => all.length === 5);
    await second.stop();
    expect(new Set(rowIds(sink.rows))).toEqual(new Set(rowIds(rows)));

    const longAgo = new Date(Date.now() - 3_600_000);
    await utimes(path.join(folder, `0000000001.seg.taken-${whole.length}`), longAgo, longAgo);
    const third = await startOn(dir, sink);
    await expect.poll(() => readdir(dir)).toEqual([path.basename(third.spool.folder)]);
    expect(sink.rows).toHaveLength(5);
  });

  test('counts as delivered when its rows are in the log, although its last segment stays', async () => {
    const { dir, sink } = await leave(2);
    const { promise: works, resolve } = Promise.withResolvers<undefined>();
    sink.onInsert = () => works;
    const { delivery } = await startOn(dir, sink);
    await expect.poll(() => sink.attempts).toHaveLength(1);
    expect(delivery.hasDelivered(delivery.lastFile)).toBe(false);
    resolve(undefined);
    await expect.poll(() => delivery.hasDelivered(delivery.lastFile)).toBe(true);
    expect(sink.rows).toHaveLength(2);
    expect(oldestReceivedMs(delivery)).toBe(-Infinity);
  });

  test('is delivered although own rows arrive faster than the log accepts them', async () => {
    const { dir, rows, sink } = await leave(2);
    const { promise: prepared, resolve } = Promise.withResolvers<undefined>();
    sink.migrate = () => prepared.then(() => undefined);
    sink.onInsert = () => delay(300);
    const { spool } = await startOn(dir, sink, { migrate: true });
    const isDelivered = (): boolean => rows.every(({ id }) => rowIds(sink.rows).includes(id));
    await spool.exchange(testRow());
    await delay(300);
    resolve(undefined);
    while (!isDelivered() && sink.attempts.length < 5) {
      await spool.exchange(testRow());
      await delay(20);
    }
    expect(isDelivered()).toBe(true);
  });

  test('is reported when it is fully delivered, until a report is accepted', async () => {
    const { dir, folder, sink, file } = await leave(2);
    const longAgo = new Date(Date.now() - 3_600_000);
    await utimes(file, longAgo, longAgo);
    const reported: string[] = [];
    const failToReport = (incarnation: string): Promise<void> => {
      reported.push(incarnation);
      return Promise.reject(new Error('unavailable'));
    };
    const first = await startOn(dir, sink, { onDrained: failToReport });
    await expect.poll(() => reported).toEqual([path.basename(folder)]);
    expect(sink.rows).toHaveLength(2);
    await first.stop();
    expect(await readdir(dir)).toEqual([`${path.basename(folder)}.drained`]);

    const onDrained = vi.fn(() => Promise.resolve());
    const second = await startOn(dir, sink, { onDrained });
    await expect.poll(() => readdir(dir)).toEqual([path.basename(second.spool.folder)]);
    expect(onDrained.mock.calls).toEqual([[path.basename(folder)]]);
  });

  test('is reported even if the report of another folder fails', async () => {
    const dir = await newFolder();
    const [first, second] = ['1', '2'].map((digit) => `${digit}${randomUUID().slice(1)}`) as [string, string];
    for (const incarnation of [first, second]) await mkdir(path.join(dir, `${incarnation}.drained`));
    const onDrained = (incarnation: string): Promise<void> =>
      incarnation === first ? Promise.reject(new Error('unavailable')) : Promise.resolve();
    await new DrainedFolders({ dir, quarantine: new Quarantine(dir), onDrained, logger: quiet }).report();
    const left = (await readdir(dir)).filter((name) => name.endsWith('.drained'));
    expect(left).toEqual([`${first}.drained`]);
  });

  test('is not reported if part of it is in quarantine, because the log is incomplete', async () => {
    const { dir, sink, file } = await leave(2);
    const bytes = await readFile(file);
    bytes[bytes.length - 5] = (bytes[bytes.length - 5] ?? 0) ^ 1;
    await writeFile(file, bytes);
    const longAgo = new Date(Date.now() - 3_600_000);
    await utimes(file, longAgo, longAgo);
    const onDrained = vi.fn(() => Promise.resolve());
    const { spool } = await startOn(dir, sink, { onDrained });
    await expect.poll(() => readdir(dir)).toEqual([path.basename(spool.folder), 'quarantine']);
    expect(onDrained).not.toHaveBeenCalled();
  });

  test('is not touched while that process is alive, even if it is idle', async () => {
    const { dir, sink, spool } = await setUp();
    const copied = Promise.withResolvers<undefined>();
    sink.onInsert = () => copied.promise;
    await spool.exchange(testRow());
    // This folder follows the live one, so both have been looked at when its row is delivered.
    await crash(dir, spool, 'f');
    copied.resolve(undefined);
    await sink.until(({ rows }) => rows.length === 1);
    const otherSink = new MemorySink();
    const other = await startOn(dir, otherSink);
    await otherSink.until(({ rows }) => rows.length === 1);
    expect(await spool.exchange(testRow())).toBe(true);
    await sink.until(({ rows }) => rows.length === 2);
    expect(oldestReceivedMs(other.delivery)).toBe(-Infinity);
  });

  test.each([
    ['an earlier version is inserted with the columns of that version', -3],
    ['a later version stays for that version', 1],
  ])('of %s', async (_what, moreColumns) => {
    const { dir, rows, file } = await leave(1);
    const columnCount = LOG_COLUMNS.length + moreColumns;
    const header = newSegmentHeader(columnCount);
    // Without the bytes of two empty strings and a number. A later version has more bytes, which do not matter here.
    const row = encodeRow(rows[0] ?? testRow()).subarray(0, -10);
    const frame = Buffer.concat([Buffer.alloc(FRAME_HEAD_BYTES), row]);
    putFrameHead(frame, 0, { header, type: 'exchange', mayHaveText: false, rowBytes: row.length });
    await writeFile(file, Buffer.concat([encodeHeader(header), frame]));
    const longAgo = new Date(Date.now() - 3_600_000);
    await utimes(file, longAgo, longAgo);
    const sink = new MemorySink();
    const batches: InsertBatch[] = [];
    sink.insert = (batch) => {
      batches.push({ ...batch, rows: Buffer.from(batch.rows) });
      return Promise.resolve();
    };
    const { spool, delivery, stop } = await startOn(dir, sink);
    if (moreColumns < 0) await expect.poll(() => readdir(dir)).toEqual([path.basename(spool.folder)]);
    // The pass is over when the file has another name.
    else await expect.poll(() => readdir(path.dirname(file))).not.toContain(path.basename(file));
    expect(delivery.hasDelivered(delivery.lastFile)).toBe(moreColumns < 0);
    await spool.exchange(testRow());
    await stop();
    const older = batches.filter((batch) => batch.columnCount === columnCount);
    expect(older.map((batch) => batch.rows)).toEqual(moreColumns < 0 ? [row] : []);
    expect((await readdir(dir)).length).toBe(moreColumns < 0 ? 0 : 1);
  });

  test('is delivered except for a damaged record, which is kept and counted', async () => {
    const { dir, rows, sink, file } = await leave(3);
    const bytes = await readFile(file);
    const middle = bytes.indexOf('n=1');
    bytes[middle] = (bytes[middle] ?? 0) ^ 1;
    await writeFile(file, bytes);
    const { delivery } = await startOn(dir, sink);
    await sink.until(({ rows: taken }) => taken.length === 2);
    await expect.poll(() => delivery.damagedRecords).toBe(1);
    expect(rowIds(sink.rows)).toEqual([rows[0]?.id, rows[2]?.id]);
    const [damage] = await readQuarantine(dir);
    expect(damage).toMatchObject({ kind: 'damage', segment: file, row: undefined });
    expect((await readFile(damage?.file ?? '')).includes('o=1')).toBe(true);
  });

  test('is kept and counted if it is not a readable segment', async () => {
    const { dir, sink, file } = await leave(1);
    const bytes = await readFile(file);
    bytes[0] = 0;
    await writeFile(file, bytes);
    const { delivery } = await startOn(dir, sink);
    await expect.poll(() => delivery.quarantined).toBe(1);
    expect(sink.attempts).toEqual([]);
  });
});
