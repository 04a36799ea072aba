import { beforeEach, expect, test } from 'vitest';
import { DiskGuard } from './disk-guard.ts';
import type { SpoolDisk } from './spool-disk.ts';

const MIB = 1024 * 1024;

let freeBytes: () => Promise<number>;
let guard: DiskGuard;
beforeEach(async () => {
  freeBytes = () => Promise.resolve(10 * MIB);
  const disk = { freeBytes: () => freeBytes() } as Partial<SpoolDisk> as SpoolDisk;
  guard = new DiskGuard({ folder: '/spool', disk, bytesMax: 8 * MIB, reserveBytes: 4 * MIB });
  await guard.refresh();
});

test('there is room up to the reserve on the disk', () => {
  expect([guard.hasRoomFor(6 * MIB), guard.hasRoomFor(6 * MIB + 1)]).toEqual([true, false]);
  guard.pool.add('a', 2 * MIB);
  guard.wrote(2 * MIB);
  expect([guard.hasRoomFor(4 * MIB), guard.hasRoomFor(4 * MIB + 1)]).toEqual([true, false]);
  expect(guard.shortage).toContain('/spool has 8 MiB free, but 4 MiB must stay free');
});

test('there is room up to the limit of the spool, which includes the segments of other processes', () => {
  guard.pool.add('', 4 * MIB);
  expect([guard.hasRoomFor(4 * MIB), guard.hasRoomFor(4 * MIB + 1)]).toEqual([true, false]);
  expect(guard.storedBytes).toBe(4 * MIB);
  expect(guard.shortage).toContain('the spool has reached its limit of 8 MiB');
  guard.pool.free('', MIB);
  expect(guard.storedBytes).toBe(3 * MIB);
});

test('a namespace has a share while it has less than four times what is free, on the disk and of the spool', async () => {
  const shares = () => ['a', 'b'].map((namespace) => guard.hasShareFor(namespace));
  freeBytes = () => Promise.resolve(20 * MIB);
  await guard.refresh();
  guard.pool.add('a', 6 * MIB);
  expect(shares()).toEqual([true, true]);
  guard.pool.add('a', 0.5 * MIB);
  expect(shares()).toEqual([false, true]);
  guard.pool.free('a', 3.5 * MIB);
  expect(shares()).toEqual([true, true]);
  // Other files use the disk.
  freeBytes = () => Promise.resolve(4.5 * MIB);
  await guard.refresh();
  expect(shares()).toEqual([false, true]);
});

test('a share is not the reason if there is no room at all', async () => {
  guard.pool.add('a', 5 * MIB);
  freeBytes = () => Promise.resolve(4 * MIB);
  await guard.refresh();
  expect([guard.hasRoomFor(1), guard.hasShareFor('a'), guard.hasShareFor('b')]).toEqual([false, true, true]);
});

test('a disk that does not respond has no room until it responds again', async () => {
  const before = freeBytes;
  freeBytes = () => Promise.reject(new Error('no such device'));
  await expect(guard.refresh()).rejects.toThrow('no such device');
  expect(guard.hasRoomFor(1)).toBe(false);
  expect(guard.shortage).toContain('the folder /spool cannot be used (no such device)');
  freeBytes = before;
  await guard.refresh();
  expect(guard.hasRoomFor(1)).toBe(true);
  expect(guard.shortage).not.toContain('cannot be used');
});

test('there is no room before the disk was checked', () => {
  const disk = {} as SpoolDisk;
  expect(new DiskGuard({ folder: '/spool', disk, bytesMax: MIB, reserveBytes: 0 }).hasRoomFor(1)).toBe(false);
});
