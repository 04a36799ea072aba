import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startBrowser } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { goto, SHOP, startDashboard, watched, type DashboardRun } from './dashboard-stand.ts';
import { endpoint, readLog } from './dev-stand.ts';
import { expectAccessible } from './expect-accessible.ts';

let run: DashboardRun;
let browser: Browser;

beforeAll(async () => {
  [run, browser] = await Promise.all([startDashboard(), startBrowser()]);
});
afterAll(async () => {
  await Promise.all([browser.close(), run.process.kill()]);
});

const HOSTILE = '</pre><img src=x onerror=alert(1)>\u202e"';
const PLAN = {
  slug: '/plans/{id}',
  method: 'POST',
  action: 'JSON',
  responses: [
    {
      name: 'gold',
      when: { headers: [{ name: 'x-plan', value: 'gold' }] },
      body: '{"gold": ${path.id}}',
      template: 'CEL',
      delay: { type: 'Fixed', fixed: '40ms' },
    },
  ],
  json: { body: '{"note": ${request.json.note}, "uuid": "${uuid()}"}', template: 'CEL' },
};

const call = async (target: string, body: string, headers: Readonly<Record<string, string>> = {}): Promise<string> => {
  const response = await request(`${run.url}${target}`, {
    method: 'POST',
    body,
    headers: { 'x-api-key': run.apiKey, ...headers },
  });
  return response.body.text();
};

/** Serves the endpoint and returns the body of its first response. */
const serve = async (name: string, body: string): Promise<string> => {
  await writeFile(path.join(run.manifests, `${name}.json`), endpoint(name, { ...PLAN, slug: `/${name}/{id}` }));
  const answered = await eventually('the endpoint to respond', () => call(`/${name}/7`, body), {
    accept: (text) => text.includes('uuid') || text.includes('template_failed'),
  });
  await eventually('the request to be in the log', () => readLog(run.data, '-e', name), {
    accept: ({ length }) => length > 0,
  });
  return answered;
};

const onForm = async (url: string, use: (page: Page) => Promise<void>): Promise<void> => {
  const { page, close, complaints } = await watched(browser);
  await goto(page, `${run.dashboard}${SHOP}/endpoints/${url}`);
  await use(page);
  expect(complaints.filter((complaint) => !complaint.startsWith('Failed to load resource'))).toEqual([]);
  await close();
};
const responds = (page: Page) => page.getByRole('region', { name: 'Response to the request' });
const edited = (page: Page) => page.getByRole('region', { name: 'Response that you are editing' });
const renderedBody = (page: Page) => responds(page).getByRole('region', { name: /^Rendered body of / });
const type = async (page: Page, label: string, text: string): Promise<void> => {
  await page.locator(`[contenteditable][aria-label="${label}"]`).click();
  await page.keyboard.press('Control+a');
  await page.keyboard.insertText(text);
};

