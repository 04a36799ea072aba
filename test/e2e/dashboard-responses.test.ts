import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startBrowser } from '../harness/browser.ts';
import { goto, SHOP, startDashboard, tabTo, watched, type DashboardRun } from './dashboard-stand.ts';
import { endpoint } from './dev-stand.ts';
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
const manifestFile = (name: string): string => path.join(run.manifests, `${name}.yaml`);

/** Returns the status and the body of the response, such as `200 {}`. */
const call = async (target: string, headers: Readonly<Record<string, string>> = {}): Promise<string> => {
  const { statusCode, body } = await request(`${run.url}${target}`, {
    headers: { 'x-api-key': run.apiKey, ...headers },
  });
  return `${statusCode} ${await body.text()}`;
};

/** Opens a page and checks at the end that its console has no errors or warnings except those about failed requests. */
const onPage = async (url: string, use: (page: Page) => Promise<void>): Promise<void> => {
  const { page, close, complaints } = await watched(browser);
  await goto(page, at(url));
  await use(page);
  expect(complaints.filter((complaint) => !complaint.startsWith('Failed to load resource'))).toEqual([]);
  await close();
};

const cards = (page: Page) => page.getByRole('list', { name: 'Responses' }).locator('> li');
/** The names in the headings of the cards. */
const names = async (page: Page): Promise<string[]> =>
  (await cards(page).locator('summary').allInnerTexts()).map((text) => text.split('\n')[0] ?? '');
const manifestText = (page: Page): Promise<string> => page.getByRole('textbox', { name: 'Manifest' }).innerText();
const save = async (page: Page, name: string): Promise<void> => {
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.waitForURL(at(`${SHOP}/endpoints/${name}`));
};
const editor = (page: Page, index: number) =>
  cards(page).nth(index).locator('[contenteditable][aria-label="Response body"]');

const RESPONSES = {
  responses: [
    { name: 'gold', when: { headers: [{ name: 'x-plan', value: 'gold' }] }, body: '{"plan": "gold"}' },
    {
      name: 'png',
      when: { queryParams: [{ name: 'png', type: 'Present' }] },
      headers: [{ name: 'content-type', value: 'image/png' }],
      bodyBase64: 'iVBORw0KGgo=',
    },
  ],
};
const MOCK = { method: 'GET', action: 'JSON', json: { body: '{"plan": "free"}' } };

