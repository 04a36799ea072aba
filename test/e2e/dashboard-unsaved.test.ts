import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startBrowser } from '../harness/browser.ts';
import { onPageWithFailures, goto, SHOP, startDashboard, watched, type DashboardRun } from './dashboard-stand.ts';
import { endpoint, mock } from './dev-stand.ts';
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
const EDIT = `${SHOP}/endpoints/edited/edit`;
const file = (): string => path.join(run.manifests, 'edited.yaml');
const saved = async (): Promise<Record<string, unknown>> =>
  (JSON.parse(await readFile(file(), 'utf8')) as { spec: Record<string, unknown> }).spec;
const save = (spec: Readonly<Record<string, unknown>>): Promise<void> =>
  writeFile(file(), endpoint('edited', { ...mock('{}'), ...spec }));

let tests = 0;
/** The name of the endpoint, which is different in each test. */
let title = '';
beforeEach(async () => {
  tests += 1;
  title = `Edited ${tests}`;
  await save({ displayName: title });
  await expect.poll(async () => (await fetch(at(EDIT))).text()).toContain(title);
});

const onForm = (use: (page: Page) => Promise<void>, url = EDIT): Promise<void> =>
  onPageWithFailures(browser, at(url), use);

/** Reloads the page's data, as a live page does when an object changes. */
const reload = (page: Page): Promise<void> => page.evaluate('window.__remixRouter.revalidate()');
const name = (page: Page) => page.getByLabel('Name', { exact: true });
const press = (page: Page, button: string): Promise<void> => page.getByRole('button', { name: button }).click();

describe('a form that cannot be saved', () => {
  test('keeps its input while the server does not respond, and saves it later', async () => {
    await onForm(async (page) => {
      await name(page).fill('Kept');
      await page.context().setOffline(true);
      await press(page, 'Save');
      await page.getByText('Not saved. The dashboard’s server does not respond.').waitFor();
      expect(await name(page).inputValue()).toBe('Kept');
      // The page's own reloads fail, too.
      await reload(page);
      await page.getByText('This page tries every few seconds').waitFor();
      await page.context().setOffline(false);
      await expect.poll(() => page.getByText('This page tries every few seconds').count()).toBe(0);
      expect(await name(page).inputValue()).toBe('Kept');
      await press(page, 'Try again');
      await page.waitForURL(at(`${SHOP}/endpoints/edited`));
    });
    expect(await saved()).toMatchObject({ displayName: 'Kept' });
  });

  test('keeps its input while the server reports an error', async () => {
    await onForm(async (page) => {
      await name(page).fill('Kept');
      await page.route('**/edit.data*', (route) => route.fulfill({ status: 503, body: 'no server' }));
      await press(page, 'Save');
      await page.getByText('Not saved.').waitFor();
      expect(await name(page).inputValue()).toBe('Kept');
      await page.unroute('**/edit.data*');
      await press(page, 'Save');
      await page.waitForURL(at(`${SHOP}/endpoints/edited`));
    });
  });

  test('keeps its input while a preference or a preview cannot be loaded', async () => {
    await onForm(async (page) => {
      const choose = async (theme: string): Promise<void> => {
        await page.getByRole('button', { name: 'Preferences' }).click();
        await page.getByRole('menuitemradio', { name: theme }).click();
      };
      await name(page).fill('Kept');
      await page.route('**/preview.data*', (route) => route.fulfill({ status: 503, body: 'no server' }));
      await page.getByRole('heading', { name: 'Preview' }).click();
      await page.getByText('The dashboard’s server').waitFor();
      await choose('Dark');
      await expect
        .poll(() =>
          page
            .context()
            .cookies()
            .then((all) => all.map(({ value }) => value).join()),
        )
        .toMatch('dark');
      await page.context().setOffline(true);
      await choose('Light');
      await page.getByText('Not saved. The dashboard’s server does not respond.').waitFor();
      expect(await name(page).inputValue()).toBe('Kept');
    });
  });

  test('keeps its input when a new endpoint or project cannot be saved', async () => {
    for (const [url, button] of [
      [`${SHOP}/endpoints/new`, 'Create endpoint'],
      ['/projects/new', 'Create project'],
      [`${SHOP}/settings`, 'Save'],
    ] as const) {
      await onForm(async (page) => {
        await name(page).fill('Kept');
        await page.context().setOffline(true);
        await press(page, button);
        await page.getByText('Not saved. The dashboard’s server does not respond.').waitFor();
        expect(await name(page).inputValue()).toBe('Kept');
      }, url);
    }
  });
});

test('a form keeps its input when the commands cannot be loaded', async () => {
  const { page, close } = await watched(browser);
  await page.route('**/assets/command-palette-*', (route) => route.abort());
  await goto(page, at(EDIT));
  await name(page).fill('Kept');
  await page.keyboard.press('Control+k');
  await page.getByText('Can’t load the commands.').waitFor();
  expect(await name(page).inputValue()).toBe('Kept');
  await close();
});

