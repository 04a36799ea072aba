import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SecretFiles } from './secret-files.ts';

let folder: string;
let files: SecretFiles;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'standin-secrets-'));
  files = new SecretFiles(folder);
});
afterEach(() => rm(folder, { recursive: true }));

const owner = (name: string, uid = `uid of ${name}`) => ({ kind: 'Account', name, uid });
const text = async (namespace: string, name: string): Promise<string | undefined> => {
  const value = await files.read(namespace, name, 'key');
  return value && Buffer.from(value).toString();
};

test('the Secrets of a deleted owner are removed, and no others', async () => {
  await files.create('a', 'first', { owner: owner('team'), data: { key: '1' } });
  await files.create('a', 'second', { owner: owner('team'), data: { key: '2' } });
  await files.create('a', 'of-another', { owner: owner('other'), data: { key: '3' } });
  await files.create('a', 'of-its-successor', { owner: owner('team', 'new uid'), data: { key: '4' } });
  await files.create('b', 'first', { owner: owner('team'), data: { key: '5' } });
  await writeFile(join(folder, 'a', 'notes.txt'), '');
  await files.removeOwned('a', 'uid of team');
  expect((await readdir(join(folder, 'a'))).sort()).toEqual(['notes.txt', 'of-another.json', 'of-its-successor.json']);
  expect(await text('b', 'first')).toBe('5');
  await files.removeOwned('none', 'uid of team');
});

test('a Secret is replaced once for each mark', async () => {
  await files.create('a', 'key', { owner: owner('team'), data: { key: '1' } });
  await expect(files.create('a', 'key', { owner: owner('team'), data: { key: '2' } })).rejects.toMatchObject({
    kind: 'Conflict',
  });
  for (const [key, mark] of [
    ['2', 'x'],
    ['3', 'x'],
  ] as const)
    await files.replace('a', 'key', { owner: owner('team'), data: { key }, mark });
  expect(await text('a', 'key')).toBe('2');
  await files.replace('a', 'key', { owner: owner('team'), data: { key: '4' }, mark: 'y' });
  expect(await text('a', 'key')).toBe('4');
});

test('names cannot lead outside the folder, and a file that cannot be read is not quoted', async () => {
  for (const name of ['..', '../a', 'a/b', '', 'A', '.a']) {
    await expect(files.read('a', name, 'key')).rejects.toMatchObject({ kind: 'Invalid' });
    await expect(files.read(name, 'a', 'key')).rejects.toMatchObject({ kind: 'Invalid' });
  }
  await files.create('a', 'key', { owner: owner('team'), data: { key: '1' } });
  await writeFile(join(folder, 'a', 'key.json'), 'secret text');
  const error = (await files.read('a', 'key', 'key').catch((failure: unknown) => failure)) as Error;
  expect(error.message).toContain('fix or remove the file');
  expect(`${error.message} ${String(error.cause)}`).not.toContain('secret text');
});

test('a Secret is not created again after the folder was removed', async () => {
  const removed = new SecretFiles(join(folder, 'secrets'));
  await removed.open();
  await removed.create('a', 'key', { owner: owner('team'), data: { key: '1' } });
  await rm(join(folder, 'secrets'), { recursive: true });
  await expect(removed.create('a', 'key', { owner: owner('team'), data: { key: '2' } })).rejects.toMatchObject({
    kind: 'Unavailable',
  });
  expect(await readdir(folder)).toEqual([]);
});
