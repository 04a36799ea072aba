import { setTimeout as delay } from 'node:timers/promises';
import { ensureDashboardBuild } from '@standin/dashboard';
import { EVERY_PROJECT } from '@standin/logstore';
import { goto, startDashboard, watched, type DashboardRun } from '../e2e/dashboard-stand.ts';
import { openDevLog, TRAFFIC } from '../e2e/traffic-page.ts';
import { startBrowser } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { startProcess } from '../harness/processes.ts';
import { printMeasurements, type Measurement } from './machine.ts';
import type { BenchOptions } from './options.ts';
import { processTree, treeCpuSeconds, treeMemoryMiB, treePeakMiB, treeResidentMiB } from './process-tree.ts';
import { runLoad } from './run-load.ts';
import { TARGETS } from './targets.ts';

const CONNECTIONS = 16;
const ROUND_SECONDS = 2;
/** The time for all processes to start, and for the page and the tail to read the existing rows. */
const SETTLED_MS = 20_000;
/** The pause after the last request is in the log, in which ClickHouse merges parts and the page updates its chart. */
const REST_MS = 20_000;
const IDLE_MS = 20_000;
const { idlePercentMax, memoryMibMax } = TARGETS.dev;
const DELIVERED_MS_MAX = 120_000;

/** Returns the CPU that these processes use in the next 20 s, in percent of a core. */
const idleCpu = async (pids: readonly number[]): Promise<number> => {
  const [startedMs, before] = [performance.now(), await treeCpuSeconds(pids)];
  await delay(IDLE_MS);
  return (((await treeCpuSeconds(pids)) - before) * 100_000) / (performance.now() - startedMs);
};

interface Loaded {
  readonly requests: number;
  readonly perSecond: number;
}

/** Sends at least this many requests at the maximum rate. Resolves when all of them are in the log. */
const load = async (run: DashboardRun, count: number): Promise<Loaded> => {
  const { pathname, port, host } = new URL(run.url);
  const request = `GET ${pathname}/v1/orders HTTP/1.1\r\nHost: ${host}\r\nx-api-key: ${run.apiKey}\r\n\r\n`;
  let [requests, seconds, refused] = [0, 0, 0];
  while (requests < count) {
    const options = { port: Number(port), connections: CONNECTIONS, seconds: ROUND_SECONDS, requests: [request] };
    const round = await runLoad(options);
    requests += round.requests;
    seconds += round.seconds;
    refused += round.refused;
  }
  if (refused > 0) throw new Error(`${refused} of ${requests} requests were rejected`);
  const store = await openDevLog(run.data);
  await eventually('every request in the log', () => store.count({ projectUid: EVERY_PROJECT }), {
    accept: (rows) => rows === requests,
    timeoutMs: DELIVERED_MS_MAX,
    intervalMs: 1_000,
  });
  await store.close();
  return { requests, perSecond: requests / seconds };
};

/** Measures the resources of `standin dev` with one page of its dashboard and one `standin tail` open, under load and when idle. */
export const benchDev = async ({ requests: count }: BenchOptions): Promise<boolean> => {
  await ensureDashboardBuild();
  const run = await startDashboard();
  const tail = startProcess({ name: 'tail', main: 'cli/src/main.ts', args: ['tail', '--data', run.data] });
  const browser = await startBrowser();
  try {
    const { page } = await watched(browser);
    await goto(page, `${run.dashboard}${TRAFFIC}`);
    await eventually('the page to be live', () => page.locator('[data-tail]').getAttribute('data-tail'), {
      accept: (state) => state === 'live',
    });
    const dev = await processTree(run.process.pid);
    const all = [...dev, tail.pid];
    await delay(SETTLED_MS);
    const idleBefore = await idleCpu(all);
    const memoryBefore = await treeMemoryMiB(dev);

    const cpuBefore = await treeCpuSeconds(all);
    const { requests, perSecond } = await load(run, count);
    const cpuPerRequest = (((await treeCpuSeconds(all)) - cpuBefore) * 1_000_000) / requests;

    await delay(REST_MS);
    const idleAfter = await idleCpu(all);
    const memoryAfter = await treeMemoryMiB(dev);
    const figure = (what: string, measured: string): Measurement => ({ what, measured, target: '', met: true });
    const idle = (what: string, percent: number): Measurement => ({
      what,
      measured: `${percent.toFixed(1)} % of a core`,
      target: `≤ ${idlePercentMax} %`,
      met: percent <= idlePercentMax,
    });
    const memory = (what: string, mib: number): Measurement => ({
      what,
      measured: `${mib.toFixed(0)} MiB`,
      target: `≤ ${memoryMibMax} MiB`,
      met: mib <= memoryMibMax,
    });
    const measurements = [
      idle('idle before any request, with the tail', idleBefore),
      figure(`${requests} requests, ${CONNECTIONS} connections`, `${perSecond.toFixed(0)} requests/s`),
      figure('CPU per request, until it is in the log, with the tail', `${cpuPerRequest.toFixed(0)} µs`),
      idle(`idle ${REST_MS / 1_000} s after the requests, with the tail`, idleAfter),
      memory('memory before the requests', memoryBefore),
      memory('memory after the requests', memoryAfter),
      figure('the same, as the sum in ps', `${(await treeResidentMiB(dev)).toFixed(0)} MiB`),
      figure('peak memory, as the sum in ps', `${(await treePeakMiB(dev)).toFixed(0)} MiB`),
    ];
    printMeasurements(measurements);
    return measurements.every(({ met }) => met);
  } finally {
    await browser.close();
    await tail.kill();
    await run.process.kill();
  }
};
