import { randomUUID } from 'node:crypto';
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startBrowser } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { goto, hydrated, SHOP, startDashboard, tabTo, watched, type DashboardRun } from './dashboard-stand.ts';
import { expectAccessible } from './expect-accessible.ts';

let run: DashboardRun;
let browser: Browser;

beforeAll(async () => {
  [run, browser] = await Promise.all([startDashboard(), startBrowser()]);
});
afterAll(async () => {
  await Promise.all([browser.close(), run.process.kill()]);
});

const manifest = async (file: string): Promise<string> => readFile(path.join(run.manifests, file), 'utf8');
const at = (url: string): string => `${run.dashboard}${url}`;

describe('the list of projects', () => {
  test("shows a project's URL, endpoints, quota and requests", async () => {
    for (let count = 0; count < 3; count += 1) {
      const { body } = await request(`${run.url}/v1/orders`, { headers: { 'x-api-key': run.apiKey } });
      await body.dump();
    }
    const { page, close, complaints } = await watched(browser);
    await goto(page, at('/projects'));
    const card = page.getByRole('listitem').filter({ hasText: 'default/shop' });
    await expect.poll(() => card.innerText()).toContain('3 of 3');
    expect(await card.innerText()).toContain(run.url);
    expect(await card.innerText()).toContain('No quota');
    await eventually('the requests on the card', async () => {
      await page.reload();
      return card.getByRole('img', { name: '3 requests in the last 24 hours' }).isVisible();
    });
    await card.getByRole('button', { name: 'Copy project URI' }).click();
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(run.url.split('/').at(-1));
    expect(complaints).toEqual([]);
    await close();
  });

  test('is complete in the initial HTML without JavaScript', async () => {
    // React separates adjacent text nodes with empty comments.
    const html = (await (await fetch(at('/projects'))).text()).replaceAll('<!-- -->', '');
    expect(html).toContain(run.url);
    expect(html).toContain('3 of 3');
    expect(html).not.toMatch(/ style=/);
    expect(html).not.toContain(run.apiKey);
  });
});

/** Calls `use` with a page without JavaScript, so that form messages must come from the server. */
const withoutScripts = async (use: (page: Page) => Promise<void>): Promise<void> => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  await use(await context.newPage());
  await context.close();
};

