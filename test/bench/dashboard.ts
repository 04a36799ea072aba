import { setTimeout as delay } from 'node:timers/promises';
import { EVERY_PROJECT, type LogStore } from '@standin/logstore';
import type { Browser, Page } from 'playwright-core';
import { Pool } from 'undici';
import { goto, startDashboard, watched, type DashboardRun } from '../e2e/dashboard-stand.ts';
import { call } from '../e2e/dev-stand.ts';
import {
  heapBytes,
  insertTraffic,
  longestTask,
  openDevLog,
  readToTheEnd,
  rowsDrawn,
  ROWS_DRAWN_MAX,
  scrollFrames,
  skippedRows,
  TRAFFIC,
  watchLongTasks,
} from '../e2e/traffic-page.ts';
import { startBrowser } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { startTcpProxy } from '../harness/tcp-proxy.ts';
import { percentile, printMeasurements, type Measurement } from './machine.ts';

interface Stand {
  readonly run: DashboardRun;
  readonly browser: Browser;
  readonly store: LogStore;
  readonly projectUid: string;
}

const LOADS = 7;
const FIRST_ROWS = 30;
/** DevTools' preset "Fast 4G", with throughputs in bytes per second and the latency in milliseconds. */
const FAST_4G = { offline: false, downloadThroughput: 1_012_500, uploadThroughput: 168_750, latency: 165 };
/** The factor by which the CPU is slowed down. */
const CPU_RATE = 4;
const MIB = 1024 * 1024;
const BODY_BYTES = 10 * MIB;

const milliseconds = (value: number): string => `${value.toFixed(0)} ms`;
const atMost = (what: string, value: number, max: number): Measurement => ({
  what,
  measured: milliseconds(value),
  target: `≤ ${max} ms`,
  met: value <= max,
});
const exactly = (what: string, value: number, expected: number): Measurement => ({
  what,
  measured: String(value),
  target: String(expected),
  met: value === expected,
});

/** Opens the Traffic page and waits until its tail, the stream of new rows, is live. */
const openTraffic = async ({ run, browser }: Stand, origin = run.dashboard): ReturnType<typeof watched> => {
  const watchedPage = await watched(browser);
  await goto(watchedPage.page, `${origin}${TRAFFIC}`);
  await tailIs(watchedPage.page, 'live');
  return watchedPage;
};

const tailIs = (page: Page, state: string): Promise<unknown> =>
  eventually(`the tail to be ${state}`, () => page.locator('[data-tail]').getAttribute('data-tail'), {
    accept: (found) => found === state,
    intervalMs: 10,
  });

/**
 * Sends requests numbered from `from`, at a constant rate regardless of the responses. Resolves with the send time of each request
 * in Unix milliseconds, by number.
 */
const send = async (
  run: DashboardRun,
  from: number,
  count: number,
  perSecond: number,
): Promise<Map<number, number>> => {
  const url = new URL(run.url);
  const pool = new Pool(url.origin, { connections: 32 });
  const sentAt = new Map<number, number>();
  const answers: Promise<unknown>[] = [];
  const started = performance.now();
  for (let index = 0; index < count; index += 1) {
    await delay(Math.max(0, started + (index * 1_000) / perSecond - performance.now()));
    const number = from + index;
    sentAt.set(number, Date.now());
    const answered = pool.request({
      method: 'GET',
      path: `${url.pathname}/v1/orders?n=${number}`,
      headers: { 'x-api-key': run.apiKey },
    });
    answers.push(answered.then(({ body }) => body.dump()));
  }
  await Promise.all(answers);
  await pool.close();
  return sentAt;
};

/** Measures how fast the traffic page loads. */
const benchLoad = async ({ run, browser }: Stand): Promise<Measurement[]> => {
  const html = await (await fetch(`${run.dashboard}${TRAFFIC}`)).text();
  const paints: number[] = [];
  const largest: number[] = [];
  for (let load = 0; load < LOADS; load += 1) {
    const { page, context } = await watched(browser);
    const devtools = await context.newCDPSession(page);
    await devtools.send('Network.enable');
    await devtools.send('Network.emulateNetworkConditions', FAST_4G);
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: CPU_RATE });
    await goto(page, `${run.dashboard}${TRAFFIC}`);
    const [paint, largestPaint] = await page.evaluate<[number, number]>(`new Promise((resolve) => {
      const paint = performance.getEntriesByName('first-contentful-paint')[0].startTime;
      new PerformanceObserver((list) => resolve([paint, list.getEntries().at(-1).startTime]))
        .observe({ type: 'largest-contentful-paint', buffered: true });
    })`);
    paints.push(paint);
    largest.push(largestPaint);
    await context.close();
  }
  const rows = html.split('data-traffic-row=').length - 1;
  return [
    atMost('first contentful paint, Fast 4G, CPU ÷ 4', percentile(paints, 0.5), 1_000),
    atMost('largest contentful paint', percentile(largest, 0.5), 1_500),
    { what: 'rows in the HTML', measured: String(rows), target: `≥ ${FIRST_ROWS}`, met: rows >= FIRST_ROWS },
  ];
};

