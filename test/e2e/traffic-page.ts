import { createHash } from 'node:crypto';
import { encodeRow, openLogStore, type LogStore } from '@standin/logstore';
import type { CDPSession, Page } from 'playwright-core';
import { readRunFile } from '../../cli/src/server/run-file.ts';
import { newLogRow } from '../../packages/exchange/src/log-row.testing.ts';
import { eventually } from '../harness/eventually.ts';
import { SHOP } from './dashboard-stand.ts';

/** This module reads and drives the Traffic page, for its tests and its benchmark. */

export const TRAFFIC = `${SHOP}/traffic`;
/** The maximum number of rendered rows in a list of any length. */
export const ROWS_DRAWN_MAX = 60;
const STATUSES = [200, 201, 204, 301, 404, 500];

/** Opens the log of the `standin dev` that runs with this data directory. */
export const openDevLog = async (data: string): Promise<LogStore> => {
  const { clickhouse } = (await readRunFile(data)) ?? {};
  if (clickhouse === undefined) throw new Error(`standin dev is not running for ${data}`);
  return openLogStore({ ...clickhouse, database: 'standin' });
};

export interface InsertedTraffic {
  readonly projectUid: string;
  readonly rowCount: number;
  readonly endMs: number;
}

/**
 * Inserts rows as if a gateway had delivered them. They are one millisecond apart, and the last one is one millisecond before
 * `endMs`.
 */
export const insertTraffic = async (
  store: LogStore,
  { projectUid, rowCount, endMs }: InsertedTraffic,
): Promise<void> => {
  const rows = Buffer.concat(
    Array.from({ length: rowCount }, (_row, index) =>
      encodeRow(
        newLogRow({
          projectUid,
          receivedAtUs: (endMs - rowCount + index) * 1_000,
          status: STATUSES[index % STATUSES.length] ?? 200,
          query: `n=${index}`,
          durationUs: (index % 400) * 1_000,
        }),
      ),
    ),
  );
  await store.insert({ rows, rowCount, token: createHash('sha256').update(rows).digest('hex') });
};

export const rowsDrawn = (page: Page): Promise<number> =>
  page.evaluate(`document.querySelectorAll('[data-traffic-row]').length`);

/** Returns the sum of N over all rows that show "N skipped". */
export const skippedRows = (page: Page): Promise<number> =>
  page.evaluate(`[...document.querySelectorAll('[data-gap]')].reduce((sum, gap) => sum + Number(gap.dataset.gap), 0)`);

/** Returns the heap size of the page's scripts in bytes, after a garbage collection. */
export const heapBytes = async (devtools: CDPSession): Promise<number> => {
  await devtools.send('HeapProfiler.collectGarbage');
  return (await devtools.send('Runtime.getHeapUsage')).usedSize;
};

export const scrollToEnd = (page: Page): Promise<void> =>
  page.evaluate(`{ const grid = document.querySelector('[role=grid]'); grid.scrollTop = grid.scrollHeight; }`);

/**
 * Reads to the oldest entry of the list. Returns the number of the list's rows, and the largest number that was rendered at once.
 */
export const readToTheEnd = async (page: Page): Promise<{ listed: number; drawnMax: number }> => {
  let drawnMax = 0;
  const rowCount = await eventually(
    'the end of the list',
    async () => {
      await scrollToEnd(page);
      drawnMax = Math.max(drawnMax, await rowsDrawn(page));
      return page.evaluate<number>(`Number(document.querySelector('[role=grid]').getAttribute('aria-rowcount'))`);
    },
    { accept: (count) => count !== -1, timeoutMs: 50_000 },
  );
  // The header counts as a row.
  return { listed: rowCount - 1, drawnMax };
};

/** Scrolls up a little in every frame. Returns the milliseconds between frames. */
export const scrollFrames = (page: Page, count: number): Promise<number[]> =>
  page.evaluate(`new Promise((resolve) => {
    const grid = document.querySelector('[role=grid]');
    const times = [];
    let last = performance.now();
    const step = (now) => {
      times.push(now - last);
      last = now;
      grid.scrollTop -= 90;
      if (times.length < ${count}) requestAnimationFrame(step);
      else resolve(times);
    };
    requestAnimationFrame(step);
  })`);

/** Starts to record the longest time that the page's scripts block it. */
export const watchLongTasks = (page: Page): Promise<void> =>
  page.evaluate(`{
    globalThis.longest = 0;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) globalThis.longest = Math.max(globalThis.longest, duration);
    }).observe({ type: 'longtask' });
  }`);
/** Returns the longest time in milliseconds, or 0 if no task took 50 ms or more. */
export const longestTask = (page: Page): Promise<number> => page.evaluate('globalThis.longest');
