import { mkdir, mkdtemp, readdir, rename, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FakeOperator } from '../config/fake-operator.testing.ts';
import { makeStreamCertificates } from '../config/stream-certificates.testing.ts';
import { reportDrained } from '../config/report-drained.ts';
import { quiet, writeCertificates } from '../gateway.testing.ts';
import { testRow } from '../record/spool/spool.testing.ts';
import { Spool } from '../record/spool/spool.ts';
import { ByteBudget } from '../request/byte-budget.ts';
import { drainSpool, type DrainOptions } from './drain-spool.ts';
import { MemorySink } from './memory-sink.testing.ts';

const QUIET_MS = 600_000;
const INCARNATION = '01938f5e-0000-7000-8000-000000000000';

let dir: string;
let sink: MemorySink;

const openSpool = (): Promise<Spool> =>
  Spool.open({
    dir,
    durability: 'process',
    bytesMax: 10_000_000,
    segmentBytes: 1_000_000,
    reserveBytes: 0,
    quietMs: QUIET_MS,
    budget: new ByteBudget(100_000_000),
    logger: quiet,
  });

/** Creates the spool of a gateway that stopped while ClickHouse was unavailable. */
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'standin-drain-'));
  sink = new MemorySink();
  const spool = await openSpool();
  await Promise.all([testRow(), testRow()].map((row) => spool.exchange(row)));
  await spool.close();
  await spool.leave({ isSettled: false });
  await rename(spool.folder, path.join(dir, INCARNATION));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const drain = (options: Partial<DrainOptions> = {}) =>
  drainSpool({
    dir,
    sink,
    logger: quiet,
    quietMs: QUIET_MS,
    migrate: true,
    signal: new AbortController().signal,
    ...options,
  });

/** Makes the last write an hour old. */
const ageSpool = async (): Promise<void> => {
  const longAgo = new Date(Date.now() - 3_600_000);
  for (const file of await readdir(path.join(dir, INCARNATION)))
    await utimes(path.join(dir, INCARNATION, file), longAgo, longAgo);
};

test('a segment that may still grow is delivered but not removed', async () => {
  const drained = await drain();
  expect(drained).toMatchObject({ rows: 2, quarantined: 0, unreported: 0, gaveUp: false });
  expect(drained.leftBytes).toBeGreaterThan(0);
  expect(await readdir(dir)).toEqual([INCARNATION]);
});

test('a quiet segment is removed, and its folder stays until the operator is notified', async () => {
  await ageSpool();
  expect(await drain()).toMatchObject({ rows: 2, leftBytes: 0, unreported: 1 });
  expect(await readdir(dir)).toEqual([`${INCARNATION}.drained`]);
  const failToReport = () => Promise.reject(new Error('unavailable'));
  expect(await drain({ onDrained: failToReport })).toMatchObject({ rows: 0, unreported: 1 });
  expect(sink.rows).toHaveLength(2);
});

test('the leading operator is notified, regardless of which address it has', async () => {
  const certificates = await makeStreamCertificates();
  const tlsDir = await mkdtemp(path.join(tmpdir(), 'standin-drain-tls-'));
  await writeCertificates(tlsDir, certificates);
  const [follower, leader] = [await FakeOperator.listen(certificates), await FakeOperator.listen(certificates)];
  follower.leads = false;
  try {
    await ageSpool();
    const onDrained = (incarnation: string) => reportDrained({ urls: [follower.url, leader.url], tlsDir }, incarnation);
    expect(await drain({ onDrained })).toMatchObject({ rows: 2, leftBytes: 0, unreported: 0 });
    expect([follower.drained, leader.drained]).toEqual([[], [INCARNATION]]);
    expect(await readdir(dir)).toEqual([]);
    await expect(reportDrained({ urls: [follower.url], tlsDir }, INCARNATION)).rejects.toThrow('503');
  } finally {
    await Promise.all([follower.close(), leader.close()]);
    await rm(tlsDir, { recursive: true });
  }
});

test('the folder of a gateway that is alive is not touched, and its permits are not settled', async () => {
  await ageSpool();
  const spool = await openSpool();
  const reported: string[] = [];
  const onDrained = (incarnation: string): Promise<void> => Promise.resolve(void reported.push(incarnation));
  expect(await drain({ quietMs: 0, onDrained })).toMatchObject({ rows: 2, leftBytes: 0, inUse: 1, unreported: 0 });
  expect(await spool.exchange(testRow())).toBe(true);
  expect(await drain({ quietMs: 0, onDrained })).toMatchObject({ rows: 0, inUse: 1 });
  expect(reported).toEqual([INCARNATION]);
  await spool.close();
  await spool.leave({ isSettled: false });
  await vi.waitUntil(async () => (await drain({ quietMs: 0, onDrained })).leftBytes === 0);
  expect(reported).toEqual([INCARNATION, spool.incarnation]);
  expect(sink.rows).toHaveLength(3);
});

test('a folder that cannot be locked is reported, and does not hold up the others', async () => {
  await ageSpool();
  const unusable = path.join(dir, '01938f5d-0000-7000-8000-000000000000');
  await mkdir(path.join(unusable, 'lock'), { recursive: true });
  await expect(drain()).rejects.toThrow(`cannot lock ${path.join(unusable, 'lock')}`);
  expect(sink.rows).toHaveLength(2);
  expect((await readdir(dir)).sort()).toEqual([path.basename(unusable), `${INCARNATION}.drained`]);
});

test('two drains at once both end, and only one of them delivers', async () => {
  await ageSpool();
  const inserted = Promise.withResolvers<undefined>();
  const inserting = Promise.withResolvers<undefined>();
  sink.onInsert = () => {
    inserting.resolve(undefined);
    return inserted.promise;
  };
  const onDrained = () => Promise.resolve();
  const first = drain({ onDrained });
  await inserting.promise;
  expect(await drain({ onDrained })).toMatchObject({ rows: 0, inUse: 1 });
  inserted.resolve(undefined);
  expect(await first).toMatchObject({ rows: 2, leftBytes: 0, inUse: 0, unreported: 0 });
  expect(sink.attempts).toHaveLength(1);
  expect(await readdir(dir)).toEqual([]);
});

test('many drains at once all end', async () => {
  await ageSpool();
  const onDrained = () => Promise.resolve();
  const all = await Promise.all(Array.from({ length: 20 }, () => drain({ onDrained })));
  expect(all.reduce((sum, { rows }) => sum + rows, 0)).toBe(2);
  expect(await readdir(dir)).toEqual([]);
});