/** Measures how long a request takes to appear in the list. */
const benchVisible = async (stand: Stand): Promise<Measurement[]> => {
  const [FROM, COUNT, PER_SECOND] = [1_000_000, 1_000, 50];
  const { page, context } = await openTraffic(stand);
  await page.evaluate(`{
    globalThis.seenAt = {};
    const look = () => {
      for (const cell of document.querySelectorAll('[data-traffic-row] [data-field=path]')) {
        const number = /n=(\\d{7})/.exec(cell.textContent)?.[1];
        if (number !== undefined) globalThis.seenAt[number] ??= Date.now();
      }
    };
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
  }`);
  const sentAt = await send(stand.run, FROM, COUNT, PER_SECOND);
  const seenAt = await eventually('the last row', () => page.evaluate<Record<string, number>>('globalThis.seenAt'), {
    accept: (seen) => String(FROM + COUNT - 1) in seen,
  });
  await context.close();
  const waits = [...sentAt].flatMap(([number, at]) => {
    const seen = seenAt[String(number)];
    return seen === undefined ? [] : [seen - at];
  });
  return [
    exactly(`rows seen, of ${COUNT} at ${PER_SECOND} a second`, waits.length, COUNT),
    atMost('request → row on the screen, p50', percentile(waits, 0.5), 500),
    atMost('request → row on the screen, p95', percentile(waits, 0.95), 1_500),
  ];
};

/** Measures the longest task of the page during a burst of requests, and whether the page accounts for each request. */
const benchBurst = async (stand: Stand): Promise<Measurement[]> => {
  const [PER_SECOND, SECONDS] = [500, 60];
  const { page, context } = await openTraffic(stand);
  await watchLongTasks(page);
  const before = await stand.store.count({ projectUid: stand.projectUid });
  await send(stand.run, 2_000_000, PER_SECOND * SECONDS, PER_SECOND);
  const total = before + PER_SECOND * SECONDS;
  await eventually('the chart to count the last request', () => page.locator('[data-counts]').innerText(), {
    accept: (text) => text.includes(new Intl.NumberFormat('en').format(total)),
    timeoutMs: 20_000,
  });
  const longest = await longestTask(page);
  const { listed } = await readToTheEnd(page);
  const skipped = await skippedRows(page);
  await context.close();
  return [
    atMost(`longest task during ${PER_SECOND} requests/s for ${SECONDS} s`, longest, 100),
    exactly(`shown (${listed}) + skipped (${skipped})`, listed + skipped, total),
  ];
};

/** Measures how smoothly a long list scrolls. */
const benchScroll = async (stand: Stand): Promise<Measurement[]> => {
  const [BATCHES, BATCH, FRAMES] = [20, 5_000, 600];
  const { store, projectUid } = stand;
  const endMs = Date.now() - 600_000;
  for (let batch = 0; batch < BATCHES; batch += 1) {
    await insertTraffic(store, { projectUid, rowCount: BATCH, endMs: endMs - batch * BATCH });
  }
  const total = await store.count({ projectUid });
  const { page, context } = await openTraffic(stand);
  const devtools = await context.newCDPSession(page);
  const { listed, drawnMax } = await readToTheEnd(page);
  const heapMiB = (await heapBytes(devtools)) / MIB;
  const frames = await scrollFrames(page, FRAMES);
  const drawn = Math.max(drawnMax, await rowsDrawn(page));
  await context.close();
  const perSecond = (1_000 * FRAMES) / frames.reduce((sum, frame) => sum + frame, 0);
  return [
    exactly('rows in the list', listed, total),
    ...[{ what: 'frames/s while it scrolls', measured: perSecond.toFixed(1), target: '≥ 55', met: perSecond >= 55 }],
    { what: 'rows drawn', measured: String(drawn), target: `≤ ${ROWS_DRAWN_MAX}`, met: drawn <= ROWS_DRAWN_MAX },
    { what: 'heap', measured: `${heapMiB.toFixed(0)} MiB`, target: '≤ 150 MiB', met: heapMiB <= 150 },
  ];
};

