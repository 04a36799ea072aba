import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPage, startBrowser } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { goto, hydrated, SHOP, startDashboard, watched, type DashboardRun } from './dashboard-stand.ts';
import { rows } from './dashboard-traffic-stand.ts';
import { call, readLog } from './dev-stand.ts';
import { expectAccessible } from './expect-accessible.ts';

let run: DashboardRun;
let browser: Browser;

beforeAll(async () => {
  [run, browser] = await Promise.all([startDashboard(), startBrowser()]);
});
afterAll(async () => {
  await Promise.all([browser.close(), run.process.kill()]);
});

const PURGES = `${SHOP}/settings/purges`;
/** A purge deletes in the background, which takes several seconds on a busy machine. */
const PURGE_MS_MAX = 60_000;
const at = (url: string): string => `${run.dashboard}${url}`;
const capture = async (...bodies: string[]): Promise<void> => {
  for (const body of bodies) await call(run, '/v1/orders', { body });
  await eventually('the requests', () => readLog(run.data), {
    accept: (entries) => bodies.every((body) => entries.some(({ request }) => request.body === body)),
  });
};
const bodies = async (): Promise<string[]> => (await readLog(run.data)).map(({ request }) => request.body).toSorted();

const confirm = async (page: Page, reason: string): Promise<void> => {
  await page.getByLabel('Reason').fill(reason);
  await page.getByLabel('Type shop to confirm').fill('shop');
  await page.getByRole('button', { name: 'Delete permanently' }).click();
};
const completed = (page: Page, reason: string): Promise<void> =>
  page
    .getByRole('list', { name: 'Purges' })
    .getByRole('listitem')
    .filter({ hasText: reason })
    .getByText('Completed', { exact: true })
    .waitFor({ timeout: PURGE_MS_MAX });

describe('the purges of a project', () => {
  test('are created from a form that reports errors and shows what matches, and delete only that', async () => {
    await capture('jane-1', 'jane-2', 'john');
    const { page, close, complaints } = await watched(browser);
    await goto(page, at(PURGES));
    await page.getByText('No purges yet.').waitFor();
    const search = page.getByLabel('Search (optional)');
    await search.fill('status:many');
    await page.getByText('A status has a form like 404').waitFor();
    await search.fill('body:jane');
    await page.getByLabel('Start time (optional)').fill('yesterday');
    await page.getByText('Must be a time, such as').waitFor();
    await page.getByLabel('Start time (optional)').fill('1h');
    await page.getByRole('heading', { name: '2 requests match now' }).waitFor();
    await page.getByRole('button', { name: 'Delete permanently' }).click();
    await page.getByText('Enter a reason.').waitFor();
    await page.getByText('Type shop to confirm.').waitFor();
    expect(await bodies()).toEqual(['jane-1', 'jane-2', 'john']);

    await confirm(page, 'Erasure request 4711');
    await page.getByText(/^Purge purge-[0-9a-f]{8} was created\.$/).waitFor();
    await completed(page, 'Erasure request 4711');
    expect(await search.inputValue()).toBe('');
    await page.getByText('2 requests deleted', { exact: true }).waitFor();
    await goto(page, at(`${SHOP}/traffic`));
    await expect.poll(() => rows(page).count()).toBe(1);
    expect(await bodies()).toEqual(['john']);
    expect(complaints.filter((text) => !text.startsWith('Failed to load'))).toEqual([]);
    await close();
  });

  test('begin in Traffic with its search, and the confirmation deletes what it shows', async () => {
    await capture('leak-1', 'leak-2');
    const { page, close } = await watched(browser);
    await goto(page, at(`${SHOP}/traffic?q=${encodeURIComponent('body:leak-1')}&from=1h`));
    await page.getByRole('link', { name: 'Purge these…' }).click();
    await page.getByRole('heading', { name: '1 request matches now' }).waitFor();
    await hydrated(page);
    expect(await page.getByLabel('Search (optional)').inputValue()).toBe('body:leak-1');
    // The Purge uses the search whose matches the page shows, not a later value of the input.
    await page.evaluate(`document.querySelector('input[name=q]').value = 'body:leak'`);
    await confirm(page, 'a leaked token');
    await completed(page, 'a leaked token');
    expect(await bodies()).toEqual(['john', 'leak-2']);
    await close();
  });

  test('work without JavaScript, and can delete all requests', async () => {
    await capture('one');
    const { page, close } = await openPage(browser, { javaScriptEnabled: false });
    await page.goto(at(PURGES));
    await page.getByRole('radio', { name: /^All requests/ }).check();
    expect(await page.getByLabel('Search (optional)').isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByRole('heading', { name: '3 requests match now' }).waitFor();
    await page.getByLabel('Reason').fill('the end');
    await page.getByRole('button', { name: 'Delete permanently' }).click();
    await page.getByText('Type shop to confirm.').waitFor();
    expect(await page.getByLabel('Reason').inputValue()).toBe('the end');
    await confirm(page, 'the end');
    await eventually('an empty log', bodies, { accept: ({ length }) => length === 0, timeoutMs: PURGE_MS_MAX });
    const states = page.getByRole('list', { name: 'Purges' }).getByText('Completed', { exact: true });
    const reloaded = (): Promise<number> => page.reload().then(() => states.count());
    await eventually('all purges to complete', reloaded, { accept: (count) => count === 3 });
    await close();
  });

  test.each([
    ['nothing is selected', PURGES],
    ['a search is selected', `${PURGES}?q=body%3Ajane&from=2026-11-21T09:00:00Z`],
    ['all requests are selected', `${PURGES}?requests=All`],
    ['the search is invalid', `${PURGES}?q=status%3Amany`],
  ])('have no accessibility violation in either theme or on a phone while %s', async (_, url) => {
    await expectAccessible(browser, at(url));
  });
});
