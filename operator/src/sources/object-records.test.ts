import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ManifestObject } from './manifest-objects.ts';
import { ObjectRecords } from './object-records.ts';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'standin-records-'));
  file = path.join(folder, 'objects.json');
});
afterEach(() => rm(folder, { recursive: true }));

const open = (): ObjectRecords =>
  new ObjectRecords(file, (error) => {
    throw error;
  });
const manifest = (name: string): ManifestObject =>
  ({ key: `Endpoint default/${name}`, metadata: { name }, spec: {}, unknownFields: {} }) as unknown as ManifestObject;
const storedKeys = async (): Promise<readonly string[]> => {
  const records = open();
  await records.load();
  return [...records.keys()];
};

test('a write that began before the last one at exit does not replace it', async () => {
  const records = open();
  records.see(manifest('a'));
  const writing = records.flush();
  // The write takes its content before it waits for the disk for the first time.
  await Promise.resolve();
  records.see(manifest('b'));
  records.flushSync();
  await writing;
  expect(await storedKeys()).toEqual(['Endpoint default/a', 'Endpoint default/b']);
});

test('nothing is missing after the last write at exit although another one has begun', async () => {
  const records = open();
  records.see(manifest('a'));
  const writing = records.flush();
  await Promise.resolve();
  records.flushSync();
  expect(await storedKeys()).toEqual(['Endpoint default/a']);
  await writing;
  await vi.waitFor(async () => expect(await storedKeys()).toEqual(['Endpoint default/a']));
});
