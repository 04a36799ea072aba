import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { BASIC_OBJECTS, quiet } from '../gateway.testing.ts';
import { ConfigStore } from './config-store.ts';
import { DiskCopy } from './disk-copy.ts';

const WRITE_MS = 150;

/** Creates the copy of a configuration that takes long to write. */
const slowCopy = async () => {
  const dir = await mkdtemp(join(tmpdir(), 'standin-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  const store = new ConfigStore({ logger: quiet, maxStalenessMs: 0 });
  store.restore({ epoch: 1, number: 1 }, BASIC_OBJECTS);
  const objects = store.objects();
  const writes = vi.spyOn(store, 'objects').mockImplementation(() => {
    const startedAt = performance.now();
    while (performance.now() - startedAt < WRITE_MS);
    return objects;
  });
  return { copy: new DiskCopy(dir, store, quiet), writes, path: join(dir, 'config.ndjson') };
};

const elapsedMs = async (work: Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await work;
  return performance.now() - startedAt;
};

test('writes after many revocations take a tenth of the time, or one a second', async () => {
  const { copy, writes } = await slowCopy();
  expect(await copy.flush({ isRequired: true })).toBe(true);
  expect(await elapsedMs(copy.flush({ isRequired: true }))).toBeGreaterThan(1_000);
  expect(writes).toHaveBeenCalledTimes(2);
});

test('writes do not queue up while the configuration changes all the time', { timeout: 20_000 }, async () => {
  const { copy } = await slowCopy();
  const changes = setInterval(() => copy.schedule(), 20);
  onTestFinished(() => clearInterval(changes));
  const waits: number[] = [];
  for (let round = 0; round < 5; round += 1) waits.push(await elapsedMs(copy.flush({ isRequired: true })));
  expect(Math.max(...waits)).toBeLessThan(2_500);
});

test('a copy that is discarded is removed without a wait', async () => {
  const { copy, writes, path } = await slowCopy();
  await copy.flush({ isRequired: true });
  const waiting = copy.flush();
  expect(await elapsedMs(copy.discard())).toBeLessThan(500);
  expect(await waiting).toBe(true);
  expect(writes).toHaveBeenCalledTimes(1);
  expect(existsSync(path)).toBe(false);
});
