import { fork, type ChildProcess } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { EngineStartError, startEmbeddedEngine, type EmbeddedEngine } from '@standin/engine';
import {
  EVERY_PROJECT,
  encodeRow,
  LogStoreError,
  openLogStore,
  tailSummaries,
  type FollowOptions,
  type LogFilter,
  type LogStore,
} from '@standin/logstore';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newLogRow } from '../../packages/exchange/src/log-row.testing.ts';
import { eventually } from '../harness/eventually.ts';

const KILLS = 3;

let dataDir: string;
let engine: EmbeddedEngine;

beforeAll(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'standin-engine-'));
  engine = await startEmbeddedEngine({ dataDir });
});

afterAll(async () => {
  await engine.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const openStore = (): LogStore => openLogStore({ ...engine, database: 'standin' });

const login = () => ({ 'X-ClickHouse-User': engine.username, 'X-ClickHouse-Key': engine.password });

const ask = async (search: string, body?: string | Buffer): Promise<Response> =>
  fetch(
    `${engine.url}/${search}`,
    body === undefined ? { headers: login() } : { method: 'POST', body, headers: login() },
  );

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const storedIds = async (store: LogStore): Promise<string[]> =>
  (await store.summaries({ projectUid: EVERY_PROJECT, limit: 10_000 })).map(({ id }) => id).sort();

describe('the data folder', () => {
  test('keeps its rows across a restart and SIGKILL', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'standin-engine-'));
    const row = newLogRow();
    for (const round of ['first', 'again', 'after kill -9']) {
      const mine = await startEmbeddedEngine({ dataDir: folder });
      const store = openLogStore({ ...mine, database: 'standin' });
      await store.migrate();
      if (round === 'first') await store.insert({ rows: encodeRow(row), rowCount: 1, token: 't' });
      expect((await store.get(row.id))?.id, round).toBe(row.id);
      await store.close();
      if (round === 'again') process.kill(mine.pid ?? 0, 'SIGKILL');
      await mine.stop();
    }
    await rm(folder, { recursive: true });
  });

  test('is used by one engine at a time; a second engine reports the process id of the first', async () => {
    const second = startEmbeddedEngine({ dataDir });
    await expect(second).rejects.toThrow(EngineStartError);
    await expect(second).rejects.toThrow(`is in use by process ${engine.pid}`);
  });

  test('that cannot be created causes a one-line error, like a port in use', async () => {
    const file = path.join(dataDir, 'file');
    await writeFile(file, '');
    await expect(startEmbeddedEngine({ dataDir: file })).rejects.toThrow(/^cannot create the data folder .*$/);
    const port = Number(new URL(engine.url).port);
    const other = path.join(dataDir, 'other');
    await expect(startEmbeddedEngine({ dataDir: other, port })).rejects.toThrow(`port ${port} is in use`);
  });
});

describe('the process', () => {
  test('loses and duplicates nothing when it is killed repeatedly during delivery', async () => {
    const stores = [openStore(), openStore()];
    await stores[0]?.migrate();
    const sent: string[] = [];
    let kills = 0;
    const deliver = async (store: LogStore, gateway: number): Promise<void> => {
      for (let batch = 0; kills < KILLS || batch < 5; batch++) {
        const rows = Array.from({ length: 20 }, () => newLogRow({ gateway: `gateway-${gateway}` }));
        const bytes = Buffer.concat(rows.map(encodeRow));
        await eventually('the batch to be accepted', async () => {
          await store.insert({ rows: bytes, rowCount: rows.length, token: `${gateway}-${batch}` });
          return true;
        });
        sent.push(...rows.map(({ id }) => id));
      }
    };
    const kill = async (): Promise<void> => {
      for (; kills < KILLS; kills++) {
        const seen = sent.length;
        await eventually('some batches', () => sent.length > seen + 60);
        const { pid } = engine;
        if (pid !== undefined) process.kill(pid, 'SIGKILL');
        await eventually('another process', () => engine.pid !== undefined && engine.pid !== pid);
      }
    };
    await Promise.all([kill(), ...stores.map(deliver)]);

    const [store] = stores as [LogStore];
    expect(await eventually('the engine to respond', () => storedIds(store))).toEqual(sent.sort());
    expect(await readdir(path.join(dataDir, 'tmp'))).toEqual([]);
    await Promise.all(stores.map((each) => each.close()));
  });

  test.each<[string, (restarted: ChildProcess) => unknown]>([
    ['has just been started again', () => undefined],
    ['is ready again', (restarted) => once(restarted, 'message')],
  ])('ends when it is stopped while it %s', async (_when, isReached) => {
    const folder = await mkdtemp(path.join(tmpdir(), 'standin-engine-'));
    const mine = await startEmbeddedEngine({ dataDir: folder });
    const restarted = Promise.withResolvers<ChildProcess>();
    const onSpawn = (message: unknown): void => {
      unsubscribe('child_process', onSpawn);
      restarted.resolve((message as { readonly process: ChildProcess }).process);
    };
    subscribe('child_process', onSpawn);
    process.kill(mine.pid ?? 0, 'SIGKILL');
    const child = await restarted.promise;
    await isReached(child);
    await mine.stop();
    expect(child.exitCode ?? child.signalCode).not.toBeNull();
    await rm(folder, { recursive: true });
  });

  test('ends when the process that started it is killed', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'standin-engine-'));
    const script = path.join(folder, 'parent.mjs');
    const index = new URL('../../packages/engine/src/index.ts', import.meta.url).href;
    await writeFile(
      script,
      `import { startEmbeddedEngine } from ${JSON.stringify(index)};
       process.send((await startEmbeddedEngine({ dataDir: ${JSON.stringify(folder)} })).pid);
       setInterval(() => undefined, 1000);`,
    );
    const parent = fork(script, { execArgv: [] });
    const [pid] = (await once(parent, 'message')) as [number];
    parent.kill('SIGKILL');
    await eventually('the engine to end', () => !isRunning(pid));
    await rm(folder, { recursive: true });
  });
});