describe('the preview', () => {
  test('shows what the gateway sent to a captured request, as text, and follows what is typed', async () => {
    const sent = await serve('plans', JSON.stringify({ note: HOSTILE }));
    expect(JSON.parse(sent)).toMatchObject({ note: HOSTILE });
    await onForm('plans/edit', async (page) => {
      // The same request id produces the same fake data.
      await expect.poll(() => renderedBody(page).textContent()).toBe(sent);
      expect(await page.locator('img').count()).toBe(0);
      await responds(page).getByRole('heading', { name: 'The default response is returned' }).waitFor();
      await responds(page).getByText('The header x-plan is missing.').waitFor();

      await type(page, 'Body', '{"typed": "${request.json.note}"}');
      await expect
        .poll(() => renderedBody(page).textContent())
        .toBe(JSON.stringify({ typed: HOSTILE }).replace(':', ': '));
      await type(page, 'Body', '{"typed":\n ${request.json.other}}');
      await responds(page).getByText('${request.json.other} at line 2, column 2: there is no field other').waitFor();
      await responds(page).getByText('500').waitFor();
      await type(page, 'Body', '{"typed": ${request.nothing}}');
      await responds(page).getByText('This response has an error: body has an error in ${request.nothing}').waitFor();
    });
  });

  test('says which response responds, and shows the one that is edited', async () => {
    await serve('other', '{"note": 1}');
    await onForm('other/edit', async (page) => {
      await responds(page).getByRole('heading', { name: 'The default response is returned' }).waitFor();
      expect(await edited(page).count()).toBe(0);
      await page.locator('summary', { hasText: 'gold' }).click();
      await page.getByLabel('Response name').focus();
      await edited(page).getByRole('heading', { name: 'gold is not returned' }).waitFor();
      expect(
        await edited(page)
          .getByRole('region', { name: /^Rendered body of / })
          .textContent(),
      ).toBe('{"gold": "7"}');
      await edited(page).getByText('after 40 ms').waitFor();
      await page.getByLabel('Condition 1 name').fill('host');
      await page.getByLabel('Condition 1 type').selectOption('is present');
      await responds(page).getByRole('heading', { name: 'gold is returned' }).waitFor();
      expect(await edited(page).count()).toBe(0);
    });
  });

  test('has an example request for a new endpoint, and an error says what to change', async () => {
    await onForm('new', async (page) => {
      expect(await responds(page).count()).toBe(0);
      await page.getByLabel('Path', { exact: true }).fill('/new/{id}');
      await page.getByRole('checkbox', { name: 'Template' }).check();
      await type(page, 'Body', '{"id": ${path.id}, "n": ${request.json.n}}');
      await responds(page).getByText('${request.json.n} at line 1, column 25').waitFor();
      await page.getByLabel('Request body').fill('{"n": 12345678901234567}');
      await expect.poll(() => renderedBody(page).textContent()).toBe('{"id": "1", "n": 12345678901234567}');
      await page.getByLabel('Path and query').fill('/other');
      await page.getByText('The path of this request does not match the slug').waitFor();
      await page.getByLabel('Path and query').fill('/new/9');
      await expect.poll(() => renderedBody(page).textContent()).toContain('"id": "9"');
      await page.getByLabel('Path and query').press('Enter');
      await page.getByLabel('Request headers').fill('a b: c');
      await page.getByText('Line 1 of the headers must be a header').waitFor();
    });
  });

  test('opens when a response is added', async () => {
    await onForm('new', async (page) => {
      expect(await responds(page).count()).toBe(0);
      await page.getByRole('button', { name: 'Add response' }).click();
      await responds(page).waitFor();
    });
  });

  test('sends only the beginning of a long body to the page', async () => {
    await serve('long', JSON.stringify({ note: 'x'.repeat(900_000) }));
    await onForm('long/edit', async (page) => {
      const answered = page.waitForResponse((response) => response.url().endsWith('/preview'));
      await responds(page).getByText('This is the beginning of 900 kB.').waitFor();
      expect((await (await answered).body()).length).toBeLessThan(50_000);
      expect((await renderedBody(page).textContent())?.length).toBeLessThan(20_000);
    });
  });

  test('is accessible, and fits a phone', async () => {
    await serve('look', '{"note": 1}');
    await expectAccessible(browser, `${run.dashboard}${SHOP}/endpoints/look/edit`, async (page) => {
      await responds(page).waitFor();
      await page.locator('summary', { hasText: 'gold' }).click();
      await page.getByLabel('Response name').focus();
      await edited(page).waitFor();
    });
  });

  test('needs scripts, and the form works without it', async () => {
    await serve('plain', '{"note": 1}');
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${run.dashboard}${SHOP}/endpoints/plain/edit`);
    expect(await page.getByText('Preview').count()).toBe(0);
    await page.getByLabel('Name', { exact: true }).fill('Kept');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'Kept' }).waitFor();
    await context.close();
  });
});
