import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { loadConfig } from './kube-config.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kube-config-'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

/** Writes a kubeconfig in a folder of its own, and returns its path. Its context has the name of its cluster and its user. */
const kubeconfig = async (name: string, more: { readonly current?: string; readonly port?: number } = {}) => {
  const { current = name, port = 1 } = more;
  const file = path.join(folder, `${name}-${port}`, 'config');
  await mkdir(path.dirname(file));
  await writeFile(path.join(path.dirname(file), 'token'), `token-${name}`);
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': current,
    contexts: [{ name, context: { cluster: name, user: name } }],
    clusters: [{ name, cluster: { server: `https://127.0.0.1:${port}` } }],
    users: [{ name, user: { tokenFile: 'token' } }],
  };
  await writeFile(file, JSON.stringify(config));
  return file;
};
const loadAll = (...files: readonly string[]) => {
  vi.stubEnv('KUBECONFIG', files.join(path.delimiter));
  return loadConfig();
};

it('the first current context of several kubeconfigs is used', async () => {
  const config = loadAll(await kubeconfig('a'), await kubeconfig('b'));
  expect(config.getCurrentContext()).toBe('a');
  expect(config.getContexts().map(({ name }) => name)).toEqual(['a', 'b']);
});

it('a later kubeconfig has the current context if the earlier ones have none', async () => {
  expect(loadAll(await kubeconfig('a', { current: '' }), await kubeconfig('b')).getCurrentContext()).toBe('b');
});

it('the first of two clusters with the same name is used', async () => {
  const config = loadAll(await kubeconfig('a', { port: 1 }), await kubeconfig('a', { port: 2 }));
  expect(config.getCurrentCluster()?.server).toBe('https://127.0.0.1:1');
});

it('kubeconfigs that do not exist are skipped', async () => {
  const missing = path.join(folder, 'missing');
  expect(loadAll(missing, await kubeconfig('a'), missing).getCurrentContext()).toBe('a');
});

it('an error names a kubeconfig that does not exist if there is no other', () => {
  expect(() => loadAll(path.join(folder, 'missing'))).toThrow(/ENOENT.*missing/);
});

it('the token file is the one of the file that contains the user', async () => {
  const files = [await kubeconfig('a', { current: 'b' }), await kubeconfig('b')];
  const { headers } = await loadAll(...files).authenticate('https://127.0.0.1:1');
  expect(headers).toMatchObject({ Authorization: 'Bearer token-b' });
});
