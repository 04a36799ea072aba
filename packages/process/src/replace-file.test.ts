import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { replaceFile, replaceFileSync } from './replace-file.ts';

const SECRET = { mode: 0o600 };

let dir: string;
let file: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'standin-replace-file-'));
  file = path.join(dir, 'folder', 'a.json');
});
afterEach(async () => {
  await rm(dir, { recursive: true });
});

const filesIn = (folder: string): Promise<string[]> => readdir(folder);
const fileMode = async (name: string): Promise<number> => (await stat(name)).mode & 0o777;

test('replaceFile creates a file and its folder, then replaces the file, and leaves no draft', async () => {
  await replaceFile(file, 'one', SECRET);
  expect([await fileMode(path.dirname(file)), await fileMode(file)]).toEqual([0o700, 0o600]);
  await replaceFile(file, Buffer.from('two'), { mode: 0o644, isDurable: false });
  expect([await readFile(file, 'utf8'), await fileMode(file)]).toEqual(['two', 0o644]);
  await replaceFile(file, ['th', 'r', 'ee'], SECRET);
  expect(await readFile(file, 'utf8')).toBe('three');
  replaceFileSync(file, 'four', SECRET);
  expect([await readFile(file, 'utf8'), await filesIn(path.dirname(file))]).toEqual(['four', ['a.json']]);
});

test('an exclusive write rejects if the file exists', async () => {
  await replaceFile(file, 'one', { ...SECRET, exclusive: true });
  const again = replaceFile(file, 'two', { ...SECRET, exclusive: true });
  await expect(again).rejects.toMatchObject({ code: 'EEXIST' });
  expect([await readFile(file, 'utf8'), await filesIn(path.dirname(file))]).toEqual(['one', ['a.json']]);
});

test('concurrent writes to one file do not mix', async () => {
  const contents = Array.from({ length: 20 }, (_, index) => String(index).repeat(100_000));
  await Promise.all(contents.map((content) => replaceFile(file, content, SECRET)));
  expect(contents).toContain(await readFile(file, 'utf8'));
  expect(await filesIn(path.dirname(file))).toEqual(['a.json']);
});

// A process that is killed repeatedly while it writes must not fill the disk with drafts.
test('the draft of a killed process is replaced, and is not followed if it is a link', async () => {
  await mkdir(path.dirname(file));
  const other = path.join(dir, 'other');
  await writeFile(other, 'untouched');
  await symlink(other, path.join(path.dirname(file), `.a.json.${process.pid}-0.tmp`));
  await replaceFile(file, 'one', SECRET);
  expect([await readFile(file, 'utf8'), await readFile(other, 'utf8')]).toEqual(['one', 'untouched']);
  expect(await filesIn(path.dirname(file))).toEqual(['a.json']);
});

test('a failed write leaves the old file and no draft', async () => {
  await replaceFile(file, 'one', SECRET);
  const failing = function* (): Generator<string> {
    yield 'tw';
    throw new Error('no more');
  };
  await expect(replaceFile(file, failing(), SECRET)).rejects.toThrow('no more');
  expect([await readFile(file, 'utf8'), await filesIn(path.dirname(file))]).toEqual(['one', ['a.json']]);
});

test('a failed synchronous write leaves no draft', async () => {
  await mkdir(file, { recursive: true });
  expect(() => replaceFileSync(file, 'one', SECRET)).toThrow('EISDIR');
  expect(await filesIn(path.dirname(file))).toEqual(['a.json']);
});

test('a name can be as long as the file system allows', async () => {
  const longest = path.join(dir, '漢'.repeat(85));
  await replaceFile(longest, 'one', SECRET);
  expect(await readFile(longest, 'utf8')).toBe('one');
});
