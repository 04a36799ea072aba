import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { LogRow } from '@standin/contract';
import { expect, onTestFinished, test } from 'vitest';
import { quiet } from '../gateway.testing.ts';
import { testRow } from '../record/spool/spool.testing.ts';
import { Spool } from '../record/spool/spool.ts';
import { ByteBudget } from '../request/byte-budget.ts';
import { FolderDrain } from './folder-drain.ts';
import { Inserter } from './inserter.ts';
import { MemorySink } from './memory-sink.testing.ts';
import { Quarantine } from './quarantine.ts';

const setUp = async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'standin-folder-drain-'));
  const limits = { bytesMax: 10_000_000, segmentBytes: 1_000_000, reserveBytes: 0, quietMs: 600_000 };
  const budget = new ByteBudget(100_000_000);
  const spool = await Spool.open({ dir, durability: 'process', budget, logger: quiet, ...limits });
  const common = { quarantine: new Quarantine(dir), logger: quiet };
  const drain = new FolderDrain({ ...common, inserter: new Inserter({ ...common, sink: new MemorySink() }) });
  onTestFinished(async () => {
    await spool.close();
    await spool.leave({ isSettled: false });
    await rm(dir, { recursive: true });
  });
  const deliver = async (): Promise<void> => {
    await spool.seal();
    const sealed = spool.takeSealed();
    if (sealed === undefined) throw new Error('nothing to deliver');
    await drain.deliver(sealed.file, sealed);
  };
  return { spool, drain, deliver };
};

const request = (projectUid: string): LogRow => testRow({ projectUid, version: 1, outcome: 'response_unknown' });

test('a request that has ended leaves its segment when it was the last one of its project, or half of the bytes are left', async () => {
  const { spool, drain, deliver } = await setUp();
  const rows = ['a', 'a', 'a', 'a', 'a', 'b'].map(request);
  for (const row of rows) await spool.request(row);
  await deliver();
  const compact = () => expect.poll(() => drain.compact(), { timeout: 5_000 }).toBe(true);
  const end = async (index: number): Promise<boolean> => {
    const row = rows[index];
    if (row !== undefined) await spool.exchange({ ...row, version: 2, outcome: 'forwarded' });
    await deliver();
    return drain.compactAtMs < Infinity;
  };
  await compact();
  expect(await end(0)).toBe(false);
  expect(await end(5)).toBe(true);
  await compact();
  expect([await end(1), await end(2)]).toEqual([false, true]);
  await compact();
  expect(drain.compactAtMs).toBe(Infinity);
}, 15_000);
