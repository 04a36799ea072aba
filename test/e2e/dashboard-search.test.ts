import type { Browser, Page } from 'playwright-core';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startBrowser } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { goto, SHOP, watched, type DashboardRun } from './dashboard-stand.ts';
import { live, params, rows, search, shown, startTrafficDashboard, usePage } from './dashboard-traffic-stand.ts';
import { call, readLog } from './dev-stand.ts';
import { TRAFFIC } from './traffic-page.ts';

let run: DashboardRun;
let browser: Browser;

const SENT = 30;

beforeAll(async () => {
  [run, browser] = await Promise.all([startTrafficDashboard(), startBrowser()]);
  for (let n = 0; n < SENT; n += 1) await call(run, `/v1/orders?n=${n}`, { method: n % 2 === 0 ? 'POST' : 'GET' });
  await eventually('all requests in the log', async () => (await readLog(run.data)).length === SENT);
});
afterAll(async () => {
  await Promise.all([browser.close(), run.process.kill()]);
});

const at = (url: string): string => `${run.dashboard}${url}`;
const onPage = (url: string, use: (page: Page) => Promise<void>): Promise<void> => usePage(browser, at(url), use);

describe('searching', () => {
  test('works using only the keyboard and suggests values from the log', async () => {
    await onPage(TRAFFIC, async (page) => {
      await live(page);
      await page.keyboard.press('/');
      await page.keyboard.type('endp');
      await page.getByRole('option', { name: 'endpoint:' }).waitFor();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await page.getByRole('option', { name: 'list-orders' }).waitFor();
      await page.keyboard.type('li');
      await expect.poll(() => page.getByRole('option').count()).toBe(1);
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await expect.poll(() => params(page)).toEqual({ q: 'endpoint:list-orders' });
      await expect
        .poll(async () => (await rows(page).allInnerTexts()).every((text) => text.includes('GET')))
        .toBe(true);
      expect(await search(page).inputValue()).toBe('endpoint:list-orders ');
      await expect.poll(() => page.locator('[data-counts]').innerText()).toMatch(/^(\d+) \/ (?!\1$)\d+$/);
    });
  });

  test('completes with Tab, offers comparisons, and leaves the box with Tab after a complete term', async () => {
    await onPage(TRAFFIC, async (page) => {
      await page.keyboard.press('/');
      await page.keyboard.type('sta');
      await page.keyboard.press('Tab');
      expect(await search(page).inputValue()).toBe('status:');
      await page.getByRole('option', { name: '5xx 500 to 599' }).waitFor();
      await page.keyboard.type('>');
      await page.getByRole('option', { name: '>= at least' }).waitFor();
      await page.keyboard.press('Tab');
      await page.keyboard.type('201');
      await page.keyboard.press('Enter');
      await expect.poll(() => params(page)).toEqual({ q: 'status:>=201' });
      await page.keyboard.press('Tab');
      expect(await page.evaluate(`document.activeElement?.getAttribute('name')`)).not.toBe('q');
    });
  });

  test('explains what a value matches, and shows no error before a term is finished', async () => {
    await onPage(TRAFFIC, async (page) => {
      await page.keyboard.press('/');
      await page.getByText('A word without a field matches any part').waitFor();
      await page.keyboard.type('path:');
      await page.getByText('Matches the whole value. * stands for any text.').waitFor();
      await search(page).fill('body:');
      await page.getByText('Matches any part, ignoring upper and lower case.').waitFor();
      for (const unfinished of ['(method:GET OR status:>', 'nofield:x']) {
        await search(page).fill(unfinished);
        // Errors of finished terms appear after 0.7 s.
        await page.waitForTimeout(1_000);
        expect(await page.getByRole('alert').count(), unfinished).toBe(0);
      }
      await page.keyboard.type(' y');
      await page.getByRole('alert').getByText('There is no field "nofield"').waitFor();
      await search(page).fill('status:');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').getByText('status: needs a value').waitFor();
    });
  });

  test('marks and explains a syntax error and keeps the list', async () => {
    await onPage(`${TRAFFIC}?q=method:POST`, async (page) => {
      const before = (await shown(page)).slice(0, 10);
      await search(page).fill('method:POST status:>>5 x');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').getByText('A status has a form like 404').waitFor();
      expect(await page.locator('mark[data-problem]').innerText()).toBe('>>5');
      expect(params(page)).toEqual({ q: 'method:POST' });
      expect((await shown(page)).slice(0, 10)).toEqual(before);
      await search(page).fill('method:POST status:201');
      await page.keyboard.press('Enter');
      await expect.poll(() => params(page)).toEqual({ q: 'method:POST status:201' });
      expect(await page.getByRole('alert').count()).toBe(0);
    });
  });

  test('includes, excludes or copies a value of a row, with the mouse or the keyboard', async () => {
    await onPage(TRAFFIC, async (page) => {
      await page.keyboard.press('Space');
      await rows(page).first().locator('[data-field=endpoint]').hover();
      await page.getByRole('button', { name: 'Exclude this endpoint' }).click();
      await expect.poll(() => params(page)['q']).toMatch(/^-endpoint:(list|create)-order/);
      await expect
        .poll(async () => (await rows(page).allInnerTexts()).some((text) => text.includes('GET')))
        .toBe(params(page)['q'] === '-endpoint:create-order');
      await page.keyboard.press('j');
      // The first key press moves to the time, the second one to the method.
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowRight');
      await page.getByRole('button', { name: 'Only this method' }).waitFor();
      await page.keyboard.press('Control+c');
      await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toMatch(/^(GET|POST)$/);
      await page.keyboard.press('+');
      await expect.poll(() => params(page)['q']).toMatch(/ method:(GET|POST)$/);
    });
  });

  test('says that operators must be in capitals when nothing matches', async () => {
    await onPage(`${TRAFFIC}?q=status:598 or status:599`, async (page) => {
      await page.getByText('AND, OR and NOT must be in capitals.').waitFor();
    });
  });

  test('suggests a broader search when nothing matches', async () => {
    await onPage(`${TRAFFIC}?q=method:POST status:599&from=1h`, async (page) => {
      await page.getByRole('heading', { name: 'No matching requests' }).waitFor();
      await page.getByRole('button', { name: 'Without status:599' }).click();
      await expect.poll(() => params(page)).toEqual({ q: 'method:POST', from: '1h' });
      await expect.poll(() => rows(page).count()).toBeGreaterThan(10);
    });
  });
});

