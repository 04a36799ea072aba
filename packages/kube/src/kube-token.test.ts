import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readKubeToken } from './kube-token.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kube-token-'));
});
afterEach(() => rm(folder, { recursive: true }));

const kubeconfig = async (user: unknown): Promise<string> => {
  const file = path.join(folder, 'config');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'a',
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    clusters: [{ name: 'a', cluster: { server: 'https://127.0.0.1:1' } }],
    users: [{ name: 'a', user }],
  };
  await writeFile(file, JSON.stringify(config));
  return file;
};

it('is that of the user', async () => {
  expect(await readKubeToken({ kubeconfigPath: await kubeconfig({ token: 'abc' }) })).toBe('abc');
});

it('is read from a file', async () => {
  await writeFile(path.join(folder, 'token'), 'from-file\n');
  expect(await readKubeToken({ kubeconfigPath: await kubeconfig({ tokenFile: 'token' }) })).toBe('from-file');
});

it('comes from a credential plugin', async () => {
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
  expect(await readKubeToken({ kubeconfigPath: await kubeconfig({ exec }) })).toBe('made');
});

it('is not there for a server that it would go to without encryption, as where there is no kubeconfig', async () => {
  const file = await kubeconfig({ token: 'abc' });
  await writeFile(file, (await readFile(file, 'utf8')).replace('https:', 'http:'));
  expect(await readKubeToken({ kubeconfigPath: file })).toBeUndefined();
});

it('is not there for a user who signs in otherwise', async () => {
  expect(await readKubeToken({ kubeconfigPath: await kubeconfig({ username: 'a', password: 'b' }) })).toBeUndefined();
});
