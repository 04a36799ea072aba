import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FolderLock, removeRetired } from './folder-lock.ts';

let dir: string;
let folder: string;
let holder: ChildProcess | undefined;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'standin-lock-'));
  folder = path.join(dir, 'incarnation');
  await mkdir(folder);
});
afterEach(async () => {
  holder?.kill('SIGKILL');
  await rm(dir, { recursive: true, force: true });
});

/** Takes the lock in another process. */
const lockElsewhere = async (): Promise<ChildProcess> => {
  const module = path.join(import.meta.dirname, 'folder-lock.ts');
  const script = `
    const { FolderLock } = await import(process.argv[1]);
    globalThis.lock = FolderLock.take(process.argv[2]);
    process.stdout.write(String(globalThis.lock !== undefined));
    setInterval(() => undefined, 60_000);`;
  const args = ['--input-type=module', '--eval', script, module, folder];
  holder = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [answer] = (await once(holder.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
  expect(answer.toString()).toBe('true');
  return holder;
};

test('a lock excludes other processes until its holder ends, however it ends', async () => {
  const other = await lockElsewhere();
  expect(FolderLock.take(folder)).toBeUndefined();
  other.kill('SIGSTOP');
  expect(FolderLock.take(folder)).toBeUndefined();
  other.kill('SIGKILL');
  await once(other, 'exit');
  const lock = FolderLock.take(folder);
  expect(lock).toBeDefined();
  // It also excludes this process.
  expect(FolderLock.take(folder)).toBeUndefined();
  lock?.release();
  const again = FolderLock.take(folder);
  expect(again).toBeDefined();
  again?.release();
  expect(await readdir(folder)).toEqual(['lock']);
});

test('one of two processes gets the lock, although both try at the same moment', async () => {
  const module = path.join(import.meta.dirname, 'folder-lock.ts');
  const folders = Array.from({ length: 80 }, (_, index) => path.join(dir, String(index)));
  await Promise.all(folders.map((each) => mkdir(each)));
  const script = `
    const { FolderLock } = await import(process.argv[1]);
    const { folders, atMs } = JSON.parse(process.argv[2]);
    globalThis.locks = folders.map((folder, index) => {
      while (Date.now() < atMs + index * 5);
      return FolderLock.take(folder);
    });
    process.stdout.write(JSON.stringify(globalThis.locks.map((lock) => lock !== undefined)));
    process.stdin.resume();`;
  const input = JSON.stringify({ folders, atMs: Date.now() + 1_000 });
  const holders = [1, 2].map(() => {
    const args = ['--input-type=module', '--eval', script, module, input];
    return spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  });
  const answers = await Promise.all(holders.map(({ stdout }) => once(stdout, 'data') as Promise<[Buffer]>));
  for (const { stdin } of holders) stdin.end();
  const [first = [], second = []] = answers.map(([answer]) => JSON.parse(answer.toString()) as boolean[]);
  expect(first.map((isHeld, index) => Number(isHeld) + Number(second[index]))).toEqual(folders.map(() => 1));
});

test('a folder is retired although another process removes it at once', async () => {
  const lock = FolderLock.take(folder);
  const drained = `${folder}.drained`;
  const retiring = lock?.retire();
  const removing = new Promise<void>((resolve) => {
    const remove = (): void => {
      // Blocks, so that the folder is removed before `retire` continues.
      for (let attempt = 0; existsSync(folder) && attempt < 1_000; attempt++);
      if (existsSync(folder)) return void setImmediate(remove);
      rmSync(drained, { recursive: true, force: true });
      resolve();
    };
    setImmediate(remove);
  });
  expect(await retiring).toBe(drained);
  await removing;
  lock?.release();
});

test('a folder is retired only without segments, and removed by any number of processes', async () => {
  const lock = FolderLock.take(folder);
  const segment = path.join(folder, '0000000001.seg');
  await writeFile(segment, 'a');
  expect(await lock?.retire()).toBeUndefined();
  await rm(segment);
  const retired = await lock?.retire();
  expect(retired).toBe(`${folder}.drained`);
  lock?.release();
  expect(FolderLock.take(folder)).toBeUndefined();
  await Promise.all([removeRetired(retired ?? ''), removeRetired(retired ?? '')]);
  expect(await readdir(dir)).toEqual([]);
});

test('a file that cannot be locked is reported', async () => {
  await mkdir(path.join(folder, 'lock'));
  const message = expect.stringContaining(`cannot lock ${path.join(folder, 'lock')}`) as string;
  expect(() => FolderLock.take(folder)).toThrow(expect.objectContaining({ name: 'FolderLockError', message }));
});
