import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { certificateFolder } from './certificate-files.ts';
import { planCertificates, serverCertificate, type ServerCertificate } from './certificates.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'standin-test-certificates-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const newCertificate = async (): Promise<ServerCertificate> =>
  serverCertificate(await planCertificates(undefined, new Date()));

/** Mounts files as a kubelet does: as links into `..data`, a link that is atomically switched to a new folder. */
const mount = async ({ ca, cert, key }: ServerCertificate, name: string): Promise<void> => {
  await mkdir(path.join(dir, name));
  for (const [file, text] of [
    ['ca.crt', ca],
    ['tls.crt', cert],
    ['tls.key', key],
  ] as const) {
    await writeFile(path.join(dir, name, file), text);
    await symlink(path.join('..data', file), path.join(dir, file)).catch(() => undefined);
  }
  await symlink(name, path.join(dir, '..data_tmp'));
  await rename(path.join(dir, '..data_tmp'), path.join(dir, '..data'));
};

test('each read returns the current files', async () => {
  const source = certificateFolder(dir);
  const [first, second] = [await newCertificate(), await newCertificate()];
  await mount(first, '..1');
  expect(await source.read()).toEqual(first);
  await mount(second, '..2');
  expect(await source.read()).toEqual(second);
});

test('missing files, mismatched certificate and key files, and files without a CA are rejected with a reason', async () => {
  const source = certificateFolder(dir);
  await expect(source.read()).rejects.toThrow(/ENOENT.*(ca\.crt|tls\.crt|tls\.key)/);
  const [first, second] = [await newCertificate(), await newCertificate()];
  await mount({ ...first, key: second.key }, '..1');
  await expect(source.read()).rejects.toThrow('cannot be used together');
  await mount({ ...first, ca: '' }, '..2');
  await expect(source.read()).rejects.toThrow('needs an issuer with a CA');
  await mount(first, '..3');
  expect(await source.read()).toEqual(first);
});
