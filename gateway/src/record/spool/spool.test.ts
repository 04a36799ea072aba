import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as endOfTurn, setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { quiet } from '../../gateway.testing.ts';
import { ByteBudget } from '../../request/byte-budget.ts';
import { diskError, FaultyDisk, recordsIn, testRow } from './spool.testing.ts';
import { Spool, type SpoolOptions } from './spool.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const openSpool = async (options: Partial<SpoolOptions> = {}) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'standin-spool-'));
  const disk = new FaultyDisk();
  const budget = new ByteBudget(100_000_000);
  const limits = { bytesMax: 1_000_000, segmentBytes: 100_000, reserveBytes: 0, quietMs: 600_000, ...options };
  const spool = await Spool.open({ dir, durability: 'process', budget, logger: quiet, disk, ...limits });
  cleanups.push(async () => {
    await spool.close();
    await rm(dir, { recursive: true, force: true });
  });
  const stored = async (): Promise<string[]> => (await recordsIn(spool.folder)).map(({ row }) => row.id);
  return { dir, disk, budget, spool, stored };
};

describe('a record', () => {
  test('is in a segment when the spool has accepted it, and is written together with simultaneous records', async () => {
    const { disk, budget, spool, stored } = await openSpool();
    const rows = Array.from({ length: 50 }, (_, n) => testRow({ requestBody: Buffer.alloc(n, n) }));
    expect(await Promise.all(rows.map((row) => spool.exchange(row)))).toEqual(rows.map(() => true));
    expect(await stored()).toEqual(rows.map(({ id }) => id));
    expect((await recordsIn(spool.folder)).map(({ row }) => row)).toEqual(rows);
    expect([disk.appends, spool.commits, budget.unrecordedBytes]).toEqual([1, 1, 0]);
  });

  test('that arrives during a write waits for the next one', async () => {
    const { disk, spool } = await openSpool();
    const writing = Promise.withResolvers<undefined>();
    const begun = Promise.withResolvers<undefined>();
    disk.onAppend = () => {
      begun.resolve(undefined);
      return writing.promise;
    };
    const first = spool.exchange(testRow());
    await begun.promise;
    const later = Promise.all([spool.exchange(testRow()), spool.exchange(testRow())]);
    writing.resolve(undefined);
    expect([await first, await later, disk.appends]).toEqual([true, [true, true], 2]);
  });

  describe('while others arrive', () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
    afterEach(() => void vi.useRealTimers());

    test('is written together with those of the next turns of the event loop', async () => {
      const { disk, spool } = await openSpool();
      const records = [spool.exchange(testRow()), spool.exchange(testRow())];
      for (let turn = 0; turn < 10; turn += 1) {
        await endOfTurn();
        records.push(spool.exchange(testRow()));
      }
      expect([new Set(await Promise.all(records)), disk.appends]).toEqual([new Set([true]), 1]);
    });

    test('is written after a millisecond, even if they never stop', async () => {
      const { disk, spool } = await openSpool();
      const records = [spool.exchange(testRow()), spool.exchange(testRow())];
      for (let turn = 0; turn < 100; turn += 1) {
        await endOfTurn();
        vi.advanceTimersByTime(0.1);
        records.push(spool.exchange(testRow()));
      }
      await Promise.all(records);
      expect(disk.appends).toBeGreaterThan(1);
    });
  });

  test('of a request is separate from the response that follows', async () => {
    const { spool } = await openSpool();
    const request = testRow({ version: 1, action: 'Forward', outcome: 'response_unknown' });
    const answer = { ...request, version: 2 as const, outcome: 'forwarded' as const };
    expect([await spool.request(request), await spool.exchange(answer), await spool.exchange(testRow())]).toEqual([
      true,
      true,
      true,
    ]);
    expect((await recordsIn(spool.folder)).map(({ type }) => type)).toEqual(['request', 'response', 'exchange']);
  });

  test('of a request is read again until its response follows, unless it is damaged', async () => {
    const { spool } = await openSpool();
    const bodies = ['first', 'second', 'third'].map((text) => Buffer.from(text.repeat(1_000)));
    const requests = bodies.map((requestBody) => testRow({ version: 1, requestBody }));
    await spool.exchange(testRow());
    await Promise.all(requests.map((row) => spool.request(row)));
    const read = () => Promise.all(requests.map(async ({ id }) => Buffer.from(await spool.requestBody(id))));
    expect(await read()).toEqual(bodies);
    await spool.seal();
    expect(await read()).toEqual(bodies);
    const [damaged, moved, ended] = requests.map(({ id }) => id) as [string, string, string];
    const { file = '' } = spool.takeSealed() ?? {};
    const bytes = await readFile(file);
    const at = bytes.indexOf('first');
    await writeFile(file, bytes.fill('x', at, at + 1));
    await expect(spool.requestBody(damaged)).rejects.toThrow('cannot be read');
    spool.moving(moved, { file, start: at, end: at + 5 });
    expect(Buffer.from(await spool.requestBody(moved))).toEqual(bodies[1]);
    spool.moved(moved);
    await expect(spool.requestBody(moved)).rejects.toThrow('cannot be read');
    await spool.exchange({ ...testRow(), id: ended });
    await expect(spool.requestBody(ended)).rejects.toThrow('cannot be read');
  });

  test('is refused after the spool is closed', async () => {
    const { spool, stored } = await openSpool();
    await spool.close();
    expect([await spool.exchange(testRow()), await spool.request(testRow()), await stored()]).toEqual([
      false,
      false,
      [],
    ]);
  });
});

