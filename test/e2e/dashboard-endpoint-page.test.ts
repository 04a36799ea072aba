import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startBrowser } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { goto, SHOP, startDashboard, tabTo, watched, type DashboardRun } from './dashboard-stand.ts';
import { endpoint } from './dev-stand.ts';
import { expectAccessible } from './expect-accessible.ts';

let run: DashboardRun;
let browser: Browser;

const RESPONSES = [
  {
    name: 'binary',
    when: { cel: "request.method == 'PUT'" },
    status: 200,
    headers: [{ name: 'content-type', value: 'image/png' }],
    bodyBase64: '/w==',
  },
];
const json = { template: 'CEL', body: '{"found": "${path.id}", "plan": "${request.headers[\'x-plan\']}"}' };
const FIND = endpoint('find', { slug: '/found/{id}', method: 'GET', action: 'JSON', json });
const POST = endpoint('post', { action: 'JSON', json: { status: 422, body: '{}' }, responses: RESPONSES });

beforeAll(async () => {
  [run, browser] = await Promise.all([startDashboard(), startBrowser()]);
  await writeFile(path.join(run.manifests, 'find.yaml'), FIND);
  await writeFile(path.join(run.manifests, 'post.yaml'), POST);
  const areLive = async (): Promise<boolean> => {
    const statuses = [(await call('GET', '/found/1')).statusCode, (await call('POST', '/post')).statusCode];
    return statuses.join() === '200,422';
  };
  await eventually('the endpoints to be live', areLive, { timeoutMs: 30_000 });
});
afterAll(async () => {
  await Promise.all([browser.close(), run.process.kill()]);
});

const at = (url: string): string => `${run.dashboard}${url}`;
const call = async (method: 'GET' | 'POST', slug: string) => {
  const response = await request(`${run.url}${slug}`, { method, headers: { 'x-api-key': run.apiKey, 'x-plan': '' } });
  await response.body.dump();
  return response;
};

/** Opens a page and checks at the end that its console has no errors or warnings except those about failed requests. */
const onPage = async (url: string, use: (page: Page) => Promise<void>): Promise<void> => {
  const { page, close, complaints } = await watched(browser);
  await goto(page, at(url));
  await use(page);
  expect(complaints.filter((complaint) => !complaint.startsWith('Failed to load resource'))).toEqual([]);
  await close();
};

describe('the dialog Send', () => {
  test('asks for path parameters, adds the key, and shows the response, using only the keyboard', async () => {
    await onPage(`${SHOP}/endpoints/find/status`, async (page) => {
      await page.keyboard.press('s');
      const dialog = page.getByRole('dialog', { name: 'Send a request' });
      await dialog.waitFor();
      await tabTo(page, 'Value of {id}');
      await page.keyboard.type('a b/7');
      await tabTo(page, 'Headers');
      await page.keyboard.type('x-plan: gold');
      await tabTo(page, 'Send');
      await page.keyboard.press('Enter');
      await dialog.getByRole('region', { name: 'Response body' }).waitFor();
      expect(await dialog.getByRole('status').innerText()).toMatch(
        /^200\s.*\s+\{"found": "a b\/7", "plan": "gold"\}$/s,
      );
    });
  });

  test('shows why nothing was sent, and the code with which the gateway rejects a request', async () => {
    await onPage(`${SHOP}/endpoints/post`, async (page) => {
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Headers').fill('not a header');
      await dialog.getByRole('button', { name: 'Send', exact: true }).click();
      await dialog.getByText('Line 1 of the headers must be a header').waitFor();
      await dialog.getByLabel('Headers').fill('x-api-key: wrong');
      await dialog.getByRole('button', { name: 'Send', exact: true }).click();
      await dialog.getByText('The gateway rejected the request with the code').waitFor();
      await dialog.getByLabel('Headers').fill('connection: upgrade\nupgrade: x');
      await dialog.getByRole('button', { name: 'Send', exact: true }).click();
      await dialog.getByText('The request cannot be sent').waitFor();
      await page.context().setOffline(true);
      await dialog.getByRole('button', { name: 'Send', exact: true }).click();
      await dialog.getByText('Not sent. The dashboard’s server does not respond.').waitFor();
    });
  });
});

test('an endpoint’s page shows its own requests and its last error as they arrive', async () => {
  await onPage(`${SHOP}/endpoints/post`, async (page) => {
    await call('GET', '/found/other');
    await call('POST', '/post?own=1');
    const requests = page.getByRole('list', { name: 'Latest requests' });
    await requests.getByRole('link', { name: '/post?own=1' }).waitFor();
    expect(await requests.innerText()).not.toContain('/found');
    await page.getByText('Last error').waitFor();
    await page.getByRole('img', { name: /in the last 24 hours, by hour$/ }).waitFor();
    await page.getByRole('link', { name: 'All requests' }).click();
    await page.waitForURL(/traffic\?q=endpoint%3Apost$/);
  });
});

test('Duplicate opens a form with a copy, which keeps what the form does not show', async () => {
  await onPage(`${SHOP}/endpoints/post`, async (page) => {
    await page.getByRole('link', { name: 'Duplicate' }).click();
    await page.getByRole('button', { name: 'Create endpoint' }).click();
    await page.waitForURL(at(`${SHOP}/endpoints/post-copy`));
  });
  const copy = await readFile(path.join(run.manifests, 'endpoint-post-copy.yaml'), 'utf8');
  expect(copy).toContain('slug: /post-copy');
  expect(copy).toContain('bodyBase64: /w==');
});

test('broken manifests appear with file and line where their objects would be, and disappear when they are fixed', async () => {
  const broken = path.join(run.manifests, 'broken.yaml');
  for (const url of ['/projects', `${SHOP}/endpoints`]) {
    await onPage(url, async (page) => {
      const problems = page.getByRole('region', { name: 'Problems in files' });
      expect(await problems.count()).toBe(0);
      await writeFile(broken, 'kind: Endpoint\nspec: {\n');
      await problems.getByText(/broken\.yaml:\d$/).waitFor();
      await rm(broken);
      await expect.poll(() => problems.count()).toBe(0);
    });
  }
});

test('the dialog and the problems are accessible', async () => {
  await expectAccessible(browser, at(`${SHOP}/endpoints/find`), async (page) => {
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByLabel('Value of {id}').fill('7');
    await page.getByRole('dialog').getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('region', { name: 'Response body' }).waitFor();
  });
  await writeFile(path.join(run.manifests, 'broken.yaml'), 'kind: Endpoint\nspec: {\n');
  await expectAccessible(browser, at('/projects'), async (page) => {
    await page.getByRole('region', { name: 'Problems in files' }).waitFor();
  });
});
