import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { copyQuickstart, prepareDataDir, readUpstreamCa } from './check-input.ts';

it('the quickstart is copied once, on the Pro plan, and an existing directory is left alone', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'standin-copy-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const dir = path.join(folder, 'standin');
  expect(await copyQuickstart(dir)).toBe(true);
  const account = path.join(dir, 'account.yaml');
  expect(await readFile(account, 'utf8')).toContain('plan: Pro');
  await writeFile(account, 'mine');
  await rm(path.join(dir, 'create-order.yaml'));
  expect(await copyQuickstart(dir)).toBe(false);
  expect(await readFile(account, 'utf8')).toBe('mine');
  expect(await readdir(dir)).not.toContain('create-order.yaml');
});

it('a data folder with temporary objects is not committed', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'standin-data-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const name of ['state', 'temporary']) await mkdir(path.join(folder, name));
  await prepareDataDir(folder);
  expect(await readdir(folder)).toContain('.gitignore');
});

it('a directory that cannot be created causes an error that says what to do', async () => {
  await expect(copyQuickstart('/no/such/folder/standin')).rejects.toThrow(
    'the directory /no/such/folder/standin does not exist: specify a directory of manifests',
  );
});

it.each([
  ['missing', undefined, 'does not exist'],
  ['empty', '', 'is empty'],
  [
    'binary',
    Buffer.from([0x30, 0x82, 0, 0xff]),
    'contains no certificate that begins with -----BEGIN CERTIFICATE-----',
  ],
  ['cut', '-----BEGIN CERTIFICATE-----\nMIIB', 'contains no certificate that begins with'],
  ['too large', Buffer.alloc(5 * 1024 * 1024), 'is larger than 4 MiB'],
])('a file with upstream CAs that is %s causes an error that says what to do', async (name, content, problem) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'standin-ca-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = path.join(folder, name);
  if (content !== undefined) await writeFile(file, content);
  await expect(readUpstreamCa(file)).rejects.toThrow(
    new RegExp(`^--upstream-ca: ${file} ${problem}.*: specify a file with certificates in PEM$`),
  );
  await expect(readUpstreamCa(folder)).rejects.toThrow(`--upstream-ca: ${folder} is not a file: specify`);
});
