import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Command } from 'commander';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chooseCluster } from './choose-cluster.ts';
import { withServer } from './server-options.ts';

let folder: string;
let kubeconfig: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'standin-choose-'));
  kubeconfig = path.join(folder, 'kubeconfig');
  const context = (name: string, namespace?: string) => ({ name, context: { cluster: 'c', user: 'me', namespace } });
  await writeFile(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'here',
      users: [{ name: 'me', user: {} }],
      clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:9' } }],
      contexts: [context('here', 'team-a'), context('bare')],
    }),
  );
});
afterAll(() => rm(folder, { recursive: true }));

const choose = async (isDefault: boolean, ...args: readonly string[]): Promise<Record<string, unknown>> => {
  const command = withServer(new Command('logs').option('-n, --namespace <name>'));
  command.parse(args, { from: 'user' });
  await chooseCluster(command, isDefault);
  return command.opts();
};
const file = (): readonly string[] => ['--kubeconfig', kubeconfig];

test('an option for a cluster selects it, with the namespace of the context', async () => {
  expect(await choose(false, ...file())).toMatchObject({ cluster: true, namespace: 'team-a' });
  expect(await choose(false, ...file(), '--context', 'bare')).toMatchObject({ cluster: true, namespace: 'default' });
  expect(await choose(false, ...file(), '-n', 'team-b')).toMatchObject({ cluster: true, namespace: 'team-b' });
  expect((await choose(false, ...file(), '-A'))['namespace']).toBeUndefined();
});

test('the plugin uses a cluster unless an option names another source', async () => {
  expect(await choose(false)).not.toHaveProperty('cluster');
  expect(await choose(true, ...file())).toMatchObject({ cluster: true });
  for (const other of [
    ['--server', 'https://standin.example.com'],
    ['--data', '.standin'],
  ])
    expect(await choose(true, ...other)).not.toHaveProperty('cluster');
});
