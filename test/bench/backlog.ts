import { LIMITS, type LogRow } from '@standin/contract';
import { drainSpool } from '@standin/gateway';
import type { LogStore } from '@standin/logstore';
import { pino } from 'pino';
import { Spool } from '../../gateway/src/record/spool/spool.ts';
import { ByteBudget } from '../../gateway/src/request/byte-budget.ts';

const SEGMENT_BYTES = 8 * 1024 * 1024;
/** The number of rows that are recorded concurrently. */
const GROUP_ROWS = 1_000;
const logger = pino({ level: 'silent' });

/** Opens a spool whose size and buffered bytes are not limited. */
export const openSpool = (dir: string, durability: 'disk' | 'process'): Promise<Spool> =>
  Spool.open({
    dir,
    durability,
    logger,
    budget: new ByteBudget(Number.MAX_SAFE_INTEGER),
    bytesMax: Number.MAX_SAFE_INTEGER,
    segmentBytes: SEGMENT_BYTES,
    reserveBytes: 0,
    quietMs: LIMITS.spoolQuietMs,
  });

/**
 * Writes the files that a gateway leaves when it records these rows while ClickHouse is unavailable. Resolves with the closed
 * spool.
 */
export const writeBacklog = async (dir: string, rows: number, nextRow: () => LogRow): Promise<Spool> => {
  const spool = await openSpool(dir, 'process');
  for (let done = 0; done < rows; done += GROUP_ROWS) {
    const group = Array.from({ length: Math.min(GROUP_ROWS, rows - done) }, () => spool.exchange(nextRow()));
    if ((await Promise.all(group)).includes(false)) throw new Error('a row of the backlog was not recorded');
  }
  await spool.close();
  await spool.leave({ isSettled: false });
  return spool;
};

/** Delivers the backlog like `standin admin drain`. */
export const deliverBacklog = async (dir: string, sink: LogStore): Promise<{ rows: number; seconds: number }> => {
  const started = performance.now();
  const { rows } = await drainSpool({
    dir,
    sink,
    logger,
    quietMs: 0,
    migrate: true,
    signal: new AbortController().signal,
  });
  return { rows, seconds: (performance.now() - started) / 1_000 };
};