describe('segments', () => {
  test('are sealed at their maximum size, and a larger record gets its own segment', async () => {
    const { spool } = await openSpool({ segmentBytes: 10_000 });
    for (let n = 0; n < 40; n++)
      await spool.exchange(testRow({ requestBody: Buffer.alloc(n === 20 ? 50_000 : 1_000) }));
    await spool.seal();
    const sealed = [];
    for (let next = spool.takeSealed(); next !== undefined; next = spool.takeSealed()) sealed.push(next);
    for (const { file, bytes } of sealed) expect((await stat(file)).size).toBe(bytes);
    const sizes = sealed.map(({ bytes }) => bytes);
    expect(sizes.filter((bytes) => bytes > 10_000)).toEqual([expect.closeTo(50_400, -3)]);
    expect(sizes.length).toBeLessThan(10);
    expect(await recordsIn(spool.folder)).toHaveLength(40);
    expect(spool.guard.storedBytes).toBe(sizes.reduce((sum, bytes) => sum + bytes, 0));
  });

  test('without records are not delivered and leave no file', async () => {
    const { spool } = await openSpool();
    await spool.seal();
    expect([spool.takeSealed(), await recordsIn(spool.folder)]).toEqual([undefined, []]);
  });
});

describe('a full disk', () => {
  test('refuses new requests, keeps responses to accepted ones, and is used again when it has room', async () => {
    const { disk, budget, spool, stored } = await openSpool();
    const request = testRow({ version: 1 });
    expect(await spool.request(request)).toBe(true);
    disk.isFull = true;
    const refused = testRow();
    expect(await spool.exchange(refused)).toBe(false);
    expect(spool.isFull).toBe(true);
    const answered = spool.exchange({ ...request, version: 2 });
    await spool.checkDisk();
    expect(await spool.exchange(testRow())).toBe(false);
    disk.isFull = false;
    expect(await answered).toBe(true);
    expect(spool.isFull).toBe(false);
    expect([await stored(), budget.unrecordedBytes]).toEqual([[request.id, request.id], 0]);
  });

  test('is detected before the reserve is used up', async () => {
    const { disk, spool, stored } = await openSpool({ reserveBytes: 5_000 });
    disk.free = 6_000;
    await spool.checkDisk();
    const answers = [];
    for (let n = 0; n < 4; n++) answers.push(await spool.exchange(testRow({ requestBody: Buffer.alloc(400) })));
    expect([answers, spool.isFull, disk.appends]).toEqual([[true, false, false, false], false, 1]);
    disk.free = 4_999;
    await spool.checkDisk();
    expect(spool.isFull).toBe(true);
    disk.free = 50_000;
    await spool.checkDisk();
    expect([spool.isFull, await spool.exchange(testRow())]).toEqual([false, true]);
    expect(await stored()).toHaveLength(2);
  });

  test('is logged once with the free and the reserved space, and once more when it has room again', async () => {
    const lines: string[] = [];
    const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
    const { disk, spool } = await openSpool({ logger, reserveBytes: 256 * 1024 * 1024 });
    disk.free = 100 * 1024 * 1024;
    for (let n = 0; n < 3; n++) await spool.checkDisk();
    disk.free = 1e9;
    await spool.checkDisk();
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({
        msg: 'spool full, rejecting requests with 503',
        reason: expect.stringMatching(
          /^the disk that holds .+ has 100 MiB free, but 256 MiB must stay free: delete other files, or use a larger disk$/,
        ) as string,
      }),
      expect.objectContaining({ msg: 'spool has room again' }),
    ]);
  });

  test('is logged with the namespace that has used up its share, at most once a minute', async () => {
    const lines: unknown[] = [];
    const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const { spool } = await openSpool({ logger });
    spool.guard.pool.add('team-a', 900_000);
    expect(['team-a', 'team-a', 'team-b'].map((namespace) => spool.admits(namespace))).toEqual([false, false, true]);
    expect(lines).toEqual([
      expect.objectContaining({
        namespace: 'team-a',
        msg: 'share of the spool used up, rejecting requests with 503',
      }),
    ]);
  });

  test('is probed without a pending request and then used again', async () => {
    const { disk, spool } = await openSpool();
    disk.isFull = true;
    expect(await spool.exchange(testRow())).toBe(false);
    await spool.checkDisk();
    expect(spool.isFull).toBe(true);
    disk.isFull = false;
    await spool.checkDisk();
    expect([spool.isFull, await spool.exchange(testRow())]).toEqual([false, true]);
  });
});