describe('the columns', () => {
  test('show bodies and ids, and are kept in the URL', async () => {
    const { statusCode } = await request(`${run.url}/v1/orders?n=6000`, {
      method: 'POST',
      headers: { 'x-api-key': run.apiKey },
      body: '{\n  "name": "<b>Ann</b>"\n}',
    });
    expect(statusCode).toBe(201);
    await onPage(TRAFFIC, async (page) => {
      await expect.poll(async () => (await shown(page))[0]).toBe(6_000);
      await page.getByRole('button', { name: 'Columns' }).click();
      await page.getByRole('menuitemcheckbox', { name: 'Body' }).click();
      await page.getByRole('menuitemcheckbox', { name: 'ID' }).click();
      await page.getByRole('menuitemcheckbox', { name: 'Duration' }).click();
      await page.keyboard.press('Escape');
      expect(params(page)).toEqual({ cols: 'body size endpoint id' });
      const look = async (): Promise<void> => {
        const row = rows(page).first();
        await row.getByRole('gridcell', { name: '{ "name": "<b>Ann</b>" }' }).waitFor();
        const id = await row.getAttribute('data-traffic-row');
        await row.getByRole('gridcell', { name: id ?? '' }).waitFor();
        expect(await page.getByRole('grid').getByRole('columnheader').allInnerTexts()).toEqual([
          'Time',
          'Method',
          'Status',
          'Path',
          'Body',
          'Size',
          'Endpoint',
          'ID',
        ]);
      };
      await look();
      await page.reload();
      await look();
    });
  });
});

test('the list stays if a part of the page cannot be loaded', async () => {
  const { page, close } = await watched(browser);
  for (const part of ['exchange-panel', 'time-range-dialog'])
    await page.route(`**/assets/${part}-*`, (route) => route.abort());
  await goto(page, at(TRAFFIC));
  await rows(page).first().click();
  await page.getByText('Can’t load the request. Reload the page').waitFor();
  await page.getByRole('button', { name: 'Time range' }).click();
  await page.getByRole('menuitem', { name: 'Custom range' }).click();
  await page.getByText('Can’t load the time range. Reload the page.').waitFor();
  expect(await rows(page).count()).toBeGreaterThan(0);
  await close();
});