describe('the form', () => {
  test('adds two responses, and requests that meet their conditions get them', async () => {
    await writeFile(manifestFile('plan'), endpoint('plan', { ...MOCK, slug: '/plans/{id}' }));
    await expect.poll(() => call('/plans/42')).toBe('200 {"plan": "free"}');
    await onPage(`${SHOP}/endpoints/plan/edit`, async (page) => {
      await page.getByRole('button', { name: 'Add response' }).click();
      // Focus is in the name of the new response.
      await page.keyboard.press('Control+a');
      await page.keyboard.type('answer');
      const first = cards(page).nth(0);
      await first.getByLabel('Condition 1 where').selectOption('Path parameter');
      await first.getByLabel('Condition 1 name').fill('id');
      await first.getByLabel('Condition 1 value').fill('42');
      await first.getByLabel('Status').fill('201');
      await first.getByLabel('Delay').selectOption('Fixed');
      expect(await first.getByLabel('Shortest').isVisible()).toBe(false);
      await first.getByLabel('Duration').fill('1');
      await first.getByText('Must be a duration such as').waitFor();
      await first.getByLabel('Duration').fill('300ms');
      await first.getByText('{id} = 42').waitFor();

      await page.getByRole('button', { name: 'Add response' }).click();
      const second = cards(page).nth(1);
      await second.getByLabel('Response name').fill('xml');
      await second.getByLabel('Condition 1 name').fill('accept');
      await second.getByLabel('Condition 1 value').fill('text/xml');
      await second.getByRole('button', { name: 'Add condition' }).click();
      await second.getByLabel('Condition 2 where').selectOption('Query parameter');
      await second.getByLabel('Condition 2 name').fill('plain');
      await second.getByLabel('Condition 2 type').selectOption('is absent');
      await second.getByLabel('Header 1 name').fill('content-type');
      await second.getByLabel('Header 1 value').fill('text/xml');
      await editor(page, 1).click();
      await page.keyboard.press('Control+a');
      await page.keyboard.insertText('<plan/>');
      await expect.poll(() => manifestText(page)).toContain('body: <plan/>');
      await save(page, 'plan');
    });
    await expect.poll(() => call('/plans/42')).toBe('201 {}');
    const start = performance.now();
    await call('/plans/42');
    expect(performance.now() - start).toBeGreaterThan(300);
    expect(await call('/plans/7', { accept: 'text/xml' })).toBe('200 <plan/>');
    expect(await call('/plans/7?plain', { accept: 'text/xml' })).toBe('200 {"plan": "free"}');
    expect(await call('/plans/42', { accept: 'text/xml' })).toBe('201 {}');
  });

  test('moves, copies and removes responses using only the keyboard, and keeps what it does not show', async () => {
    await writeFile(manifestFile('moved'), endpoint('moved', { ...MOCK, ...RESPONSES, slug: '/moved' }));
    await expect.poll(() => call('/moved?png', { 'x-plan': 'gold' })).toBe('200 {"plan": "gold"}');
    await onPage(`${SHOP}/endpoints/moved/edit`, async (page) => {
      await tabTo(page, 'Move png up');
      await page.keyboard.press('Enter');
      expect(await names(page)).toEqual(['png', 'gold']);
      // The button of the first response is disabled, so the focus moves to its summary.
      expect(await page.evaluate('document.activeElement?.tagName')).toBe('SUMMARY');
      await tabTo(page, 'Move png down');
      await page.keyboard.press('Enter');
      await tabTo(page, 'Duplicate gold', 'Shift+Tab');
      await page.keyboard.press('Enter');
      await page.keyboard.type('-2');
      expect(await names(page)).toEqual(['gold', 'gold-copy-2', 'png']);
      await tabTo(page, 'Move png up');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Enter');
      expect(await names(page)).toEqual(['png', 'gold', 'gold-copy-2']);
      await tabTo(page, 'Remove gold-copy-2');
      await page.keyboard.press('Enter');
      expect(await names(page)).toEqual(['png', 'gold']);
      await expect.poll(() => manifestText(page)).not.toContain('gold-copy');
      await save(page, 'moved');
    });
    await expect.poll(() => call('/moved?png', { 'x-plan': 'gold' })).toContain('PNG');
    const written = await readFile(manifestFile('moved'), 'utf8');
    expect((JSON.parse(written) as { spec: object }).spec).toMatchObject({
      responses: RESPONSES.responses.toReversed(),
    });
  });

  test('shows errors next to the fields of a response, and opens its card', async () => {
    await writeFile(manifestFile('faulty'), endpoint('faulty', { ...MOCK, ...RESPONSES, slug: '/faulty/{id}' }));
    await expect.poll(() => call('/faulty/1')).toBe('200 {"plan": "free"}');
    await onPage(`${SHOP}/endpoints/faulty/edit`, async (page) => {
      const first = cards(page).nth(0);
      await first.locator('summary').click();
      await first.getByLabel('Condition 1 name').fill('x api');
      await first.getByText('Must be an HTTP token').waitFor();
      await first.getByLabel('Condition 1 name').fill('x-api-key');
      await first.getByText('Must not be x-api-key').waitFor();
      await first.getByLabel('Condition 1 name').fill('x-plan');
      await expect.poll(() => first.getByLabel('Condition 1 name').getAttribute('aria-invalid')).toBe(null);

      await first.getByRole('button', { name: 'Add condition' }).click();
      await first.getByLabel('Condition 3 where').selectOption('Path parameter');
      await first.getByLabel('Condition 3 name').fill('order');
      await first.locator('summary').click();
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByRole('alert').getByText('Not saved: fix 1 field.').waitFor();
      await first.getByText('Is order, but the slug has no parameter {order}').waitFor();
      await first.getByRole('button', { name: 'Remove condition 2' }).click();
      await expect.poll(() => first.getByText('the slug has no parameter').count()).toBe(0);

      // The errors follow the response when it is moved.
      await first.getByLabel('Response name').fill('Gold Plan');
      await first.getByText('Must be lowercase letters').waitFor();
      await first.getByRole('button', { name: 'Move Gold Plan down' }).click();
      await cards(page).nth(1).getByText('Must be lowercase letters').waitFor();
      expect(await cards(page).nth(0).getByText('Must be lowercase letters').count()).toBe(0);
      await page.getByRole('button', { name: 'Add response' }).click();
      await page.getByRole('button', { name: 'Move response-1 up' }).click();
      await cards(page).nth(2).getByLabel('Response name').fill('gold');
      await page.locator('#responses').getByText('Must have conditions (when) in every response').waitFor();
    });
  });

  test('changes responses without JavaScript', async () => {
    await writeFile(manifestFile('plain'), endpoint('plain', { ...MOCK, ...RESPONSES, slug: '/plain' }));
    await expect.poll(() => call('/plain')).toBe('200 {"plan": "free"}');
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(at(`${SHOP}/endpoints/plain/edit`));
    await page.getByLabel('Name', { exact: true }).fill('Kept');
    await page.getByRole('button', { name: 'Move png up' }).click();
    await expect.poll(() => names(page)).toEqual(['png', 'gold']);
    await page.getByRole('button', { name: 'Duplicate gold' }).click();
    await expect.poll(() => names(page)).toEqual(['png', 'gold', 'gold-copy']);
    await page.getByRole('button', { name: 'Remove gold', exact: true }).click();
    await expect.poll(() => names(page)).toEqual(['png', 'gold-copy']);
    await page.getByRole('button', { name: 'Add response' }).click();
    await expect.poll(() => names(page)).toEqual(['png', 'gold-copy', 'response-1']);
    const last = cards(page).nth(2);
    await last.getByLabel('Condition 1 name').fill('x-last');
    await last.getByLabel('Condition 1 type').selectOption('is present');
    await last.locator('textarea[name$=".body"]').fill('{"last": true}');
    await last.getByLabel('Status').fill('900');
    // Enter saves. It does not press one of the buttons above.
    await last.getByLabel('Status').press('Enter');
    await cards(page).nth(2).getByText('should be less than or equal to 599').waitFor();
    await cards(page).nth(2).getByLabel('Status').fill('203');
    // Another response opens, and what was entered here is kept.
    await cards(page).nth(1).locator('summary').click();
    await page.getByRole('button', { name: 'Edit gold-copy' }).click();
    await cards(page).nth(1).getByLabel('Condition 1 value').fill('silver');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.waitForURL(at(`${SHOP}/endpoints/plain`));
    await page.getByRole('heading', { name: 'Kept' }).waitFor();
    await context.close();
    await expect.poll(() => call('/plain', { 'x-last': '' })).toBe('203 {"last": true}');
    expect(await call('/plain?png')).toContain('PNG');
    expect(await call('/plain', { 'x-plan': 'silver' })).toBe('200 {"plan": "gold"}');
  });

  test('keeps what was entered in a card that is closed and opened again', async () => {
    await writeFile(manifestFile('again'), endpoint('again', { ...MOCK, ...RESPONSES, slug: '/again' }));
    await expect.poll(() => call('/again')).toBe('200 {"plan": "free"}');
    await onPage(`${SHOP}/endpoints/again/edit`, async (page) => {
      const first = cards(page).nth(0);
      await first.locator('summary').click();
      await editor(page, 0).click();
      await page.keyboard.press('Control+a');
      await page.keyboard.insertText('{"plan":\n "again"}');
      await first.getByLabel('Condition 1 value').fill('silver');
      await first.locator('summary').click();
      await expect.poll(() => first.getByLabel('Response name').count()).toBe(0);
      await first.getByText('header x-plan = silver').waitFor();
      await first.locator('summary').click();
      expect(await first.getByLabel('Condition 1 value').inputValue()).toBe('silver');
      await first.getByLabel('Delay').selectOption('Fixed');
      await first.getByLabel('Duration').fill('1ms');
      await first.locator('summary').click();
      await expect.poll(() => manifestText(page)).toContain('fixed: 1ms');
      await save(page, 'again');
    });
    await expect.poll(() => call('/again', { 'x-plan': 'silver' })).toBe('200 {"plan":\n "again"}');
  });

  test('has expressions as conditions and in bodies, and shows their errors', async () => {
    await writeFile(manifestFile('cel'), endpoint('cel', { ...MOCK, ...RESPONSES, slug: '/cel/{id}' }));
    await expect.poll(() => call('/cel/9')).toBe('200 {"plan": "free"}');
    await onPage(`${SHOP}/endpoints/cel/edit`, async (page) => {
      const first = cards(page).nth(0);
      await first.locator('summary').click();
      await first.getByRole('button', { name: 'Remove condition 1' }).click();
      const expression = first.getByRole('textbox', { name: 'Expression (optional)' });
      await expression.fill("path.order == '9'");
      await first.getByText('path has no field order: use path.id').waitFor();
      await expression.fill("// The ninth\npath.id == '9'");
      await expect.poll(() => manifestText(page)).toContain('// The ninth\n');
      await first.locator('summary', { hasText: "path.id == '9'" }).waitFor();
      await expect.poll(() => expression.getAttribute('aria-invalid')).toBe(null);
      await first.getByLabel('Percentage').fill('99.99999');
      await first.getByText('Must have at most four decimals').waitFor();
      await first.getByLabel('Percentage').fill('44.8');
      await first.getByLabel('Key of the draw').fill('path.id');
      await expect.poll(() => manifestText(page)).toContain('percent: 44.8');
      await first.getByRole('checkbox', { name: 'Template' }).check();
      await editor(page, 0).click();
      await page.keyboard.press('Control+a');
      await page.keyboard.insertText('{"id": ${path.id}}');
      await expect.poll(() => manifestText(page)).toContain('template: CEL');
      await save(page, 'cel');
      await page.locator('summary', { hasText: '44.8% by path.id' }).waitFor();
      await page.locator('summary', { hasText: "path.id == '9'" }).click();
      await page.getByText('Template: expressions in the body').waitFor();
    });
    await expect.poll(() => call('/cel/9')).toBe('200 {"id": "9"}');
    await onPage(`${SHOP}/endpoints/cel/edit`, async (page) => {
      const first = cards(page).nth(0);
      await first.locator('summary').click();
      const expression = first.getByRole('textbox', { name: 'Expression (optional)' });
      expect(await expression.inputValue()).toBe("// The ninth\npath.id == '9'");
      await first.getByLabel('Status').fill('201');
      await save(page, 'cel');
    });
    await expect.poll(() => call('/cel/9')).toBe('201 {"id": "9"}');
    expect(await call('/cel/8')).toBe('200 {"plan": "free"}');
  });

  test('is accessible with open responses', async () => {
    await writeFile(manifestFile('look'), endpoint('look', { ...MOCK, ...RESPONSES, slug: '/look/{id}' }));
    await expect.poll(() => call('/look/1')).toBe('200 {"plan": "free"}');
    await expectAccessible(browser, at(`${SHOP}/endpoints/look/edit`), async (page) => {
      await cards(page).nth(0).locator('summary').click();
      await cards(page).nth(1).locator('summary').click();
      await page.getByRole('button', { name: 'Add response' }).click();
    });
  });
});

test('the overview shows the responses in order, with their conditions and content', async () => {
  await writeFile(manifestFile('shown'), endpoint('shown', { ...MOCK, ...RESPONSES, slug: '/shown' }));
  await expect.poll(() => call('/shown')).toBe('200 {"plan": "free"}');
  await onPage(`${SHOP}/endpoints/shown`, async (page) => {
    const items = page.getByRole('list', { name: 'Responses with conditions' }).locator('> li');
    expect(await items.locator('summary').allInnerTexts()).toEqual([
      'gold\n200\nheader x-plan = gold',
      'png\n200\nquery png is present',
    ]);
    await items.nth(0).locator('summary').click();
    await items.nth(0).getByText('{"plan": "gold"}').waitFor();
    await items.nth(1).locator('summary').click();
    await items.nth(1).getByText('8 B of binary content.').waitFor();
  });
  await expectAccessible(browser, at(`${SHOP}/endpoints/shown`), async (page) => {
    await page.locator('summary', { hasText: 'gold' }).click();
  });
});