test('a disk that does not respond refuses new requests after five checks, occupies one thread, and is used again', async () => {
  const lines: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const { disk, spool, stored } = await openSpool({ logger });
  const hung = Promise.withResolvers<undefined>();
  disk.onAppend = () => hung.promise;
  let checks = 0;
  disk.freeBytes = () => {
    checks += 1;
    return hung.promise.then(() => 1e9);
  };
  const waiting = spool.exchange(testRow());
  const isFull = [];
  for (let interval = 0; interval < 6; interval++) {
    void spool.checkDisk();
    isFull.push(spool.isFull);
  }
  expect([isFull, checks]).toEqual([[false, false, false, false, true, true], 1]);
  expect(await spool.exchange(testRow())).toBe(false);
  hung.resolve(undefined);
  expect(await waiting).toBe(true);
  await spool.checkDisk();
  expect([spool.isFull, await spool.exchange(testRow())]).toEqual([false, true]);
  expect(await stored()).toHaveLength(2);
  expect(lines.map((line) => (JSON.parse(line) as { reason?: string }).reason)).toEqual([
    expect.stringMatching(/^the disk that holds .+ has completed no write for 5 s: check the disk$/),
    undefined,
  ]);
});

test('the error for a folder that cannot be created names the folder', async () => {
  const limits = { bytesMax: 1_000, segmentBytes: 1_000, reserveBytes: 0, quietMs: 600_000 };
  const budget = new ByteBudget(1_000);
  const dir = path.join(import.meta.filename, 'spool');
  await expect(Spool.open({ dir, durability: 'process', budget, logger: quiet, ...limits })).rejects.toThrow(
    `cannot use the spool folder ${dir}: ENOTDIR`,
  );
});

test('a spool at its maximum size refuses records until a segment is delivered', async () => {
  const { spool } = await openSpool({ bytesMax: 1_900 });
  const answers = [];
  for (let n = 0; n < 5; n++) answers.push(await spool.exchange(testRow({ requestBody: Buffer.alloc(400) })));
  expect(answers).toEqual([true, true, false, false, false]);
  await spool.seal();
  spool.takeSealed()?.shares.free();
  expect(await spool.exchange(testRow())).toBe(true);
});

