import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startBrowser } from '../harness/browser.ts';
import { goto, SHOP, startDashboard, watched, type DashboardRun } from './dashboard-stand.ts';
import { call, standin } from './dev-stand.ts';
import { expectAccessible } from './expect-accessible.ts';

let run: DashboardRun;
let browser: Browser;

beforeAll(async () => {
  [run, browser] = await Promise.all([startDashboard(), startBrowser()]);
});
afterAll(async () => {
  await Promise.all([browser.close(), run.process.kill()]);
});

const at = (url: string): string => `${run.dashboard}${url}`;

describe('the expectations of a project', () => {
  test('begin in Traffic with its search, and show their end with links to the requests', async () => {
    const { page, close, complaints } = await watched(browser);
    await goto(page, at(`${SHOP}/traffic?q=${encodeURIComponent('body:refund-1')}`));
    await page.getByRole('link', { name: 'Expect these…' }).click();
    const search = page.getByLabel('Search (optional)');
    await search.waitFor();
    expect(await search.inputValue()).toBe('body:refund-1');
    await page.getByLabel('Deadline').fill('a while');
    await page.getByLabel('Maximum (optional)').fill('0');
    await page.getByRole('button', { name: 'Create expectation' }).click();
    await page.getByText('Must be a duration such as').waitFor();
    await page.getByText('Must not be less than min').waitFor();
    await page.getByLabel('Maximum (optional)').fill('');
    await page.getByLabel('Deadline').fill('2m');
    await page.getByRole('button', { name: 'Create expectation' }).click();
    await page.getByRole('heading', { name: 'Expectation', exact: true }).waitFor();
    await call(run, '/v1/orders', { body: 'refund-1' });
    await page.getByText('Met', { exact: true }).first().waitFor();
    await page.getByRole('heading', { name: '1 matching request' }).waitFor();
    await page.getByRole('listitem').getByRole('link').first().click();
    await page.getByText('/v1/orders').first().waitFor();
    expect(complaints.filter((text) => !text.startsWith('Failed to load'))).toEqual([]);
    await close();
  });

  test('are listed, open with the keyboard, and show the conditions that the nearest requests do not meet', async () => {
    const args = ['-p', 'shop', '--from', '5m', '--deadline', '1s', '--data', run.data];
    expect(await standin(['expect', 'path:/v1/orders body:refund-2', ...args])).toMatchObject({ code: 1 });
    const { page, close } = await watched(browser);
    await goto(page, at(`${SHOP}/endpoints`));
    await page.keyboard.press('g');
    await page.keyboard.press('x');
    await page.getByRole('heading', { name: 'Expectations' }).waitFor();
    await page.getByRole('row').filter({ hasText: 'Unmet' }).getByText('at least 1').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Nearest requests' }).waitFor();
    await page.getByRole('listitem').getByText('body:refund-2', { exact: true }).waitFor();
    for (const url of [page.url(), at(`${SHOP}/expectations`), at(`${SHOP}/expectations/new`)])
      await expectAccessible(browser, url);
    await close();
  });
});