describe('the HTTP front', () => {
  test('supports the interface that @clickhouse/client uses', async () => {
    const client = createClient({
      url: engine.url,
      username: engine.username,
      password: engine.password,
      compression: { response: true, request: true },
      log: { level: ClickHouseLogLevel.OFF },
    });
    expect(await client.ping()).toEqual({ success: true });
    await client.command({ query: 'CREATE TABLE numbers (n UInt64, s String) ENGINE = MergeTree ORDER BY n' });
    await client.insert({
      table: 'numbers',
      values: [
        { n: '1', s: "tab\t quote' back\\slash é" },
        { n: '2', s: '' },
      ],
      format: 'JSONEachRow',
    });
    const result = await client.query({
      query: 'SELECT s FROM numbers WHERE s = {s:String} AND n IN {n:Array(UInt64)}',
      query_params: { s: "tab\t quote' back\\slash é", n: [1, 2] },
      format: 'JSONEachRow',
    });
    expect(await result.json()).toEqual([{ s: "tab\t quote' back\\slash é" }]);
    await expect(client.query({ query: 'SELECT * FROM missing' })).rejects.toMatchObject({
      code: '60',
      type: 'UNKNOWN_TABLE',
    });
    await client.close();
  });

  test.each([
    ['a missing table', '', 'SELECT * FROM missing', 404, '60'],
    ['a syntax error', '', 'SELEC 1', 400, '62'],
    ['a missing database', '?database=missing', 'SELECT 1', 404, '81'],
    ['an unknown setting', '?no_such_setting=1', 'SELECT 1', 404, '115'],
    ['a missing parameter', '', 'SELECT {x:Int64}', 500, '456'],
    ['an empty query', '', ' ', 400, '62'],
    ['a write by GET', '?query=CREATE%20TABLE%20t%20(a%20Int8)%20ENGINE%3DLog', undefined, 500, '164'],
    ['a query that is not text', '', Buffer.from('SELECT \xff', 'latin1'), 400, '36'],
    ['a session', '?session_id=1', 'SELECT 1', 501, '48'],
  ] as const)('responds to %s like ClickHouse', async (...[, search, body, status, code]) => {
    const response = await ask(search, body);
    expect(response.status).toBe(status);
    expect(response.headers.get('x-clickhouse-exception-code')).toBe(code);
    const words = new RegExp(`^Code: ${code}\\. DB::Exception: .*\\([A-Z_]+\\) \\(version 26\\.`, 's');
    expect(await response.text()).toMatch(words);
  });

  test('isolates the settings and parameters of statements', async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const sql = "SELECT {x:String}, getSetting('max_block_size'), sleep(0.01)";
        return (await ask(`?param_x=v${index}&max_block_size=${index + 1}`, sql)).text();
      }),
    );
    expect(answers).toEqual(answers.map((_answer, index) => `v${index}\t${index + 1}\t0\n`));
  });

  test('accepts inserts while slow reads queue', async () => {
    await ask('', 'CREATE TABLE quick (n UInt64) ENGINE = MergeTree ORDER BY n');
    let slowOnes = 24;
    const slow = Array.from({ length: slowOnes }, async () => {
      await (await ask('', 'SELECT sleep(0.5)')).text();
      slowOnes--;
    });
    const inserted = await ask('?query=INSERT%20INTO%20quick%20FORMAT%20CSV', '1\n2\n');
    expect([inserted.status, slowOnes > 0]).toEqual([200, true]);
    await Promise.all(slow);
    expect(await (await ask('', 'SELECT count() FROM quick')).text()).toBe('2\n');
  });

  test('leaves no row and no file after an aborted insert', async () => {
    await ask('', 'CREATE TABLE broken (n UInt64) ENGINE = MergeTree ORDER BY n');
    const client = httpRequest(`${engine.url}/?query=INSERT%20INTO%20broken%20FORMAT%20CSV`, {
      method: 'POST',
      headers: login(),
    });
    client.on('error', () => undefined);
    client.write('1\n');
    await eventually('the body’s file', async () => (await readdir(path.join(dataDir, 'tmp'))).length === 1);
    client.destroy();
    await eventually('the file to be removed', async () => (await readdir(path.join(dataDir, 'tmp'))).length === 0);
    expect(await (await ask('', 'SELECT count() FROM broken')).text()).toBe('0\n');
  });

  test.each([
    ['a web page', { origin: 'http://example.com' }],
    ['an image on a web page', { 'sec-fetch-site': 'cross-site' }],
    ['a rebound name', { host: 'example.com' }],
  ])('rejects a request from %s', async (_what, headers) => {
    const client = httpRequest(`${engine.url}/?query=SELECT%201`, { headers: { ...login(), ...headers } }).end();
    const [response] = (await once(client, 'response')) as [{ statusCode: number; resume: () => void }];
    response.resume();
    expect(response.statusCode).toBe(403);
  });

  test('rejects a query that is too large instead of truncating it', async () => {
    const response = await ask('', `SELECT '${'x'.repeat(17 * 1024 * 1024)}'`).catch((error: unknown) => error);
    // The connection is closed while the client is still sending, so the client may see the response or the closed connection.
    if (response instanceof Response) expect(response.status).toBe(413);
    else expect(response).toBeInstanceOf(TypeError);
    expect((await ask('ping')).status).toBe(200);
  });
});