test('a segment that other processes may consider abandoned gets no more records', async () => {
  const { spool } = await openSpool({ quietMs: 400 });
  for (const pauseMs of [0, 0, 250]) {
    await delay(pauseMs);
    expect(await spool.exchange(testRow())).toBe(true);
  }
  const found = (await recordsIn(spool.folder)).map(({ segment }) => segment);
  expect(found).toEqual(['0000000001.seg', '0000000001.seg', '0000000002.seg']);
});

describe('a failed write', () => {
  test('is never repeated in its segment: acknowledged records stay, and the others move to a new segment', async () => {
    const { disk, spool } = await openSpool();
    const kept = testRow();
    expect(await spool.exchange(kept)).toBe(true);
    let failures = 1;
    disk.onAppend = (bytes) => (failures-- > 0 ? { error: diskError('EIO'), bytesWritten: bytes.length } : undefined);
    const moved = [testRow(), testRow()];
    expect(await Promise.all(moved.map((row) => spool.exchange(row)))).toEqual([true, true]);
    expect((await recordsIn(spool.folder)).map(({ segment, row }) => [segment, row.id])).toEqual([
      ['0000000001.seg', kept.id],
      ['0000000002.seg', moved[0]?.id],
      ['0000000002.seg', moved[1]?.id],
    ]);
    expect([spool.failedCommits, spool.isFull]).toEqual([1, false]);
  });

  test('is retried until it succeeds if its bytes cannot be removed', async () => {
    const { disk, spool, stored } = await openSpool();
    disk.isTruncateBroken = true;
    let failures = 3;
    disk.onAppend = (bytes) => (failures-- > 0 ? { error: diskError('EIO'), bytesWritten: bytes.length } : undefined);
    const row = testRow();
    expect(await spool.exchange(row)).toBe(true);
    expect(new Set(await stored())).toEqual(new Set([row.id]));
  });
});

test('a record whose bytes may be in a file is not refused if the disk becomes read-only during the write', async () => {
  const { disk, spool, stored } = await openSpool();
  const kept = testRow();
  expect(await spool.exchange(kept)).toBe(true);
  let failures = 1;
  disk.onAppend = (bytes) => {
    if (failures-- === 0) return undefined;
    disk.isTruncateBroken = true;
    disk.failingCreates = 3;
    return { error: diskError('EIO'), bytesWritten: bytes.length };
  };
  const row = testRow();
  const isKept = await spool.exchange(row);
  expect([isKept, spool.failedCommits, new Set(await stored())]).toEqual([true, 4, new Set([kept.id, row.id])]);
});

test('under any sequence of faults, accepted records are stored and refused records are not', async () => {
  const faults = fc.array(fc.constantFrom('none', 'none', 'none', 'EIO', 'ENOSPC', 'torn'), { maxLength: 12 });
  const moves = fc.array(fc.constantFrom('exchange', 'exchange', 'forward', 'seal', 'check', 'large'), {
    maxLength: 25,
  });
  await fc.assert(
    fc.asyncProperty(moves, faults, async (all, plan) => {
      const { disk, spool, stored } = await openSpool({ segmentBytes: 3_000 });
      const left = [...plan];
      disk.onAppend = (bytes) => {
        const fault = left.shift() ?? 'none';
        if (fault === 'none') return undefined;
        return {
          error: diskError(fault === 'torn' ? 'EIO' : fault),
          bytesWritten: fault === 'torn' ? 100 : bytes.length,
        };
      };
      const kept: string[] = [];
      const refused: string[] = [];
      const note = (id: string) => (isKept: boolean) => {
        (isKept ? kept : refused).push(id);
      };
      const running = all.map(async (move) => {
        const row = testRow({ requestBody: Buffer.alloc(move === 'large' ? 4_000 : 10) });
        if (move === 'seal') return spool.seal();
        if (move === 'check') return spool.checkDisk();
        if (move !== 'forward') return spool.exchange(row).then(note(row.id));
        const isBegun = await spool.request({ ...row, version: 1 });
        if (isBegun) expect(await spool.exchange(row)).toBe(true);
        note(row.id)(isBegun);
      });
      await Promise.all(running);
      await spool.close();
      const found = await stored();
      expect(found).toEqual(expect.arrayContaining(kept));
      expect(found.filter((id) => refused.includes(id))).toEqual([]);
    }),
    { numRuns: 30 },
  );
}, 60_000);
