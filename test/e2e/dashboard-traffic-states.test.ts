import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPage, overflowOf, startBrowser } from '../harness/browser.ts';
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

  test('no axe violation with the open time range dialog', () =>
    expectAccessible(browser, at(`${TRAFFIC}?live=0`), async (page) => {
      await page.getByRole('button', { name: 'Time range' }).click();
      await page.getByRole('menuitem', { name: 'Custom range' }).click();
      await page.getByRole('dialog').waitFor();
    }));

  test('touch targets on a phone are large enough', async () => {
    const { page, context } = await openPage(browser, { viewport: { width: 390, height: 844 } });
    await goto(page, at(TRAFFIC));
    await live(page);
    const small = await page.evaluate<
      string[]
    >(`[...document.querySelectorAll('main :is(a, button, input, [role=slider])')]
      .filter((element) => element.offsetParent !== null)
      .filter((element) => { const { width, height } = element.getBoundingClientRect(); return Math.min(width, height) < 24; })
      .map((element) => element.outerHTML)`);
    expect(small).toEqual([]);
    expect(await overflowOf(page)).toBeLessThanOrEqual(0);
    await context.close();
  });

  test('Tab reaches search, time range, chart, tail, export and list', async () => {
    const { page, context } = await watched(browser);
    await goto(page, at(`${TRAFFIC}?live=0`));
    const names = ['Search requests', 'Time range', 'Requests over time', 'Resume', 'Export', 'Requests, newest'];
    for (const name of names) await tabTo(page, name);
    await context.close();
  });
});
