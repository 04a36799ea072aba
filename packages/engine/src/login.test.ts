import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { newLogin, readLogin, writeCurlLogin } from './login.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'standin-login-'));
});
afterEach(() => rm(folder, { recursive: true }));

test('each new login has a different 256-bit password', () => {
  const [one, other] = [newLogin(), newLogin()];
  expect(one).toEqual({ user: 'default', password: expect.stringMatching(/^[\w-]{43}$/) as string });
  expect(one.password).not.toBe(other.password);
});

test('a login is read from two files, without trailing line breaks', async () => {
  await writeFile(path.join(folder, 'username'), 'standin\n');
  await writeFile(path.join(folder, 'password'), 'se cret');
  expect(await readLogin(folder)).toEqual({ user: 'standin', password: 'se cret' });
});

test('a login without a password is refused', async () => {
  await writeFile(path.join(folder, 'username'), 'standin');
  await expect(readLogin(folder)).rejects.toThrow(`cannot read the credentials in ${folder}`);
  await writeFile(path.join(folder, 'password'), '\n');
  await expect(readLogin(folder)).rejects.toThrow(`username and password in ${folder} must not be empty`);
});

test('only the owner can read the curl file, even if it replaces a public file', async () => {
  const file = path.join(folder, 'curl.conf');
  await writeFile(file, 'old');
  await chmod(file, 0o666);
  expect(await writeCurlLogin(folder, { user: 'default', password: 'secret' })).toBe(file);
  expect(await readFile(file, 'utf8')).toBe('user = "default:secret"\n');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});
