import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { startEmbeddedEngine, type EmbeddedEngine } from '@standin/engine';
import { encodeRow, openLogStore, type LogStore } from '@standin/logstore';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { newLogRow } from '../../packages/exchange/src/log-row.testing.ts';
import { createTempFolder } from '../harness/temp-folder.ts';

/** Tests a log store whose login is in files, such as a mounted Secret. Each start of the engine has a new password. */

let engine: EmbeddedEngine;
let dataDir: string;
let loginDir: string;
let store: LogStore;

const write = (name: string, text: string): Promise<void> => writeFile(path.join(loginDir, name), text);

beforeEach(async () => {
  [dataDir, loginDir] = await Promise.all([createTempFolder('clickhouse'), createTempFolder('login')]);
  engine = await startEmbeddedEngine({ dataDir });
  await write('username', engine.username);
  await write('password', `${engine.password}\n`);
  const { url } = engine;
  store = openLogStore({ url, username: 'nobody', password: 'wrong', loginDir, database: 'standin' });
  await store.migrate();
});
afterEach(async () => {
  await store.close();
  await engine.stop();
});

test('a store that is open uses a new password as soon as it is in the file', async () => {
  const row = newLogRow();
  await store.insert({ rows: encodeRow(row), rowCount: 1, token: 'a' });
  await engine.stop();
  engine = await startEmbeddedEngine({ dataDir, port: Number(new URL(engine.url).port) });

  const refused = store.get(row.id);
  await expect(refused).rejects.toMatchObject({ kind: 'retryable', code: '516' });
  await expect(store.ping()).rejects.toMatchObject({ code: '516' });
  await write('password', engine.password);
  expect((await store.get(row.id))?.id).toBe(row.id);
  await store.ping();
  await store.insert({ rows: encodeRow(newLogRow()), rowCount: 1, token: 'b' });
});

test('without the file username, the configured user is used', async () => {
  const { url, username } = engine;
  await rm(path.join(loginDir, 'username'));
  await expect(store.ping()).rejects.toMatchObject({ code: '516' });
  const named = openLogStore({ url, username, password: '', loginDir, database: 'standin' });
  await named.ping();
  await named.close();
});

test('without the file password, calls fail and can be repeated', async () => {
  await rm(path.join(loginDir, 'password'));
  const calls = [store.ping(), store.get(newLogRow().id)];
  for (const call of calls) await expect(call).rejects.toMatchObject({ kind: 'retryable', code: 'ENOENT' });
  await write('password', engine.password);
  await store.ping();
});