describe('a project', () => {
  test('and its manifest are created, edited and deleted using only the keyboard', async () => {
    // An earlier attempt of this test may have created the project.
    await rm(path.join(run.manifests, 'project-payments.yaml'), { force: true });
    const { page, close, complaints } = await watched(browser);
    await goto(page, at('/projects'));
    await expect.poll(() => page.getByRole('main').innerText()).not.toContain('Payments');
    await page.keyboard.press('n');
    await page.getByLabel('Name', { exact: true }).focus();
    await page.keyboard.type('Payments');
    expect(await page.getByLabel('Object name').getAttribute('placeholder')).toBe('payments');
    const created = page.getByText('Project payments was created.').waitFor();
    await Promise.all([created, page.keyboard.press('Enter')]);
    await page.getByRole('heading', { name: 'No endpoints yet' }).waitFor();
    expect(page.url()).toBe(at('/p/default/payments/endpoints'));
    expect(await manifest('project-payments.yaml')).toContain('displayName: Payments');
    expect(await manifest('project-payments.yaml')).not.toContain('metrics');

    await page.keyboard.press('g');
    await page.keyboard.press('s');
    await page.getByLabel('Retention').focus();
    await page.keyboard.type('7');
    await page.keyboard.press('Enter');
    // The form opens again with the saved values.
    await page.getByText('Saved.').waitFor();
    expect(await manifest('project-payments.yaml')).toContain('retentionDays: 7');
    expect(await manifest('project-payments.yaml')).not.toContain('metrics');

    const metrics = page.getByLabel('Metrics');
    const toggleMetrics = async (): Promise<void> => {
      await metrics.focus();
      await page.keyboard.press('Space');
      await page.keyboard.press('Enter');
    };
    await toggleMetrics();
    await expect.poll(() => manifest('project-payments.yaml')).toContain('metrics: Enabled');
    await page.reload();
    await hydrated(page);
    expect(await metrics.isChecked()).toBe(true);
    await toggleMetrics();
    // The page may still show that the change before was saved.
    await expect.poll(() => manifest('project-payments.yaml')).not.toContain('metrics');
    await expect.poll(() => page.evaluate('window.__remixRouter.state.navigation.state')).toBe('idle');

    await page.getByRole('button', { name: 'Delete project' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByLabel('Type payments to confirm').focus();
    await page.keyboard.type('payments');
    await page.keyboard.press('Enter');
    await page.waitForURL(at('/projects'));
    await expect.poll(() => page.getByRole('status').innerText()).toContain('Project payments was deleted.');
    expect(await readdir(run.manifests)).not.toContain('project-payments.yaml');
    expect(complaints).toEqual([]);
    await close();
  });

  test('that is rejected keeps the input and shows field errors, even without JavaScript', async () => {
    await withoutScripts(async (page) => {
      await page.goto(at('/projects/new'));
      await page.getByLabel('Name', { exact: true }).fill('Invoices');
      await page.getByLabel('Retention').fill('for ever');
      await page.getByLabel('Metrics').check();
      await page.getByLabel('Pinned project URI').fill('short');
      await page.getByRole('button', { name: 'Create project' }).click();
      await page.getByRole('alert').waitFor();
      expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Invoices');
      expect(await page.getByLabel('Retention').inputValue()).toBe('for ever');
      expect(await page.getByLabel('Retention').getAttribute('aria-invalid')).toBe('true');
      expect(await page.getByLabel('Metrics').isChecked()).toBe(true);
      const text = await page.getByRole('main').innerText();
      expect(text).toContain('Must be of type integer: "string"');
      expect(text).toContain('Should be at least 16 characters long');
    });
    expect(await readdir(run.manifests)).not.toContain('project-invoices.yaml');
  });

  test("cannot have another project's name", async () => {
    const { page, close } = await watched(browser);
    await goto(page, at('/projects/new'));
    await page.getByLabel('Name', { exact: true }).fill('Shop');
    await page.getByRole('button', { name: 'Create project' }).click();
    const refusal = page.getByRole('alert').getByText('Project "shop" already exists in namespace "default"');
    await refusal.waitFor();
    // Reloads the page's data, as when another user changes an object.
    await page.evaluate('window.__remixRouter.revalidate()');
    await expect.poll(() => page.evaluate('window.__remixRouter.state.revalidation')).toBe('idle');
    expect(await refusal.isVisible()).toBe(true);
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Shop');
    await close();
  });

  test('is saved to its own file, which keeps its comments', async () => {
    const { page, close } = await watched(browser);
    await goto(page, at(`${SHOP}/settings`));
    await page.getByLabel('Name', { exact: true }).fill('Corner shop');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => manifest('project.yaml')).toContain('displayName: Corner shop');
    expect(await manifest('project.yaml')).toMatch(/^# A project groups endpoints/);
    await page.getByRole('link', { name: 'Corner shop' }).waitFor();
    await close();
  });
});

describe('settings that another user changes in the meantime', () => {
  test('report the change, keep the input and are not overwritten', async () => {
    const { page, close } = await watched(browser);
    await goto(page, at(`${SHOP}/settings`));
    await page.getByLabel('Name', { exact: true }).fill('Mine');
    // The name is new in each attempt of this test, because only a change makes the page report one.
    const theirName = `Theirs ${randomUUID()}`;
    const theirs = (await manifest('project.yaml')).replace(/displayName: .*/, `displayName: ${theirName}`);
    await writeFile(path.join(run.manifests, 'project.yaml'), theirs);
    await page.getByRole('alert').getByText('This project changed').waitFor();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Mine');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Not saved: both versions changed the same field').waitFor();
    expect(await page.getByRole('group', { name: 'spec.displayName' }).innerText()).toContain('Mine');
    expect(await manifest('project.yaml')).toBe(theirs);
    await page.getByRole('button', { name: 'Discard your changes' }).click();
    await expect.poll(() => page.getByLabel('Name', { exact: true }).inputValue()).toBe(theirName);
    // Saves twice in a row, because the form must not treat its own save as a change by another user.
    for (const name of ['Ours', 'Corner shop']) {
      await page.getByLabel('Name', { exact: true }).fill(name);
      await page.getByRole('button', { name: 'Save' }).click();
      await expect.poll(() => manifest('project.yaml')).toContain(`displayName: ${name}`);
      await page.getByText('Saved.').waitFor();
      expect(await page.getByText('while you were editing').count()).toBe(0);
    }
    await close();
  });
});

describe('the API key', () => {
  test('is masked until the user reveals it, and can be hidden again', async () => {
    const { page, close } = await watched(browser);
    await goto(page, at(`${SHOP}/settings/api-key`));
    expect(await page.content()).not.toContain(run.apiKey);
    await page.getByRole('button', { name: 'Reveal' }).click();
    await page.getByText(run.apiKey).waitFor();
    await page.getByRole('button', { name: 'Copy' }).click();
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(run.apiKey);
    await page.getByRole('button', { name: 'Hide' }).click();
    await expect.poll(() => page.getByText(run.apiKey).count()).toBe(0);
    await close();
  });
});

describe('every page', () => {
  test.each([
    '/projects',
    '/projects/new',
    `${SHOP}/settings`,
    `${SHOP}/settings/api-key`,
    '/nowhere',
    '/p/default/gone',
  ])('%s: no axe violation in either theme, no horizontal scrolling on a phone', (url) =>
    expectAccessible(browser, at(url)),
  );

  test('no axe violation with open dialogs', async () => {
    await expectAccessible(browser, at(`${SHOP}/settings`), async (page) => {
      await page.getByRole('button', { name: 'Delete project' }).click();
      await page.getByRole('dialog').waitFor();
    });
    await expectAccessible(browser, at('/projects'), async (page) => {
      await page.keyboard.press('?');
      await page.getByRole('dialog').getByText('New project').waitFor();
    });
    await expectAccessible(browser, at(SHOP), async (page) => {
      await page.keyboard.press('Control+k');
      await page.getByRole('option', { name: 'Create order' }).waitFor();
    });
    await expectAccessible(browser, at(SHOP), async (page) => {
      await page.getByRole('button', { name: 'Preferences' }).click();
      await page.getByRole('menu').waitFor();
    });
  });
});

describe('preferences', () => {
  test('keep a change that the server has not stored when the next one is made', async () => {
    const { page, close } = await watched(browser);
    const loading = Promise.withResolvers<undefined>();
    await page.route('**/preferences.data', async (route) => {
      await loading.promise;
      await route.continue().catch(() => undefined);
    });
    await goto(page, at('/projects'));
    for (const name of ['Dark', 'UTC']) {
      await page.getByRole('button', { name: 'Preferences' }).click();
      await page.getByRole('menuitemradio', { name }).click();
    }
    const saved = page.waitForResponse((response) => response.url().includes('/preferences'));
    loading.resolve(undefined);
    await saved;
    await goto(page, at('/projects'));
    await page.getByRole('button', { name: 'Preferences' }).click();
    for (const name of ['Dark', 'UTC']) await page.getByRole('menuitemradio', { name, checked: true }).waitFor();
    await close();
  });

  test('apply to the initial HTML of the next page, and single-key shortcuts can be turned off', async () => {
    const { page, close } = await watched(browser);
    await goto(page, at('/projects'));
    const choose = async (name: string): Promise<void> => {
      await page.getByRole('button', { name: 'Preferences' }).click();
      const saved = page.waitForResponse((response) => response.url().includes('/preferences'));
      await page.getByRole('menuitemradio', { name }).click();
      await saved;
    };
    await choose('Dark');
    expect(await page.evaluate('getComputedStyle(document.documentElement).colorScheme')).toBe('dark');
    await choose('Off');
    await page.reload();
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark');
    await goto(page, at('/projects'));
    await page.keyboard.press('n');
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    expect(page.url()).toBe(at('/projects'));
    await close();
  });
});

describe('the dashboard server', () => {
  const post = (headers: Record<string, string>) =>
    request(at(`${SHOP}/api-key`), { method: 'POST', headers }).then(async ({ statusCode, body }) => ({
      statusCode,
      text: await body.text(),
    }));

  test('changes and reveals nothing for another website', async () => {
    for (const origin of ['https://evil.example', run.ready.gateway, 'null']) {
      const { statusCode, text } = await post({ origin });
      expect([origin, statusCode]).toEqual([origin, 403]);
      expect(text).not.toContain(run.apiKey);
    }
    expect((await post({})).statusCode).toBe(403);
    expect(await post({ origin: run.dashboard })).toEqual({ statusCode: 200, text: run.apiKey });
  });

  test('serves only the host names of this machine', async () => {
    const { port } = new URL(run.dashboard);
    const { statusCode } = await request(at('/projects'), { headers: { host: `rebound.example:${port}` } });
    expect(statusCode).toBe(421);
    const forwarded = await request(at('/projects'), { headers: { 'x-forwarded-host': 'evil.example' } });
    expect(await forwarded.body.text()).not.toContain('evil.example');
  });

  test('allows only its own scripts and styles, with a new nonce per page', async () => {
    const policies = await Promise.all(
      [at('/projects'), at('/projects')].map(
        async (url) => (await fetch(url)).headers.get('content-security-policy') ?? '',
      ),
    );
    expect(new Set(policies).size).toBe(2);
    for (const policy of policies) {
      expect(policy).not.toContain('unsafe');
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).toContain("default-src 'none'");
    }
  });

  test('lets caches keep assets forever, but never pages', async () => {
    const page = await fetch(at('/projects'));
    expect(page.headers.get('cache-control')).toBe('no-store');
    const asset = /\/assets\/[^"]+\.js/.exec(await page.text())?.[0] ?? '';
    const { headers } = await fetch(at(asset), { headers: { 'accept-encoding': 'gzip, br' } });
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(headers.get('content-encoding')).toBe('br');
    expect((await fetch(at(`${asset}.br`))).status).toBe(404);
  });
});

/** This test runs last, because it invalidates the key that standin dev printed. */
describe('a new API key', () => {
  test('is created on one page using only the keyboard, can be copied, and replaces the old key', async () => {
    const { page, close, complaints } = await watched(browser);
    await goto(page, at(`${SHOP}/settings/api-key`));
    await page.getByText('6 of 6 regenerations left').waitFor();
    await tabTo(page, 'Regenerate key…');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByText('get 401 until they send the new key').waitFor();
    await tabTo(page, 'Regenerate key');
    await page.keyboard.press('Enter');
    await page.getByText('The new key is active').waitFor();
    await page.getByText('5 of 6 regenerations left').waitFor();
    await tabTo(page, 'Reveal', 'Shift+Tab');
    await page.keyboard.press('Enter');
    const key = await page.getByText(/^standin_[0-9A-Za-z]+$/).innerText();
    expect(key).not.toBe(run.apiKey);
    const send = async (apiKey: string): Promise<number> => {
      const { statusCode, body } = await request(`${run.url}/v1/orders`, { headers: { 'x-api-key': apiKey } });
      await body.dump();
      return statusCode;
    };
    expect(await send(run.apiKey)).toBe(401);
    expect(await send(key)).toBe(200);
    expect(complaints).toEqual([]);
    await close();
  });
});
