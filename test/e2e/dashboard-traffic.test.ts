import { readFile } from 'node:fs/promises';
import type { Browser, Page } from 'playwright-core';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startBrowser } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { startTcpProxy } from '../harness/tcp-proxy.ts';
import { DESKTOP, goto, hydrated, SHOP, watched, type DashboardRun } from './dashboard-stand.ts';
import { call, readLog } from './dev-stand.ts';
import {
  enginePid,
  live,
  params,
  rows,
  scrollTo,
  search,
  shown,
  startTrafficDashboard,
  tail,
  usePage,
} from './dashboard-traffic-stand.ts';
import { TRAFFIC } from './traffic-page.ts';

let run: DashboardRun;
let browser: Browser;

const SENT = 40;

beforeAll(async () => {
  [run, browser] = await Promise.all([startTrafficDashboard(), startBrowser()]);
  for (let n = 0; n < SENT; n += 1) await send(n);
  await eventually('all requests in the log', async () => (await readLog(run.data)).length === SENT);
});
afterAll(async () => {
  await Promise.all([browser.close(), run.process.kill()]);
});

/** Sends a request with `n` in the query: a POST if `n` is even, otherwise a GET. */
const send = async (n: number): Promise<void> => {
  const { statusCode, body } = await request(`${run.url}/v1/orders?n=${n}`, {
    method: n % 2 === 0 ? 'POST' : 'GET',
    headers: { 'x-api-key': run.apiKey },
  });
  await body.dump();
  expect(statusCode).toBe(n % 2 === 0 ? 201 : 200);
};

const at = (url: string): string => `${run.dashboard}${url}`;

const onPage = (url: string, use: (page: Page) => Promise<void>): Promise<void> =>
  usePage(browser, url.startsWith('http') ? url : at(url), use);

describe('the initial HTML', () => {
  test('has at least thirty rows without JavaScript, and no style attributes', async () => {
    const html = await (await fetch(at(TRAFFIC))).text();
    expect(html.match(/data-traffic-row/g)?.length).toBeGreaterThanOrEqual(30);
    expect(html).not.toMatch(/ style=/);
  });

  test('is painted quickly on a slow machine and network', async () => {
    // The cache of a new context is empty.
    const context = await browser.newContext({ viewport: DESKTOP });
    const page = await context.newPage();
    const devtools = await context.newCDPSession(page);
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: 4 });
    await devtools.send('Network.enable');
    // Nearly the preset "Fast 4G" of DevTools, but with a latency of 60 ms instead of 165 ms.
    await devtools.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 60,
      downloadThroughput: (9 * 1024 * 1024 * 0.9) / 8,
      uploadThroughput: (1.5 * 1024 * 1024 * 0.9) / 8,
    });
    await page.goto(at(TRAFFIC));
    await hydrated(page);
    const [first, largest] = await page.evaluate<[number, number]>(`new Promise((resolve) => {
      new PerformanceObserver((list) => {
        const [paint] = performance.getEntriesByName('first-contentful-paint');
        resolve([paint.startTime, list.getEntries().at(-1).startTime]);
      }).observe({ type: 'largest-contentful-paint', buffered: true });
    })`);
    // The targets are 1.0 and 1.5 s. Other work shares the two cores here.
    expect(first).toBeLessThan(3_000);
    expect(largest).toBeLessThan(4_000);
    await context.close();
  });

  test('is the start page of a project that has an endpoint', async () => {
    await onPage(SHOP, async (page) => {
      expect(page.url()).toBe(at(TRAFFIC));
      await live(page);
    });
    await onPage('/p/default/bare', async (page) => {
      await page.getByRole('link', { name: 'Create endpoint' }).waitFor();
    });
  });
});

