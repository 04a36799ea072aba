import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPage, horizontalOverflow, startBrowser } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { goto, tabTo, watched, type DashboardRun } from './dashboard-stand.ts';
import { live, startTrafficDashboard } from './dashboard-traffic-stand.ts';
import { call, readLog } from './dev-stand.ts';
import { expectAccessible } from './expect-accessible.ts';
import { TRAFFIC } from './traffic-page.ts';

let run: DashboardRun;
let browser: Browser;

const SENT = 40;

beforeAll(async () => {
  [run, browser] = await Promise.all([startTrafficDashboard(), startBrowser()]);
  for (let n = 0; n < SENT; n += 1) await call(run, `/v1/orders?n=${n}`, { method: n % 2 === 0 ? 'POST' : 'GET' });
  await eventually('all requests in the log', async () => (await readLog(run.data)).length === SENT);
});
afterAll(async () => {
  await Promise.all([browser.close(), run.process.kill()]);
});

const at = (url: string): string => `${run.dashboard}${url}`;

describe('every state of the page', () => {
  test.each([`${TRAFFIC}?live=0`, `${TRAFFIC}?q=status:599`, `${TRAFFIC}?q=status:`, '/p/default/bare/traffic'])(
    '%s: no axe violation in either theme, no horizontal scrolling on a phone',
    (url) => expectAccessible(browser, at(url)),
  );

  test('no axe violation with an open request', () =>
    expectAccessible(browser, at(`${TRAFFIC}?live=0`), async (page) => {
      await page.keyboard.press('j');
      await page.keyboard.press('Enter');
      await page.getByRole('region', { name: 'Open request' }).getByRole('link', { name: 'Response' }).waitFor();
    }));

  test('no axe violation with open suggestions', () =>
    expectAccessible(browser, at(`${TRAFFIC}?live=0`), async (page) => {
      await page.keyboard.press('/');
      await page.getByRole('option', { name: 'method:' }).waitFor();
    }));

  test('no axe violation with more columns, a selected range and a selected row', () =>
    expectAccessible(
      browser,
      at(`${TRAFFIC}?cols=body+duration+id&from=2026-01-01T00:00:00Z&to=2099-01-01T00:00:00Z`),
      async (page) => {
        await page.getByRole('button', { name: 'Zoom out' }).waitFor();
        await page.keyboard.press('j');
      },
    ));

  test('no axe violation with open Commands', () =>
    expectAccessible(browser, at(`${TRAFFIC}?live=0`), async (page) => {
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog', { name: 'Commands' }).waitFor();
      await page.keyboard.type('zzq');
    }));

  test('no axe violation with the open time range dialog', () =>
    expectAccessible(browser, at(`${TRAFFIC}?live=0`), async (page) => {
      await page.getByRole('button', { name: 'Time range' }).click();
      await page.getByRole('menuitem', { name: 'Custom range' }).click();
      await page.getByRole('dialog').waitFor();
    }));

  test('the time range dialog keeps the microseconds of a time that is not changed', async () => {
    const { page, close } = await openPage(browser);
    const from = '2026-01-01T10:00:00.123456Z';
    await goto(page, at(`${TRAFFIC}?live=0&from=${from}&to=2026-01-01T11:00:07.654321Z`));
    await page.getByRole('button', { name: 'Time range' }).click();
    await page.getByRole('menuitem', { name: 'Custom range' }).click();
    await page.getByLabel('End time').fill('2026-01-01T12:00:00');
    await page.getByRole('button', { name: 'Show' }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get('to')).toBe('2026-01-01T12:00:00Z');
    expect(new URL(page.url()).searchParams.get('from')).toBe(from);
    await close();
  });

  test('touch targets on a phone are large enough', async () => {
    const { page, close } = await openPage(browser, { viewport: { width: 390, height: 844 } });
    await goto(page, at(TRAFFIC));
    await live(page);
    const small = await page.evaluate<
      string[]
    >(`[...document.querySelectorAll('main :is(a, button, input, [role=slider])')]
      .filter((element) => element.offsetParent !== null)
      .filter((element) => { const { width, height } = element.getBoundingClientRect(); return Math.min(width, height) < 24; })
      .map((element) => element.outerHTML)`);
    expect(small).toEqual([]);
    expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
    await close();
  });

  test('the accessibility tree names the list, its columns and each request', async () => {
    const { page, close } = await watched(browser);
    await goto(page, at(`${TRAFFIC}?live=0&q=query:n=39`));
    const tree = await page.getByRole('grid').ariaSnapshot();
    expect(tree).toMatch(
      /^- grid "Requests, newest first":.*row "Time Method Status Path Duration Size Endpoint".*columnheader "Method"/s,
    );
    const [row = '', ...cells] = tree.slice(tree.indexOf('- row "GET')).split('\n');
    expect(row).toMatch(/^- row "GET \/v1\/orders\?n=39, status 200, [\d.]+ ms, endpoint list-orders, [\d:.]+":$/);
    expect(cells.map((cell) => /- gridcell "([^"]*)"/.exec(cell)?.[1]).filter(Boolean)).toEqual([
      expect.stringMatching(/^\d\d:\d\d:\d\d\.\d{3}$/),
      ...['GET', '200', '/v1/orders?n=39'],
      expect.stringMatching(/ ms$/),
      expect.stringMatching(/ B$/),
      'list-orders',
    ]);
    await close();
  });

  test('Tab reaches search, time range, chart, tail, export and list', async () => {
    const { page, close } = await watched(browser);
    await goto(page, at(`${TRAFFIC}?live=0`));
    const names = [
      'Search requests',
      'Time range',
      'Requests over time',
      'Resume',
      'Columns',
      'Export',
      'Requests, newest',
    ];
    for (const name of names) await tabTo(page, name);
    await close();
  });
});
