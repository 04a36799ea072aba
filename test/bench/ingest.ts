import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startEmbeddedEngine } from '@standin/engine';
import { openLogStore, rowSize } from '@standin/logstore';
import { clickHouseQuery, type Query } from '../harness/clickhouse-query.ts';
import { eventually } from '../harness/eventually.ts';
import { deliverBacklog, writeBacklog } from './backlog.ts';
import { cpuSeconds, printMeasurements, residentMiB, type Measurement } from './machine.ts';
import { MixedTraffic } from './mixed-traffic.ts';
import type { BenchOptions } from './options.ts';

const MERGED_TIMEOUT_MS = 300_000;
/** The number of consecutive polls without a merge after which no more merges are expected. */
const QUIET_POLLS = 10;

/** Waits until ClickHouse has merged small parts into large ones, which compress better. */
const merged = async (query: Query): Promise<void> => {
  let quiet = 0;
  const isQuiet = async (): Promise<boolean> => {
    quiet = (await query('SELECT count() FROM system.merges')) === '0' ? quiet + 1 : 0;
    return quiet >= QUIET_POLLS;
  };
  await eventually('the merges to end', isQuiet, { timeoutMs: MERGED_TIMEOUT_MS, intervalMs: 200 });
};

const diskUsage = async (query: Query) => {
  const [parts = 0, bytes = 0, indexBytes = 0] = (
    await query(
      "SELECT count(), sum(bytes_on_disk), sum(secondary_indices_compressed_bytes) FROM system.parts WHERE active AND database = 'standin' AND table = 'log'",
    )
  )
    .split('\t')
    .map(Number);
  return { parts, bytes, indexBytes };
};

const figure = (what: string, measured: string): Measurement => ({ what, measured, target: '', met: true });

/** Measures the delivery of mixed traffic from a gateway's disk to the embedded engine, and the size of the stored rows. */
export const benchIngest = async ({ rows }: BenchOptions): Promise<boolean> => {
  const directory = await mkdtemp(path.join(tmpdir(), 'standin-bench-'));
  const dir = path.join(directory, 'spool');
  try {
    const traffic = new MixedTraffic(rows);
    let rawBytes = 0;
    await writeBacklog(dir, rows, () => {
      const row = traffic.next();
      rawBytes += rowSize(row);
      return row;
    });
    const engine = await startEmbeddedEngine({ dataDir: path.join(directory, 'clickhouse') });
    const sink = openLogStore({ ...engine, database: 'standin' });
    try {
      await sink.migrate();
      const query = clickHouseQuery(engine);
      const pid = engine.pid ?? 0;
      const [ranBefore, ownBefore] = [await cpuSeconds(pid), process.cpuUsage()];
      const delivered = await deliverBacklog(dir, sink);
      const { user, system } = process.cpuUsage(ownBefore);
      const insertUs = (((await cpuSeconds(pid)) - ranBefore) / rows) * 1e6;
      const memoryMiB = await residentMiB(pid);
      await merged(query);
      const withMergesUs = (((await cpuSeconds(pid)) - ranBefore) / rows) * 1e6;
      const disk = await diskUsage(query);
      const stored = Number(await query('SELECT count() FROM log'));
      const distinct = Number(await query('SELECT uniqExact(id) FROM log'));
      const perRow = (bytes: number): string => `${(bytes / rows).toFixed(0)} bytes`;
      const measurements: Measurement[] = [
        figure('rows/s, delivered as by `standin admin drain`', (rows / delivered.seconds).toFixed(0)),
        figure('CPU per row, the engine, until acknowledged', `${insertUs.toFixed(1)} µs`),
        figure('… with the merges that follow', `${withMergesUs.toFixed(1)} µs`),
        figure('CPU per row, the sender', `${((user + system) / rows).toFixed(1)} µs`),
        figure("the engine's memory afterwards", `${memoryMiB.toFixed(0)} MiB`),
        figure('a row, raw (RowBinary, as recorded)', perRow(rawBytes)),
        figure(`a row on disk, ${disk.parts} parts`, perRow(disk.bytes)),
        figure('… search indexes', perRow(disk.indexBytes)),
        figure('raw to disk', `${(rawBytes / disk.bytes).toFixed(1)} ×`),
        figure('… without the indexes', `${(rawBytes / (disk.bytes - disk.indexBytes)).toFixed(1)} ×`),
        {
          what: 'rows in the log, by count and by id',
          measured: `${stored}, ${distinct}`,
          target: `${rows}, once`,
          met: stored === rows && distinct === rows,
        },
      ];
      printMeasurements(measurements);
      return measurements.every(({ met }) => met);
    } finally {
      await sink.close();
      await engine.stop();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
};
