import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { SharedPool } from '@standin/contract';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { quiet } from '../gateway.testing.ts';
import { Orphans, type OrphansOptions } from './orphaned-segments.ts';

const INCARNATION = '01938f5e-0000-7000-8000-000000000000';
const BYTES = 1_000;

let dir: string;
let pool: SharedPool;
let orphans: Orphans;

/** Creates the spool of an ended gateway, with two segments. */
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'standin-orphans-'));
  const folder = path.join(dir, INCARNATION);
  await mkdir(folder);
  for (const name of ['00000001.seg', '00000002.seg']) await writeFile(path.join(folder, name), Buffer.alloc(BYTES));
  pool = new SharedPool(10 * BYTES);
  // A scan delivers nothing.
  orphans = new Orphans({ dir, pool, quietMs: 1_000, logger: quiet } as unknown as OrphansOptions);
});
afterEach(() => rm(dir, { recursive: true, force: true }));

test('files are counted once, even by simultaneous scans', async () => {
  await Promise.all([orphans.scan(), orphans.scan(), orphans.scan()]);
  expect([pool.used, orphans.bytes]).toEqual([2 * BYTES, 2 * BYTES]);
});

test('a folder with a file whose size cannot be read does not add up in several scans', async () => {
  const loop = path.join(dir, INCARNATION, '00000003.seg');
  await symlink(loop, loop);
  for (let attempt = 0; attempt < 3; attempt += 1) await expect(orphans.scan()).rejects.toThrow('ELOOP');
  expect([pool.used, orphans.bytes]).toEqual([0, 0]);
  await rm(loop);
  await orphans.scan();
  expect(pool.used).toBe(2 * BYTES);
});
