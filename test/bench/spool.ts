import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { startEmbeddedEngine } from '@standin/engine';
import { openLogStore } from '@standin/logstore';
import { readSegment } from '../../gateway/src/deliver/read-segment.ts';
import { testRow } from '../../gateway/src/record/spool/spool.testing.ts';
import { deliverBacklog, openSpool, writeBacklog } from './backlog.ts';
import { printMeasurements, printTable } from './machine.ts';
import { TARGETS } from './targets.ts';

const REQUEST_BODY_BYTES = 256;
const ANSWER_BODY_BYTES = 834;
const COMMITS = 1_500;
const BACKLOG_ROWS = 200_000;
const { rowsPerSecondMin } = TARGETS.spool;

const body = { requestBody: Buffer.alloc(REQUEST_BODY_BYTES, 'q'), responseBody: Buffer.alloc(ANSWER_BODY_BYTES, 'a') };
const row = testRow(body);

/** Runs `waiting` concurrent callers. Each records its next row when its previous row has been recorded. */
const record = async (dir: string, durability: 'disk' | 'process', waiting: number) => {
  const spool = await openSpool(dir, durability);
  const rows = COMMITS * waiting;
  let begun = 0;
  const caller = async (): Promise<void> => {
    while (begun++ < rows) {
      await spool.exchange(row);
      await nextTurn();
    }
  };
  const [cpu, started] = [process.cpuUsage(), performance.now()];
  await Promise.all(Array.from({ length: waiting }, caller));
  const { user, system } = process.cpuUsage(cpu);
  const wallMs = performance.now() - started;
  await spool.close();
  return {
    durability,
    waiting,
    'records/s': Math.round((rows / wallMs) * 1_000),
    'ms per commit': (wallMs / spool.commits).toFixed(2),
    'CPU µs per commit': ((user + system) / spool.commits).toFixed(0),
    'CPU µs per record': ((user + system) / rows).toFixed(1),
  };
};

/**
 * Fills a spool, measures how long it takes to read the first segment, and delivers the spool to the embedded engine like `standin
 * drain`.
 */
const drainBacklog = async (directory: string) => {
  const dir = path.join(directory, 'backlog');
  const spool = await writeBacklog(dir, BACKLOG_ROWS, () => testRow({ ...body }));
  const first = spool.takeSealed()?.file ?? '';
  const reading = performance.now();
  const content = await readSegment(first);
  const readUs = ((performance.now() - reading) * 1_000) / (content?.exchanges.ends.length ?? 0);
  const engine = await startEmbeddedEngine({ dataDir: path.join(directory, 'clickhouse') });
  const sink = openLogStore({ ...engine, database: 'standin' });
  await sink.migrate();
  const { rows, seconds } = await deliverBacklog(dir, sink);
  await sink.close();
  await engine.stop();
  return { rows, perSecond: rows / seconds, readUs };
};

/** Measures the cost of recording alone, and the speed at which a backlog is delivered. */
export const benchSpool = async (): Promise<boolean> => {
  const directory = await mkdtemp(path.join(tmpdir(), 'standin-bench-'));
  try {
    console.log(`records of ${REQUEST_BODY_BYTES} B and ${ANSWER_BODY_BYTES} B bodies, ${COMMITS} commits each\n`);
    const results = [];
    for (const durability of ['disk', 'process'] as const) {
      for (const waiting of [1, 8, 64])
        results.push(await record(path.join(directory, durability), durability, waiting));
    }
    printTable(results);
    const { rows, perSecond, readUs } = await drainBacklog(directory);
    const measurements = [
      { what: 'reading and checking a segment', measured: `${readUs.toFixed(2)} µs/row`, target: '', met: true },
      {
        what: `backlog of ${BACKLOG_ROWS} rows into the engine`,
        measured: `${Math.round(perSecond)} rows/s`,
        target: `≥ ${rowsPerSecondMin} rows/s`,
        met: perSecond >= rowsPerSecondMin && rows === BACKLOG_ROWS,
      },
    ];
    console.log();
    printMeasurements(measurements);
    return measurements.every(({ met }) => met);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
};