describe('the tail', () => {
  test('shows 95% of requests within 1.5 seconds on an idle machine', async () => {
    await onPage(TRAFFIC, async (page) => {
      await live(page);
      // The page itself records the time at which each row appears.
      await page.evaluate(`{
        globalThis.seen = {};
        new MutationObserver(() => {
          for (const cell of document.querySelectorAll('[data-traffic-row] [data-field=path]')) {
            const n = /n=(\\d+)/.exec(cell.textContent)?.[1];
            globalThis.seen[n] ??= Date.now();
          }
        }).observe(document.querySelector('[role=grid]'), { childList: true, subtree: true });
      }`);
      const [FROM, COUNT, EVERY_MS] = [1_000, 60, 50];
      const sentAt = new Map<number, number>();
      const sending: Promise<void>[] = [];
      for (let n = FROM; n < FROM + COUNT; n += 1) {
        sentAt.set(n, Date.now());
        sending.push(send(n));
        await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
      }
      await Promise.all(sending);
      const readSeen = (): Promise<Record<string, number>> => page.evaluate('globalThis.seen');
      const seen = await eventually('all rows', readSeen, {
        accept: (times) => [...sentAt.keys()].every((n) => times[n] !== undefined),
        timeoutMs: 30_000,
      });
      const latencies = [...sentAt].map(([n, time]) => (seen[n] ?? 0) - time);
      latencies.sort((a, b) => a - b);
      const percentile = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0;
      // The targets are 0.5 and 1.5 s. Other work shares the two cores here.
      expect(percentile(0.5)).toBeLessThan(1_500);
      expect(percentile(0.95)).toBeLessThan(4_000);
    });
  });

  test('pauses with Space, counts new requests, keeps the list still, and resumes with a button', async () => {
    await onPage(TRAFFIC, async (page) => {
      await live(page);
      await page.keyboard.press('Space');
      await expect.poll(() => tail(page)).toBe('paused');
      await expect.poll(() => params(page)).toEqual({ live: '0' });
      const before = await shown(page);
      for (const n of [2_000, 2_001, 2_002]) await send(n);
      await page.getByText('Paused, 3 new').waitFor();
      expect(await shown(page)).toEqual(before);
      await page.getByRole('button', { name: 'Resume' }).click();
      await expect.poll(async () => (await shown(page)).slice(0, 3)).toEqual([2_002, 2_001, 2_000]);
      await expect.poll(() => params(page)).toEqual({});
    });
  });

  test('pauses when the user scrolls and keeps the scroll position', async () => {
    await onPage(TRAFFIC, async (page) => {
      await live(page);
      await scrollTo(page, 300);
      await expect.poll(() => tail(page)).toBe('paused');
      const top = () =>
        page.evaluate<string>(`document.elementFromPoint(200, 400).closest('[data-traffic-row]').dataset.trafficRow`);
      const before = await top();
      await send(2_100);
      await page.getByText('Paused, 1 new').waitFor();
      expect(await top()).toBe(before);
      await scrollTo(page, 0);
      await expect.poll(() => tail(page)).toBe('live');
      await expect.poll(async () => (await shown(page))[0]).toBe(2_100);
    });
  });

  test('reconnects by itself after an interruption, with no missing or duplicate rows', async () => {
    const proxy = await startTcpProxy(Number(new URL(run.dashboard).port));
    await onPage(`http://localhost:${proxy.port}${TRAFFIC}`, async (page) => {
      await live(page);
      await proxy.cut();
      await expect.poll(() => tail(page)).toBe('reconnecting');
      await expect.poll(() => page.getByRole('status').allInnerTexts()).toContain('Reconnecting…');
      for (let n = 3_000; n < 3_020; n += 1) await send(n);
      let attempts = 0;
      page.on('request', (sent) => {
        if (sent.url().includes('/traffic/stream')) attempts += 1;
      });
      await proxy.restore();
      await expect.poll(() => tail(page)).toBe('live');
      // The page tries every second. The first attempt may have begun just before the proxy listened.
      expect(attempts).toBeLessThanOrEqual(2);
      await expect.poll(async () => (await shown(page))[0]).toBe(3_019);
      const numbers = (await shown(page)).filter((n) => n >= 3_000);
      expect(numbers).toEqual(Array.from({ length: 20 }, (_n, index) => 3_019 - index));
    });
    await proxy.stop();
  });
});

