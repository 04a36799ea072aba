import { createHash } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { readKubeToken } from './kube-token.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kube-token-'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

const kubeconfig = async (user: unknown, cluster: object = {}): Promise<string> => {
  const file = path.join(folder, 'config');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'a',
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    clusters: [{ name: 'a', cluster: { server: 'https://127.0.0.1:1', ...cluster } }],
    users: [{ name: 'a', user }],
  };
  await writeFile(file, JSON.stringify(config));
  return file;
};

const readToken = async (user: unknown): Promise<string | undefined> =>
  (await readKubeToken({ kubeconfigPath: await kubeconfig(user) }))?.token;

it('the token is returned with the API server and the certificate authority, regardless of the form of the kubeconfig', async () => {
  const read = async (cluster: object) =>
    (await readKubeToken({ kubeconfigPath: await kubeconfig({ token: 'abc' }, cluster) })) ?? {};
  await writeFile(path.join(folder, 'ca.crt'), 'PEM');
  const caSha256 = createHash('sha256').update('PEM').digest('hex');
  const inline = { 'certificate-authority-data': Buffer.from('PEM').toString('base64') };
  for (const cluster of [inline, { 'certificate-authority': 'ca.crt' }])
    expect(await read(cluster)).toEqual({
      token: 'abc',
      context: 'a',
      cluster: { server: 'https://127.0.0.1:1', caSha256 },
    });
  expect(await read({})).toMatchObject({ cluster: { caSha256: '' } });
});

it('the token belongs to the current user', async () => {
  expect(await readToken({ token: 'abc' })).toBe('abc');
});

it('the token is read from a file', async () => {
  await writeFile(path.join(folder, 'token'), 'from-file\n');
  expect(await readToken({ tokenFile: 'token' })).toBe('from-file');
});

it('the token is read from a file, also without the path of a kubeconfig', async () => {
  await writeFile(path.join(folder, 'token'), 'from-file\n');
  const file = await kubeconfig({ tokenFile: 'token' });
  vi.stubEnv('KUBECONFIG', file);
  expect(await readKubeToken()).toMatchObject({ token: 'from-file' });
  vi.stubEnv('KUBECONFIG', '');
  vi.stubEnv('HOME', folder);
  await mkdir(path.join(folder, '.kube'));
  await copyFile(file, path.join(folder, '.kube', 'config'));
  await writeFile(path.join(folder, '.kube', 'token'), 'from-home\n');
  expect(await readKubeToken()).toMatchObject({ token: 'from-home' });
});

it('the token comes from a credential plugin', async () => {
  const credential = {
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    status: { token: 'made' },
  };
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: process.execPath,
    args: ['-e', `process.stdout.write(${JSON.stringify(JSON.stringify(credential))})`],
    interactiveMode: 'Never',
  };
  expect(await readToken({ exec })).toBe('made');
});

it('the token is undefined for a server without encryption, as without a kubeconfig', async () => {
  const file = await kubeconfig({ token: 'abc' });
  await writeFile(file, (await readFile(file, 'utf8')).replace('https:', 'http:'));
  expect(await readKubeToken({ kubeconfigPath: file })).toBeUndefined();
});

it('the token is undefined for a user who authenticates in a different way', async () => {
  expect(await readKubeToken({ kubeconfigPath: await kubeconfig({ username: 'a', password: 'b' }) })).toBeUndefined();
});
