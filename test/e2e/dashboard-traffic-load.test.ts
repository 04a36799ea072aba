import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { ensureDashboardBuild } from '@standin/dashboard';
import { encodeRow, openLogStore, type LogStore } from '@standin/logstore';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newLogRow } from '../../packages/logstore/src/log-row.testing.ts';
import { startBrowser } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { goto, SHOP, startDashboard, watched, type DashboardRun } from './dashboard-stand.ts';
import { call } from './dev-stand.ts';

let run: DashboardRun;
let browser: Browser;
let store: LogStore;
/** Of the quickstart's project. */
let projectUid: string;

beforeAll(async () => {
  [run, browser] = await Promise.all([startDashboard(), startBrowser()]);
  const { clickhouse } = JSON.parse(await readFile(path.join(run.data, 'running.json'), 'utf8')) as {
    clickhouse: string;
  };
  store = openLogStore({ url: clickhouse, username: 'default', password: '', database: 'standin' });
  await call(run, '/v1/orders');
  const [first] = await eventually('the first request in the log', () => store.summaries({ limit: 1 }), {
    accept: (found) => found.length === 1,
  });
  projectUid = first?.projectUid ?? '';
});
afterAll(async () => {
  await Promise.all([browser.close(), store.close(), run.process.kill()]);
});

const TRAFFIC = `${SHOP}/traffic`;
const STATUSES = [200, 201, 204, 301, 404, 500];

/** As if a gateway had delivered them: one millisecond apart, the last one now. */
const insert = async (rowCount: number, endMs: number): Promise<void> => {
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

const ROWS_DRAWN_MAX = 60;
const rowsDrawn = (page: Page): Promise<number> =>
  page.evaluate(`document.querySelectorAll('[data-traffic-row]').length`);
const rowCount = (page: Page): Promise<number> =>
  page.evaluate(`Number(document.querySelector('[role=grid]').getAttribute('aria-rowcount'))`);
const heapBytes = async (devtools: CDPSession): Promise<number> => {
  await devtools.send('HeapProfiler.collectGarbage');
  return (await devtools.send('Runtime.getHeapUsage')).usedSize;
};

/** Reads on at the end of the list until there is nothing older. */
const readToTheEnd = (page: Page): Promise<number> =>
  eventually(
    'the end of the list',
    async () => {
      await page.evaluate(
        `{ const grid = document.querySelector('[role=grid]'); grid.scrollTop = grid.scrollHeight; }`,
      );
      expect(await rowsDrawn(page)).toBeLessThanOrEqual(ROWS_DRAWN_MAX);
      return rowCount(page);
    },
    { accept: (count) => count !== -1, timeoutMs: 50_000 },
  );

// Bar 2.
test('the scripts that the page starts with stay below 160 KB', async () => {
  const client = path.join(await ensureDashboardBuild(), 'client');
  const html = await (await fetch(`${run.dashboard}${TRAFFIC}`)).text();
  const scripts = new Set(html.match(/\/assets\/[\w.-]+\.js/g));
  expect(scripts.size).toBeGreaterThan(5);
  const sizes = await Promise.all(
    [...scripts].map(async (file) => gzipSync(await readFile(path.join(client, file)), { level: 9 }).length),
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(160 * 1024);
});

// Bar 5, shortened.
test('a burst of 500 a second does not hold the page up, and nothing of it is lost in silence', async () => {
  const { page, context } = await watched(browser);
  await goto(page, `${run.dashboard}${TRAFFIC}`);
  await expect.poll(() => page.locator('[data-tail]').getAttribute('data-tail')).toBe('live');
  await page.evaluate(`{
    globalThis.longest = 0;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) globalThis.longest = Math.max(globalThis.longest, duration);
    }).observe({ type: 'longtask' });
  }`);
  const before = await store.count({ projectUid });
  const [BATCHES, BATCH] = [12, 250];
  const startedAt = performance.now();
  for (let batch = 0; batch < BATCHES; batch += 1) {
    await insert(BATCH, Date.now());
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, startedAt + (batch + 1) * 500 - performance.now())));
  }
  const total = before + BATCHES * BATCH;
  // Later than the last one is shown, the chart counts it.
  await expect
    .poll(() => page.locator('[data-counts]').innerText(), { timeout: 20_000 })
    .toContain(new Intl.NumberFormat('en').format(total));
  // The bar is 100 ms; here other work shares the two cores.
  expect(await page.evaluate<number>('globalThis.longest')).toBeLessThan(500);
  const listed = (await readToTheEnd(page)) - 1;
  const skipped = await page.evaluate<number>(
    `[...document.querySelectorAll('[data-gap]')].reduce((sum, gap) => sum + Number(gap.dataset.gap), 0)`,
  );
  expect(listed + skipped).toBe(total);
  await context.close();
});

// Bar 4.
test('a hundred thousand rows scroll smoothly, in few elements and little memory', async () => {
  const [BATCHES, BATCH] = [20, 5_000];
  const endMs = Date.now() - 60_000;
  for (let batch = 0; batch < BATCHES; batch += 1) await insert(BATCH, endMs - batch * BATCH);
  const total = await store.count({ projectUid });
  expect(total).toBeGreaterThan(100_000);
  const { page, context } = await watched(browser);
  const devtools = await context.newCDPSession(page);
  await goto(page, `${run.dashboard}${TRAFFIC}`);
  await page.locator('[data-traffic-row]').first().waitFor();
  expect((await readToTheEnd(page)) - 1).toBe(total);
  expect(await heapBytes(devtools)).toBeLessThan(150 * 1024 * 1024);
  const frames = await page.evaluate<number[]>(`new Promise((resolve) => {
    const grid = document.querySelector('[role=grid]');
    const times = [];
    let last = performance.now();
    const step = (now) => {
      times.push(now - last);
      last = now;
      grid.scrollTop -= 90;
      if (times.length < 120) requestAnimationFrame(step);
      else resolve(times);
    };
    requestAnimationFrame(step);
  })`);
  frames.sort((a, b) => a - b);
  // The bar is 55 frames a second; here other work shares the two cores.
  expect(frames[Math.floor(frames.length / 2)]).toBeLessThan(50);
  expect(await rowsDrawn(page)).toBeLessThanOrEqual(ROWS_DRAWN_MAX);
  await context.close();
});