describe('waiting for the next insert', () => {
  const MARK = 'x-standin-insert-mark';
  const markNow = async (): Promise<string> => (await ask('?query=SELECT+1')).headers.get(MARK) ?? '';
  const wait = (mark: string): Promise<Response> => ask(`inserts?after=${encodeURIComponent(mark)}`);

  test('ends when an insert arrives, immediately if it has already arrived', async () => {
    const store = openStore();
    await store.migrate();
    const before = await markNow();
    expect(await markNow()).toBe(before);
    let isAnswered = false;
    const waiting = wait(before).then(({ status }) => {
      isAnswered = true;
      return status;
    });
    // Runs another statement, which must not end the wait.
    await markNow();
    expect(isAnswered).toBe(false);
    const row = newLogRow();
    await store.insert({ rows: encodeRow(row), rowCount: 1, token: row.id });
    expect(await waiting).toBe(200);
    expect((await wait(before)).status).toBe(200);
    // A mark from an engine that is no longer running ends the wait, too.
    expect((await wait('another-1')).status).toBe(200);
    await store.close();
  });

  test('lets a tail show a new row without polling', async () => {
    const store = openStore();
    await store.migrate();
    const stop = new AbortController();
    const projectUid = newLogRow().id;
    let queries = 0;
    const counting = {
      summaries: (filter: LogFilter) => {
        queries += 1;
        return store.summaries(filter);
      },
      follow: (options: FollowOptions) => store.follow(options),
    };
    const shown = tailSummaries(counting, { projectUid, sinceUs: 0 }, stop.signal).next();
    await eventually('the first query', () => queries === 1);
    const row = newLogRow({ projectUid });
    await store.insert({ rows: encodeRow(row), rowCount: 1, token: row.id });
    expect((await shown).value).toMatchObject({ id: row.id });
    expect(queries).toBe(2);
    stop.abort();
    await store.close();
  });

  test('does not block the shutdown of the engine', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'standin-engine-'));
    const mine = await startEmbeddedEngine({ dataDir: folder });
    const headers = { authorization: `Basic ${btoa(`${mine.username}:${mine.password}`)}` };
    const mark = (await fetch(`${mine.url}/?query=SELECT+1`, { headers })).headers.get(MARK) ?? '';
    const waiting = fetch(`${mine.url}/inserts?after=${mark}`, { headers });
    // When the front has answered this later request, the waiting request has arrived, too.
    await fetch(`${mine.url}/ping`);
    await mine.stop();
    expect((await waiting).status).toBe(200);
    await rm(folder, { recursive: true });
  });
});

test('a store reports an unavailable engine as a retryable LogStoreError', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'standin-engine-'));
  const mine = await startEmbeddedEngine({ dataDir: folder });
  const store = openLogStore({ ...mine, database: 'standin' });
  await store.migrate();
  await mine.stop();
  const failed = store.insert({ rows: encodeRow(newLogRow()), rowCount: 1, token: 't' });
  await expect(failed).rejects.toThrow(LogStoreError);
  await expect(failed).rejects.toMatchObject({ kind: 'retryable' });
  await store.close();
  await rm(folder, { recursive: true });
});