/** Measures how fast a body of 10 MiB opens, and how typing blocks the page while the body is shown. */
const benchLargeBody = async (stand: Stand): Promise<Measurement[]> => {
  const [OPENINGS, TYPED] = [5, 'status:200 path:/v1/orders'];
  const item = '{"id":1,"sku":"0123456789"},';
  const body = `[${item.repeat(Math.floor(BODY_BYTES / item.length) - 1)}0]`;
  await call(stand.run, '/v1/orders?large', { body });
  const [large] =
    (await eventually('the large request in the log', () =>
      stand.store.summaries({ projectUid: stand.projectUid, limit: 1 }).then((found) => {
        return found[0]?.query === 'large' ? found : undefined;
      }),
    )) ?? [];
  const { page, context } = await openTraffic(stand);
  const times: number[] = [];
  for (let opening = 0; opening < OPENINGS; opening += 1) {
    const opened = page.getByText('"sku":"0123456789"').first();
    const begun = performance.now();
    await page.evaluate(`window.__remixRouter.navigate('${TRAFFIC}?sel=${large?.id ?? ''}&tab=request')`);
    await opened.waitFor();
    times.push(performance.now() - begun);
    if (opening === OPENINGS - 1) break;
    await page.evaluate(`window.__remixRouter.navigate('${TRAFFIC}')`);
    await opened.waitFor({ state: 'detached' });
  }
  await watchLongTasks(page);
  await page.getByRole('combobox', { name: 'Search requests' }).pressSequentially(TYPED, { delay: 20 });
  const longest = await longestTask(page);
  await context.close();
  return [
    atMost(`a body of ${BODY_BYTES / MIB} MiB opens, slowest of ${OPENINGS}`, percentile(times, 1), 300),
    atMost('longest task while a user types next to it', longest, 50),
  ];
};

/** Measures whether the list recovers from an interrupted connection. */
const benchCut = async (stand: Stand): Promise<Measurement[]> => {
  // The number of rows is small, so that all rows are visible at once. The list renders only visible rows.
  const [FROM, COUNT, SECONDS] = [3_000_000, 20, 30];
  const proxy = await startTcpProxy(Number(new URL(stand.run.dashboard).port));
  const { page, context } = await openTraffic(stand, `http://localhost:${proxy.port}`);
  await proxy.cut();
  await tailIs(page, 'reconnecting');
  await send(stand.run, FROM, COUNT, COUNT / SECONDS);
  await proxy.restore();
  const restored = performance.now();
  await tailIs(page, 'live');
  const waited = performance.now() - restored;
  const numbers = (): Promise<number[]> =>
    page.evaluate(`[...document.querySelectorAll('[data-traffic-row] [data-field=path]')]
      .map((cell) => Number(/n=(3\\d{6})/.exec(cell.textContent)?.[1])).filter(Boolean)`);
  await eventually('the last row', numbers, { accept: (found) => found.includes(FROM + COUNT - 1) });
  const found = await numbers();
  await context.close();
  await proxy.stop();
  const missed = COUNT - new Set(found).size;
  return [
    atMost(`live again after the tail was cut for ${SECONDS} s`, waited, 3_000),
    exactly('rows lost', missed, 0),
    exactly('duplicate rows', found.length - new Set(found).size, 0),
  ];
};

/** Measures the dashboard of `standin dev` in a real browser, on the machine that also runs the gateway and ClickHouse. */
export const benchDashboard = async (): Promise<boolean> => {
  const [run, browser] = await Promise.all([startDashboard(), startBrowser()]);
  const store = await openDevLog(run.data);
  try {
    await send(run, 0, 100, 100);
    const [first] = await eventually(
      'the first requests in the log',
      () => store.summaries({ projectUid: EVERY_PROJECT, limit: 100 }),
      {
        accept: (found) => found.length === 100,
      },
    );
    const stand: Stand = { run, browser, store, projectUid: first?.projectUid ?? '' };
    const measurements: Measurement[] = [];
    for (const bench of [benchLoad, benchVisible, benchLargeBody, benchCut, benchBurst, benchScroll]) {
      measurements.push(...(await bench(stand)));
    }
    printMeasurements(measurements);
    return measurements.every(({ met }) => met);
  } finally {
    await Promise.all([browser.close(), store.close()]);
    await run.process.kill();
  }
};
