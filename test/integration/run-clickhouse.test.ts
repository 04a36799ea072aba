import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';

/** Tests the embedded ClickHouse without `standin dev`, as `npm run clickhouse` and the chart's engine run it. */

const MAIN = path.join(import.meta.dirname, '../../packages/engine/src/main.ts');

// Starts the engine without an IPC channel, so that it does not depend on a parent process as it does in `standin dev`.
const start = async (...args: readonly string[]) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'standin-engine-'));
  const data = path.join(folder, 'data');
  const child = spawn(process.execPath, [MAIN, '--port', '0', '--data', data, ...args], { stdio: 'pipe' });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
    await rm(folder, { recursive: true });
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const url = line.replace('ClickHouse is listening on ', '');
  const select = async (headers: Record<string, string>) => (await fetch(`${url}/?query=SELECT+1`, { headers })).status;
  const stop = async () => {
    child.kill('SIGTERM');
    return ended;
  };
  return { stop, select, curlFile: path.join(data, 'curl.conf') };
};

test('creates a password in a file for curl and removes the file at the end', async () => {
  const { stop, select, curlFile } = await start();
  const [, login = ''] = /^user = "(.+)"\n$/.exec(await readFile(curlFile, 'utf8')) ?? [];
  expect(await select({})).toBe(403);
  expect(await select({ authorization: `Basic ${Buffer.from(login).toString('base64')}` })).toBe(200);
  expect(await stop()).toEqual([0, null]);
  expect(existsSync(curlFile)).toBe(false);
});

test('reads the login from a folder, as mounted by the chart', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'standin-login-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await Promise.all(['username', 'password'].map((name) => writeFile(path.join(folder, name), `my-${name}`)));
  const { select, curlFile } = await start('--login', folder);
  expect(await select({ 'x-clickhouse-user': 'my-username', 'x-clickhouse-key': 'my-password' })).toBe(200);
  expect(await select({ 'x-clickhouse-user': 'my-username' })).toBe(403);
  expect(existsSync(curlFile)).toBe(false);
});