describe('Commands', () => {
  test('change the theme and create an endpoint from any page', async () => {
    await onPage(`${SHOP}/settings`, async (page) => {
      await page.getByRole('button', { name: 'Commands Ctrl K' }).waitFor();
      const commands = page.getByRole('dialog', { name: 'Commands' });
      await page.keyboard.press('Control+k');
      await commands.waitFor();
      await page.keyboard.type('theme dark');
      const dark = commands.getByRole('option', { name: 'Theme: Dark', selected: true });
      await dark.waitFor();
      await page.keyboard.press('Control+k');
      await dark.waitFor();
      const saved = page.waitForResponse((response) => response.url().includes('/preferences'));
      await page.keyboard.press('Enter');
      expect((await saved).ok()).toBe(true);
      await expect.poll(() => page.locator('html').getAttribute('data-theme')).toBe('dark');
      await page.keyboard.press('Control+k');
      await commands.waitFor();
      await page.keyboard.type('new endpoint');
      await commands.getByRole('option', { name: 'New endpoint', selected: true }).waitFor();
      await page.keyboard.press('Enter');
      await expect.poll(() => new URL(page.url()).pathname).toBe(`${SHOP}/endpoints/new`);
      expect(await commands.getByRole('option', { name: 'Sign out' }).count()).toBe(0);
    });
  });

  test('move the focus to a search box, and back to where it was when they are closed', async () => {
    await onPage(TRAFFIC, async (page) => {
      const commands = page.getByRole('dialog', { name: 'Commands' });
      const focused = () =>
        page.evaluate('document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent');
      for (const [button, dialog] of [
        ['Commands Ctrl K', 'Commands'],
        ['Keyboard shortcuts', 'Keyboard shortcuts'],
      ] as const) {
        await page.getByRole('button', { name: button }).press('Enter');
        await page.getByRole('dialog', { name: dialog }).waitFor();
        await page.keyboard.press('Escape');
        await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
        await expect.poll(focused).toBe(button.replace(/ Ctrl K$/, 'Ctrl K'));
      }
      await page.keyboard.press('Control+k');
      await commands.waitFor();
      await page.keyboard.type('search requests');
      await commands.getByRole('option', { name: 'Search requests /', selected: true }).waitFor();
      await page.keyboard.press('Enter');
      await expect.poll(focused).toBe('Search requests');
    });
  });

  test('get no key while they are loading, and neither does the page', async () => {
    const { page, close } = await watched(browser);
    const loading = Promise.withResolvers<undefined>();
    await page.route('**/assets/command-palette-*', async (route) => {
      await loading.promise;
      await route.continue();
    });
    await goto(page, at(`${SHOP}/settings`));
    await page.keyboard.press('Control+k');
    await page.keyboard.press('?');
    loading.resolve(undefined);
    await page.getByRole('dialog', { name: 'Commands' }).waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await close();
  });

  test('select the endpoint that was typed before the endpoints are loaded, and say when they cannot be', async () => {
    await onPage(`${SHOP}/settings`, async (page) => {
      const loading = Promise.withResolvers<undefined>();
      await page.route('**/navigation?*', async (route) => {
        await loading.promise;
        await route.continue();
      });
      const commands = page.getByRole('dialog', { name: 'Commands' });
      await page.keyboard.press('Control+k');
      await commands.waitFor();
      await page.keyboard.type('create order');
      await commands.getByText('Loading…').waitFor();
      loading.resolve(undefined);
      await commands.getByRole('option', { name: 'Create order', selected: true }).waitFor();
      await commands.getByRole('option', { name: 'Search requests for create order' }).waitFor();
      await page.keyboard.press('Escape');
      await page.route('**/navigation?*', (route) => route.fulfill({ status: 503, body: '{}' }));
      await page.keyboard.press('Control+k');
      await commands.getByText('Can’t load projects and endpoints.').waitFor();
      await page.keyboard.type('create order');
      await commands.getByRole('option', { name: 'Search requests for create order', selected: true }).waitFor();
      expect(await commands.getByText('No results').count()).toBe(0);
    });
  });

  test('pass other text on to the search', async () => {
    await onPage(`${SHOP}/endpoints`, async (page) => {
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog', { name: 'Commands' }).waitFor();
      await page.keyboard.type('zzq-nothing 17');
      await page.getByRole('option', { name: 'Search requests for zzq-nothing 17', selected: true }).waitFor();
      await page.keyboard.press('Enter');
      await expect.poll(() => params(page)).toEqual({ q: 'zzq-nothing 17' });
    });
  });

  test('show ⌘ on macOS', async () => {
    const html = async (system: string): Promise<string> =>
      (await fetch(at(SHOP), { headers: { 'user-agent': `Mozilla/5.0 (${system})` } })).text();
    expect(await html('Macintosh; Intel Mac OS X 10_15_7')).toContain('⌘K');
    expect(await html('X11; Linux x86_64')).toContain('Ctrl K');
  });
});