describe('the chart', () => {
  test('zooms with the keyboard and describes the visible range to screen readers', async () => {
    await onPage(TRAFFIC, async (page) => {
      const chart = page.getByRole('slider');
      await chart.waitFor();
      const bars = page.getByRole('table', { name: 'Requests over time' }).getByRole('row');
      await expect.poll(() => bars.count()).toBeGreaterThan(1);
      await chart.focus();
      await page.keyboard.press('Home');
      await page.keyboard.press('Shift+End');
      await expect.poll(() => chart.getAttribute('aria-valuetext')).toMatch(/ to .*: \d+ requests \(\d+ 2xx\)/);
      await page.keyboard.press('Enter');
      await expect.poll(() => Object.keys(params(page))).toEqual(['from', 'to']);
      await expect.poll(() => tail(page)).toBe('off');
      // The chart keeps focus.
      await page.keyboard.press('Backspace');
      await expect.poll(() => params(page)).toEqual({});
      // The URL changes before the page does.
      await expect.poll(() => page.getByRole('button', { name: 'Zoom out' }).count()).toBe(0);
    });
  });

  test('zooms by dragging', async () => {
    await onPage(TRAFFIC, async (page) => {
      const box = await page.getByRole('slider').boundingBox();
      if (box === null) throw new Error('the chart is not shown');
      await page.mouse.move(box.x + box.width / 2, box.y + 20);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width - 5, box.y + 20, { steps: 5 });
      await page.mouse.up();
      await expect.poll(() => Object.keys(params(page))).toEqual(['from', 'to']);
      await page.mouse.move(0, 0);
      await page.getByText(/^\d{4}-\d\d-\d\d .* to .*: \d+ requests? \(/).waitFor();
      await page.getByRole('button', { name: 'Zoom out' }).click();
      await expect.poll(() => params(page)).toEqual({});
    });
  });
});

describe('the URL', () => {
  test.each([
    ['q=method:POST', {}],
    ['from=15m', { range: 'Last 15 minutes' }],
    ['q=status:2xx&from=2026-01-01T00:00:00Z&to=2099-01-01T00:00:00Z', { tail: 'off' }],
    ['live=0', { tail: 'paused' }],
    ['q=method:GET&sel=SEL&tab=response', { tab: 'Response', tail: 'paused' }],
  ])('restores the page on a reload: %s', async (query, { range, tail: state, tab }: Record<string, string>) => {
    const [last] = await readLog(run.data, '--limit', '1', '--method', 'GET');
    const url = at(`${TRAFFIC}?${query.replace('SEL', last?.id ?? '')}`);
    const { page, close } = await watched(browser);
    await goto(page, url);
    const look = async (): Promise<void> => {
      await expect.poll(() => rows(page).count()).toBeGreaterThan(10);
      expect(await search(page).inputValue()).toBe(new URL(url).searchParams.get('q') ?? '');
      if (range !== undefined) await page.getByRole('button', { name: `Time range: ${range}` }).waitFor();
      if (state !== undefined) await expect.poll(() => tail(page)).toBe(state);
      if (tab !== undefined) await page.getByRole('link', { name: tab }).and(page.locator('[aria-current]')).waitFor();
      expect(page.url()).toBe(url);
    };
    await look();
    await page.reload();
    await hydrated(page);
    await look();
    await close();
  });

  test('has absolute times when it is copied', async () => {
    await onPage(`${TRAFFIC}?q=method:POST&from=15m`, async (page) => {
      await page.getByRole('button', { name: 'Copy link' }).click();
      const copied = () => page.evaluate<string>('navigator.clipboard.readText()');
      await expect.poll(copied).toContain(TRAFFIC);
      const link = Object.fromEntries(new URL(await copied()).searchParams);
      expect(link['q']).toBe('method:POST');
      expect(Date.parse(link['to'] ?? '') - Date.parse(link['from'] ?? '')).toBe(15 * 60_000);
    });
  });
});

