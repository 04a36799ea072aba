import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { refusedListSchema, type ApiRefusedList } from '@standin/dashboard/api-schemas';
import type { Browser } from 'playwright-core';
import { request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startBrowser } from '../harness/browser.ts';
import { goto, SHOP, startDashboard, watched, type DashboardRun } from './dashboard-stand.ts';
import { call, readLog, standin } from './dev-stand.ts';
import { expectAccessible } from './expect-accessible.ts';

/** Tests how `standin dev` explains refused requests, from the gateway to the command line and the dashboard. */

let run: DashboardRun;
let browser: Browser;
beforeAll(async () => {
  [run, browser] = await Promise.all([startDashboard(), startBrowser()]);
});
afterAll(() => Promise.all([browser.close(), run.process.kill()]));

const SECRET = 'written-by-a-stranger';

const refused = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await standin(['refused', '--data', run.data, ...args]);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
};
const list = async (): Promise<ApiRefusedList> =>
  refusedListSchema.parse(JSON.parse(await refused('-p', 'shop', '-o', 'json')));

test('before the first refused request, the list is empty', async () => {
  expect(await refused()).toBe('No requests were refused within the last hour.\n');
});

test('a delivery without a key and a wrong path are explained, and neither is in the log', async () => {
  const headers = { 'x-github-event': 'push', 'x-note': SECRET, 'user-agent': 'GitHub-Hookshot/1' };
  const delivery = await request(`${run.url}/v1/orders?q=${SECRET}`, { method: 'POST', headers, body: SECRET });
  expect(delivery.statusCode).toBe(401);
  await delivery.body.dump();
  expect(await call(run, '/v1/order')).toMatchObject({ status: 404 });
  expect(await call(run, '/v1/order')).toMatchObject({ status: 404 });
  const unknown = await request(new URL(`/${SECRET}/x`, run.url), { method: 'POST' });
  expect(unknown.statusCode).toBe(401);
  await unknown.body.dump();

  const { items, unknownProject, missingGateways } = await list();
  expect(items).toMatchObject([
    { code: 'endpoint_not_found', status: 404, method: 'POST', path: '/v1/order', count: 2 },
    { code: 'api_key_missing', status: 401, sender: 'GitHub', slug: '/v1/orders', count: 1 },
  ]);
  expect([unknownProject, missingGateways]).toEqual([1, []]);

  const text = await refused();
  expect(text).toContain('POST /v1/order');
  expect(text).toContain('accept the signature or the token that GitHub sends instead');
  expect(text).not.toContain(SECRET);
  expect(await readLog(run.data)).toEqual([]);
});

test('a project that does not exist is an error with the names of the others', async () => {
  const { code, stderr } = await standin(['refused', '--data', run.data, '-p', 'nope']);
  expect(code).toBe(1);
  expect(stderr).toContain('shop');
});

test('without a project, the command line lists the requests of all projects', async () => {
  const other = { apiVersion: 'standin.dev/v1alpha1', kind: 'Project', metadata: { name: 'other' } };
  const file = path.join(run.manifests, 'other.json');
  await writeFile(file, JSON.stringify({ ...other, spec: { displayName: 'Other', accountRef: { name: 'default' } } }));
  await expect.poll(() => refused(), { timeout: 10_000 }).toMatch(/^Project default\/shop\n.*POST \/v1\/order/s);
  await rm(file);
  await expect.poll(() => refused(), { timeout: 10_000 }).toMatch(/^LAST/);
});

test('the dashboard shows the list first in a project without traffic, and creates an endpoint for a path', async () => {
  const { page, complaints, close } = await watched(browser);
  await goto(page, `${run.dashboard}${SHOP}/traffic`);
  const list = page.getByRole('region', { name: 'Refused requests' });
  await list.getByText('No endpoint in this project has this path').waitFor();
  expect(await page.getByText('requests refused in the last hour').innerText()).toMatch(/^\d+ requests/);
  await list.getByText('Sender: GitHub').waitFor();
  expect(await page.content()).not.toContain(SECRET);
  await list.getByRole('link', { name: 'Create endpoint for this path' }).click();
  await page.waitForURL(/endpoints\/new\?method=POST&path=%2Fv1%2Forder$/);
  expect(complaints).toEqual([]);
  await close();
});

test('a sender that signs leads to the form with its scheme, which says that the account does not allow it', async () => {
  const { page, complaints, close } = await watched(browser);
  await goto(page, `${run.dashboard}${SHOP}/traffic`);
  await page.getByRole('link', { name: 'Accept signatures' }).click();
  await page.waitForURL(/endpoints\/create-order\/edit\?scheme=GitHub#credential$/);
  expect(await page.getByRole('radio', { name: 'Signature or API key' }).isChecked()).toBe(true);
  expect(await page.locator('#credential').getByLabel('Scheme').inputValue()).toBe('GitHub');
  await expect.poll(() => page.getByRole('textbox', { name: 'Manifest' }).innerText()).toContain('scheme: GitHub');
  const notice = page.getByText('does not allow signatures');
  await notice.waitFor();

  const file = path.join(run.manifests, 'account.yaml');
  const account = await readFile(file, 'utf8');
  await writeFile(file, account.replace('plan: Pro\n', 'plan: Pro\n  signatures: Allowed\n'));
  await notice.waitFor({ state: 'detached' });
  expect(complaints).toEqual([]);
  await close();
  await writeFile(file, account);
  await expectAccessible(browser, `${run.dashboard}${SHOP}/endpoints/create-order/edit?scheme=Token`);
});

test('in a project with traffic, the line is closed', async () => {
  expect(await call(run, '/v1/orders')).toMatchObject({ status: 201 });
  await expect.poll(() => readLog(run.data), { timeout: 10_000 }).toHaveLength(1);
  const { page, close } = await watched(browser);
  await goto(page, `${run.dashboard}${SHOP}/traffic`);
  const line = page.getByText('requests refused in the last hour');
  await line.waitFor();
  const list = page.getByRole('region', { name: 'Refused requests' });
  expect(await list.isVisible()).toBe(false);
  await line.click();
  await list.waitFor();
  await close();
  await expectAccessible(browser, `${run.dashboard}${SHOP}/traffic`, async (opened) => {
    await opened.getByText('requests refused in the last hour').click();
  });
});
