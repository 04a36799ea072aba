import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startBrowser } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { goto, SHOP, startDashboard, watched, type DashboardRun } from './dashboard-stand.ts';
import { enginePid } from './dashboard-traffic-stand.ts';
import { call, endpoint, mock, readLog, standin } from './dev-stand.ts';
import { expectAccessible } from './expect-accessible.ts';

let dev: DashboardRun;
let browser: Browser;
const USAGE = `${SHOP}/settings/usage`;

beforeAll(async () => {
  [dev, browser] = await Promise.all([startDashboard(), startBrowser()]);
});
afterAll(async () => {
  await Promise.all([browser.close(), dev.process.kill()]);
});

/**
 * Changes the account's quota. Resolves when the gateway applies it. The page cannot show this moment, because the page reads the
 * quota from the manifest. The test therefore waits for an endpoint in the same file, because the gateway applies changes in order.
 */
const setQuota = async (monthlyQuota: number): Promise<void> => {
  const metadata = { name: 'default' };
  const account = {
    apiVersion: 'standin.dev/v1alpha1',
    kind: 'Account',
    metadata,
    spec: { monthlyQuota, requestsPerSecond: 1_000 },
  };
  const marker = `quota-${monthlyQuota}`;
  const documents = [JSON.stringify(account), endpoint(marker, mock('{}'))];
  await writeFile(path.join(dev.manifests, 'account.yaml'), documents.join('\n---\n'));
  await dev.process.waitForEvent(
    `the quota ${monthlyQuota}`,
    ({ object, state }) => object === `Endpoint default/${marker}` && state === 'live',
  );
};

/** A timeout that is longer than the sum of all waits of this test on a busy machine. */
const WAITS_MS = 150_000;

test("shows the month's usage against the quota, by day and by endpoint", { timeout: WAITS_MS }, async () => {
  const { page, close, complaints } = await watched(browser);
  /** Reloads the page until it shows the text. */
  const shown = (text: string): Promise<unknown> =>
    eventually(text, async () => {
      await goto(page, `${dev.dashboard}${USAGE}`);
      return page.getByText(text).isVisible();
    });
  /** Reloads the page until it shows the count against the quota, which the operator writes to the status every ten seconds. */
  const untilUsed = (text: string): Promise<unknown> =>
    eventually(
      text,
      async () => {
        await goto(page, `${dev.dashboard}${USAGE}`);
        return (await page.getByRole('main').innerText()).replace(/\s+/g, ' ').includes(text);
      },
      { timeoutMs: 30_000, intervalMs: 500 },
    );
  await goto(page, `${dev.dashboard}${USAGE}`);
  expect(await page.getByText('No quota: requests are unlimited.').count()).toBe(1);
  expect(await page.getByRole('heading', { name: 'By endpoint' }).count()).toBe(0);
  await setQuota(100_000);
  await shown('of 100,000 accepted requests');

  for (let count = 0; count < 3; count += 1) await call(dev, '/v1/orders');
  await call(dev, '/v1/orders', { method: 'GET' });
  // This request is rejected, so it does not count.
  await call(dev, '/nothing');
  await eventually('four entries', () => readLog(dev.data), { accept: ({ length }) => length === 4 });
  await setQuota(5);
  await shown('of 5 accepted requests');
  await untilUsed('4 of 5 accepted requests 80 %');
  await page.getByText('Show as table').click();
  expect(await page.getByRole('table').first().innerText()).toMatch(/\d{4}-\d{2}-\d{2}\s+4/);
  const rows = page.getByRole('table').last().getByRole('row');
  expect((await rows.allInnerTexts()).slice(1).map((text) => text.replace(/\s+/g, ' ').trim())).toEqual([
    'create-order in shop 3',
    'list-orders in shop 1',
  ]);
  expect((await call(dev, '/v1/orders', { method: 'GET' })).status).toBe(200);
  expect((await call(dev, '/v1/orders', { method: 'GET' })).status).toBe(429);
  await untilUsed('5 of 5 accepted requests 100 %');
  expect(await page.getByText('Each gateway accepts at most 1,000 requests per second.').count()).toBe(1);
  const bytes = (await readLog(dev.data)).reduce((sum, { request, response }) => {
    return sum + Buffer.byteLength(request.body) + Buffer.byteLength(response.body);
  }, 0);
  await shown(`The log keeps ${bytes} B of bodies`);
  const { code, stdout } = await standin(['usage', '--data', dev.data]);
  expect(stdout).toContain(`stored bodies: ${bytes} bytes before compression`);
  expect({ code, first: stdout.split('\n')[0] }).toEqual({
    code: 0,
    first: expect.stringMatching(/^default\/default, [\d-]+: 5 of 5 requests \(100\.0 %\)$/) as string,
  });
  expect(stdout).toMatch(/default\/shop +create-order +3\n/);
  await page.getByRole('link', { name: 'create-order' }).click();
  await page.waitForURL('**/traffic?q=endpoint%3Acreate-order');
  expect(complaints).toEqual([]);
  await close();
  await expectAccessible(browser, `${dev.dashboard}${USAGE}`);
});

test('the page and standin usage show the total while ClickHouse is unavailable', async () => {
  const { page, close, complaints } = await watched(browser);
  const engine = await enginePid(dev.process.pid);
  process.kill(engine, 'SIGSTOP');
  try {
    const [{ code, stdout }] = await Promise.all([
      standin(['usage', '--data', dev.data]),
      // The page waits slightly longer for an unresponsive log than a log query may take.
      page.goto(`${dev.dashboard}${USAGE}`, { timeout: 30_000 }),
    ]);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /: 5 of 5 requests \(100\.0 %\)\n.*\nusage by endpoint is unavailable: Cannot read from ClickHouse/,
      ) as string,
    });
    await page.getByRole('alert').getByText('Usage by day and by endpoint is unavailable').waitFor();
    expect((await page.getByRole('main').innerText()).replace(/\s+/g, ' ')).toContain('5 of 5 accepted requests');
    expect(await page.getByRole('heading', { name: 'By day' }).count()).toBe(0);
    expect(complaints).toEqual([]);
  } finally {
    process.kill(engine, 'SIGCONT');
  }
  await close();
});
