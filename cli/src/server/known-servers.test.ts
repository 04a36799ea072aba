import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { KnownServers, type KnownServer } from './known-servers.ts';

const SERVER: KnownServer = {
  server: 'https://standin.example.com',
  cluster: 'https://api.example.com',
  caSha256: 'a',
};

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'standin-known-servers-'));
  onTestFinished(() => rm(folder, { recursive: true }));
});

test('a server that was added is known to later commands, in a file that only its owner can read', async () => {
  await new KnownServers(folder).add(SERVER);
  await new KnownServers(folder).add({ ...SERVER, server: 'service standin-system/dashboard' });
  expect(await new KnownServers(folder).has(SERVER)).toBe(true);
  expect((await stat(path.join(folder, 'known-servers.json'))).mode & 0o777).toBe(0o600);
});

test.each<[string, Partial<KnownServer>]>([
  ['address', { server: 'https://other.example.com' }],
  ['cluster', { cluster: 'https://other-api.example.com' }],
  ['certificate authority of the cluster', { caSha256: 'b' }],
])('a server with another %s is not known', async (_, difference) => {
  const servers = new KnownServers(folder);
  await servers.add(SERVER);
  expect(await servers.has({ ...SERVER, ...difference })).toBe(false);
});

test('no server is known if the file cannot be read', async () => {
  const servers = new KnownServers(folder);
  expect(await servers.has(SERVER)).toBe(false);
  await writeFile(path.join(folder, 'known-servers.json'), '{');
  expect(await servers.has(SERVER)).toBe(false);
  await servers.add(SERVER);
  expect(await servers.has(SERVER)).toBe(true);
});
