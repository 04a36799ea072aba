import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ignoreInGit } from './ignore-in-git.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'standin-ignore-'));
});
afterEach(() => rm(folder, { recursive: true }));

const OWN = ['engine', 'tmp'];
const gitignore = () => readFile(path.join(folder, '.gitignore'), 'utf8');

test('an empty folder and a folder with only its own entries are ignored', async () => {
  await ignoreInGit(folder, OWN);
  expect(await gitignore()).toBe('*\n');
  await rm(path.join(folder, '.gitignore'));
  await writeFile(path.join(folder, 'engine'), '');
  await ignoreInGit(folder, OWN);
  expect(await gitignore()).toBe('*\n');
});

test('an existing .gitignore is kept', async () => {
  await writeFile(path.join(folder, '.gitignore'), '!keep\n');
  await ignoreInGit(folder, OWN);
  expect(await gitignore()).toBe('!keep\n');
});

test('a folder that contains other files is not ignored', async () => {
  await writeFile(path.join(folder, 'package.json'), '{}');
  await ignoreInGit(folder, OWN);
  expect(await readdir(folder)).toEqual(['package.json']);
});