test('a form keeps its input while its object is deleted, and saves it when the object is created again', async () => {
  await onForm(async (page) => {
    await name(page).fill('Kept');
    await writeFile(file(), endpoint('another', mock('{}')));
    await page.getByText('Endpoint edited in project default/shop not found').waitFor();
    expect(await name(page).inputValue()).toBe('Kept');
    await press(page, 'Save');
    await page.getByText('Not saved. Endpoint edited').waitFor();
    await save({ displayName: title });
    await expect.poll(() => page.getByText('This page tries every few seconds').count()).toBe(0);
    expect(await name(page).inputValue()).toBe('Kept');
    await press(page, 'Save');
    await page.waitForURL(at(`${SHOP}/endpoints/edited`));
  });
  expect(await saved()).toMatchObject({ displayName: 'Kept' });
});

describe('leaving an edited form', () => {
  test('asks first, and an unchanged form does not ask', async () => {
    await onForm(async (page) => {
      await page.getByRole('link', { name: 'Overview' }).click();
      await page.waitForURL(at(`${SHOP}/endpoints/edited`));
      await page.goBack();
      await name(page).fill('Kept');
      await page.getByRole('link', { name: 'Overview' }).click();
      await page.getByRole('dialog', { name: 'Leave without saving?' }).waitFor();
      await page.keyboard.press('Escape');
      await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
      expect(await name(page).inputValue()).toBe('Kept');
      await page.goForward();
      await press(page, 'Keep editing');
      expect(page.url()).toBe(at(EDIT));
      await page.getByRole('link', { name: 'Overview' }).click();
      await press(page, 'Leave');
      await page.waitForURL(at(`${SHOP}/endpoints/edited`));
    });
  });

  test('asks before the tab is closed', async () => {
    await onForm(async (page) => {
      const asked: string[] = [];
      page.on('dialog', (dialog) => {
        asked.push(dialog.type());
        void dialog.dismiss();
      });
      await name(page).click();
      await page.keyboard.type('Kept');
      await page.close({ runBeforeUnload: true });
      await expect.poll(() => asked).toEqual(['beforeunload']);
      expect(await name(page).inputValue()).toContain('Kept');
    });
  });
});

describe('a form for an object that someone else has changed', () => {
  test('merges changes to different fields, and saves both', async () => {
    await onForm(async (page) => {
      await name(page).fill('Mine');
      await save({ displayName: title, slug: '/theirs' });
      await page.getByRole('alert').getByText('your changes are merged').waitFor();
      await press(page, 'Save');
      await page.getByText('It now also contains the other changes: spec.slug.').waitFor();
      expect(await page.getByLabel('Path', { exact: true }).inputValue()).toBe('/theirs');
      expect(await name(page).inputValue()).toBe('Mine');
      await expect.poll(() => page.getByRole('textbox', { name: 'Manifest' }).innerText()).toContain('Mine');
      await press(page, 'Save');
      await page.waitForURL(at(`${SHOP}/endpoints/edited`));
    });
    expect(await saved()).toMatchObject({ displayName: 'Mine', slug: '/theirs' });
  });

  test('asks which version of a field to keep if both have changed it', async () => {
    await onForm(async (page) => {
      await name(page).fill('Mine');
      await page.getByLabel('Path', { exact: true }).fill('/mine');
      await save({ displayName: 'Theirs', slug: '/theirs', method: 'PUT' });
      await press(page, 'Save');
      await page.getByText('both versions changed the same fields').waitFor();
      const titles = page.getByRole('group', { name: 'spec.displayName' });
      expect(await titles.innerText()).toMatch(
        new RegExp(`^spec.displayName\\s+Before\\s+${title}\\s+Your version\\s+Mine\\s+Saved version\\s+Theirs$`),
      );
      await titles.getByLabel('Saved version').check();
      await press(page, 'Merge');
      expect(await name(page).inputValue()).toBe('Theirs');
      expect(await page.getByLabel('Path', { exact: true }).inputValue()).toBe('/mine');
      expect(await page.getByLabel('Method').inputValue()).toBe('PUT');
      await press(page, 'Save');
      await page.waitForURL(at(`${SHOP}/endpoints/edited`));
    });
    expect(await saved()).toMatchObject({ displayName: 'Theirs', slug: '/mine', method: 'PUT' });
  });

  test('is accessible while it asks', async () => {
    let count = 0;
    await expectAccessible(browser, at(EDIT), async (page) => {
      await name(page).fill('Mine');
      count += 1;
      await save({ displayName: `Theirs ${count}` });
      await page.getByRole('alert').getByText('your changes are merged').waitFor();
      await press(page, 'Save');
      await page.getByText('both versions changed the same field').waitFor();
    });
  });
});
