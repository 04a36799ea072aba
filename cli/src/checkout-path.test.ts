import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };

const CLI = path.join(import.meta.dirname, '..');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'standin-checkout-'));
});
afterAll(() => rm(folder, { recursive: true }));

// In a URL, each of these characters has a meaning.
test.each(['a b', 'a#b', 'a%41b', 'a%zz', 'a?b'])('standin runs from a checkout in the folder %j', async (name) => {
  const cli = path.join(folder, name, 'cli');
  await mkdir(cli, { recursive: true });
  for (const part of ['bin', 'package.json']) await cp(path.join(CLI, part), path.join(cli, part), { recursive: true });
  await symlink(path.join(CLI, 'src'), path.join(cli, 'src'));
  const { stdout } = await promisify(execFile)(process.execPath, [path.join(cli, 'bin/standin.js'), '--version']);
  expect(stdout).toBe(`${packageJson.version}\n`);
});