describe('a request', () => {
  test('is opened, closed and skipped with the keyboard without reloading the list', async () => {
    await onPage(TRAFFIC, async (page) => {
      await live(page);
      const requested: string[] = [];
      page.on('request', (sent) => requested.push(new URL(sent.url()).pathname));
      await page.keyboard.press('j');
      const fill = (row: number): Promise<string> =>
        page.evaluate(`getComputedStyle(document.querySelectorAll('[data-traffic-row]')[${row}]).backgroundColor`);
      await expect.poll(async () => (await fill(0)) !== (await fill(1))).toBe(true);
      await page.keyboard.press('Enter');
      const panel = page.getByRole('region', { name: 'Open request' });
      await panel.getByRole('link', { name: 'Response' }).waitFor();
      await expect.poll(() => tail(page)).toBe('paused');
      const first = params(page)['sel'];
      await page.keyboard.press('j');
      await expect.poll(() => params(page)['sel']).not.toBe(first);
      await expect.poll(() => panel.getByRole('article').getAttribute('aria-label')).toContain(params(page)['sel']);
      expect(requested.filter((url) => url.endsWith('/traffic.data'))).toEqual([]);
      await page.keyboard.press('Escape');
      await expect.poll(() => panel.count()).toBe(0);
      expect(params(page)).toEqual({});
      await live(page);
    });
  });

  test('that no longer exists is reported next to the list', async () => {
    await onPage(`${TRAFFIC}?sel=00000000-0000-7000-8000-000000000000`, async (page) => {
      await page.getByRole('heading', { name: 'Request not found' }).waitFor();
      expect(await rows(page).count()).toBeGreaterThan(10);
    });
  });

  test('is sent by a click in an empty project and appears', async () => {
    await onPage('/p/default/fresh/traffic', async (page) => {
      await page.getByRole('heading', { name: 'No captured requests' }).waitFor();
      await page.getByRole('button', { name: 'Send a GET request' }).click();
      await expect.poll(() => rows(page).count()).toBe(1);
      await page.getByRole('gridcell', { name: '/hello' }).waitFor();
    });
  });
});

describe('an export', () => {
  test.each(['ndjson', 'csv', 'har'])('as %s is a file with all matching requests', async (format) => {
    const expected = (await readLog(run.data, '--limit', '10000', '--filter', 'method:POST n=1')).map(({ id }) => id);
    const { statusCode, headers, body } = await request(at(`${TRAFFIC}/export?format=${format}&q=method:POST%20n%3D1`));
    const text = await body.text();
    expect(statusCode).toBe(200);
    expect(headers['content-disposition']).toMatch(new RegExp(`^attachment; filename="shop-traffic-.*\\.${format}"$`));
    expect(
      text
        .match(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g)
        ?.filter((id) => expected.includes(id)),
    ).toHaveLength(expected.length);
    if (format === 'ndjson') expect(text.split('\n')).toHaveLength(expected.length + 1);
  });

  test('is offered as a download', async () => {
    await onPage(`${TRAFFIC}?q=method:POST`, async (page) => {
      await page.getByRole('button', { name: 'Export' }).click();
      const downloading = page.waitForEvent('download');
      await page.getByRole('menuitem', { name: 'CSV' }).click();
      const file = await (await downloading).path();
      expect(await readFile(file, 'utf8')).toMatch(/^id,received_at,method,/);
    });
  });
});

describe('while the log is unavailable', () => {
  test('the page reports it, stays usable and recovers by itself', async () => {
    const { page, context, close } = await watched(browser);
    await goto(page, at(TRAFFIC));
    await live(page);
    const engine = await enginePid(run.process.pid);
    process.kill(engine, 'SIGSTOP');
    try {
      await page.getByRole('alert').getByText('The log (ClickHouse)').waitFor({ timeout: 20_000 });
      expect(await rows(page).count()).toBeGreaterThan(10);
      const other = await context.newPage();
      await other.goto(at(TRAFFIC));
      await other.getByRole('alert').getByText('The log (ClickHouse)').waitFor({ timeout: 20_000 });
      await other.getByRole('link', { name: 'Endpoints' }).click();
      await other.getByRole('heading', { name: 'Endpoints' }).waitFor();
      await other.goBack();
      await other.getByRole('alert').waitFor({ timeout: 20_000 });
      process.kill(engine, 'SIGCONT');
      await expect.poll(() => rows(other).count(), { timeout: 30_000 }).toBeGreaterThan(10);
    } finally {
      process.kill(engine, 'SIGCONT');
    }
    await expect.poll(() => tail(page), { timeout: 30_000 }).toBe('live');
    await send(4_000);
    await expect.poll(async () => (await shown(page))[0]).toBe(4_000);
    await close();
  });
});

test('a rejected call is not in the list', async () => {
  await onPage(TRAFFIC, async (page) => {
    await live(page);
    expect((await call(run, '/nowhere?n=5000')).status).toBe(404);
    await send(5_001);
    await expect.poll(async () => (await shown(page))[0]).toBe(5_001);
    expect(await shown(page)).not.toContain(5_000);
  });
});
