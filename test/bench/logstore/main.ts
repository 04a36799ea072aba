import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startEmbeddedEngine } from '@standin/engine';
import { newLogRow } from '@standin/exchange/testing';
import { encodeRow, EVERY_PROJECT, openLogStore, type LogStore } from '@standin/logstore';

/** Measures the log store's numbers in packages/logstore/README.md on the embedded engine: `node test/bench/logstore/main.ts`. */

const ENCODED_ROWS = 300_000;
const BATCHES = 20;
const BATCH_ROWS = 10_000;
const REPETITIONS = 10;
const IDLE_MS = 10_000;

/** Requests of 256 B and responses of 834 B, as in the gateway benchmark. */
const bodies = { requestBody: Buffer.alloc(256, 'a'), responseBody: Buffer.alloc(834, 'b'), responseBodyBytes: 834 };

const show = (what: string, value: number, unit: string): void => {
  process.stdout.write(`${what.padEnd(60)} ${value.toFixed(value < 10 ? 2 : 0).padStart(8)} ${unit}\n`);
};

/** Returns the median duration of the task in milliseconds. */
const measure = async (task: () => Promise<unknown>): Promise<number> => {
  const times: number[] = [];
  for (let round = 0; round < REPETITIONS; round++) {
    const start = performance.now();
    await task();
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[Math.floor(REPETITIONS / 2)] ?? 0;
};

const benchEncode = (): void => {
  const row = newLogRow(bodies);
  for (let i = 0; i < ENCODED_ROWS; i++) encodeRow(row);
  const start = performance.now();
  for (let i = 0; i < ENCODED_ROWS; i++) encodeRow(row);
  show('encodeRow', ((performance.now() - start) * 1000) / ENCODED_ROWS, 'µs/row');
};

const benchInsert = async (store: LogStore): Promise<void> => {
  const times: number[] = [];
  for (let batch = 0; batch < BATCHES; batch++) {
    const rows = Array.from({ length: BATCH_ROWS }, (_, index) =>
      encodeRow(newLogRow({ ...bodies, projectUid: `project-${index % 20}` })),
    );
    const start = performance.now();
    await store.insert({ rows: Buffer.concat(rows), rowCount: rows.length, token: `bench-${batch}` });
    times.push(performance.now() - start);
  }
  show(`insert of ${BATCH_ROWS} rows`, times.sort((a, b) => a - b)[BATCHES / 2] ?? 0, 'ms');
};

const benchVisible = async (store: LogStore): Promise<void> => {
  const insertAndRead = async (): Promise<void> => {
    const row = newLogRow(bodies);
    await store.insert({ rows: encodeRow(row), rowCount: 1, token: row.id });
    if (!(await store.get(row.id))) throw new Error('an acknowledged row is missing');
  };
  show('insert of 1 row and read by id', await measure(insertAndRead), 'ms');
};

const memoryMb = (pid: number | undefined): number =>
  Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1024;

const main = async (): Promise<void> => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'standin-bench-'));
  benchEncode();
  const start = performance.now();
  const engine = await startEmbeddedEngine({ dataDir });
  show('start of the engine with an empty folder', performance.now() - start, 'ms');
  const store = openLogStore({ ...engine, database: 'standin' });
  try {
    await store.migrate();
    show("engine's memory, started", memoryMb(engine.pid), 'MB');
    await benchInsert(store);
    await benchVisible(store);
    const rows = BATCHES * BATCH_ROWS;
    const projectUid = 'project-3';
    show(
      `latest 100 of ${rows}, summaries`,
      await measure(() => store.summaries({ projectUid: EVERY_PROJECT, limit: 100 })),
      'ms',
    );
    show('… of one project', await measure(() => store.summaries({ limit: 100, projectUid })), 'ms');
    show(
      `latest 100 of ${rows}, complete`,
      await measure(() => store.list({ projectUid: EVERY_PROJECT, limit: 100 })),
      'ms',
    );
    await delay(IDLE_MS);
    show("engine's memory, idle again", memoryMb(engine.pid), 'MB');
  } finally {
    await store.close();
    await engine.stop();
    await rm(dataDir, { recursive: true });
  }
};

await main();
