import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startBrowser } from '../harness/browser.ts';
import { goto, SHOP, startDashboard, watched, type DashboardRun } from './dashboard-stand.ts';
import { endpoint, mock } from './dev-stand.ts';
import { expectAccessible } from './expect-accessible.ts';

/** Tests the YAML page of an endpoint on a directory of manifests. dashboard-cluster.test.ts tests it on a cluster. */

let run: DashboardRun;
let browser: Browser;

const YAML = `${SHOP}/endpoints/edited/yaml`;
const NEIGHBOUR = `# A neighbour in the same file.
apiVersion: standin.dev/v1alpha1
kind: Endpoint
metadata: {name: neighbour}
spec: {projectRef: {name: shop}, displayName: Neighbour, slug: /neighbour, method: GET, action: JSON, json: {body: '1'}}
`;
const textFor = (title: string): string => `# Why this endpoint exists.
apiVersion: standin.dev/v1alpha1
kind: Endpoint
metadata:
  name: edited
spec:
  projectRef: {name: shop}
  displayName: ${title} # shown in lists
  slug: /edited
  method: GET
  action: JSON
  json:
    status: 200
    body: '{}'
`;

let tests = 0;
let title = '';
beforeAll(async () => {
  [run, browser] = await Promise.all([startDashboard(), startBrowser()]);
});
afterAll(async () => {
  await Promise.all([browser.close(), run.process.kill()]);
});

const at = (url: string): string => `${run.dashboard}${url}`;
const file = (): string => path.join(run.manifests, 'edited.yaml');
const saved = (): Promise<string> => readFile(file(), 'utf8');
const save = (text: string): Promise<void> => writeFile(file(), `${NEIGHBOUR}---\n${text}`);
const isShown = (text: string) => expect.poll(async () => (await fetch(at(YAML))).text()).toContain(text);

beforeEach(async () => {
  tests += 1;
  title = `Edited ${tests}`;
  await save(textFor(title));
  await isShown(title);
});

const onYaml = async (use: (page: Page) => Promise<void>, url = YAML): Promise<void> => {
  const { page, close, complaints } = await watched(browser);
  await goto(page, at(url));
  await page.locator('[data-editor=open]').waitFor();
  await use(page);
  expect(
    complaints.filter((complaint) => !/Failed to load resource|Failed to fetch|SyntaxError/.test(complaint)),
  ).toEqual([]);
  await close();
};
const editor = (page: Page) => page.getByRole('textbox', { name: 'Endpoint YAML' });
/** Replaces the text as users do, from the clipboard. The editor indents text that is typed. */
const paste = async (page: Page, text: string): Promise<void> => {
  await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`);
  await editor(page).click();
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.press('ControlOrMeta+v');
};
const press = (page: Page, button: string): Promise<void> => page.getByRole('button', { name: button }).click();
const value = (page: Page): Promise<string> => page.locator('textarea[name=yaml]').inputValue();

describe('the YAML of an endpoint', () => {
  test('is its text in the file, and is written as typed, with comments', async () => {
    const next = `${textFor(title).replace('slug: /edited', 'slug: /edited/too  # moved')}# The end.\n`;
    await onYaml(async (page) => {
      expect(await page.getByText(/edited\.yaml:8$/).count()).toBe(1);
      expect(await value(page)).toBe(textFor(title));
      await paste(page, next);
      await press(page, 'Save');
      await page.waitForURL(at(`${SHOP}/endpoints/edited`));
      await page.getByText('/edited/too').first().waitFor();
    });
    expect(await saved()).toBe(`${NEIGHBOUR}---\n${next}`);
  });

  test('is saved if only a comment changes', async () => {
    const next = textFor(title).replace('shown in lists', 'shown everywhere');
    await onYaml(async (page) => {
      await paste(page, next);
      await press(page, 'Save');
      await page.waitForURL(at(`${SHOP}/endpoints/edited`));
    });
    expect(await saved()).toContain(next);
  });

  test('is refused with the line of each problem, and stays in the editor', async () => {
    const before = await saved();
    await onYaml(async (page) => {
      for (const [from, to, ...messages] of [
        ["body: '{}'", "body: '{'", /^Line 14: spec\.json\.body: /],
        ['status: 200', 'status: 99', /^Line 13: spec\.json\.status: should be greater than or equal to/],
        ['slug: /edited', 'slugs: /edited', 'Line 7: spec.slug: Required value', /^Line 9: spec\.slugs: unknown field/],
        ['slug: /edited', 'slug: [', /^Line \d+: Not YAML: /],
        ['name: edited', 'name: other', /^Line 5: metadata\.name: must be edited\. An object cannot be renamed/],
        ['kind: Endpoint', 'kind: Project', /^Line 3: kind: must be Endpoint/],
        ['  name: edited', '  name: edited\n  uid: "1"', /^Line 6: metadata\.uid: cannot be changed here/],
      ] as const) {
        const text = textFor(title).replace(from, to);
        await paste(page, text);
        await press(page, 'Save');
        for (const message of messages) await page.getByRole('alert').getByText(message).waitFor();
        expect(await value(page)).toBe(text);
      }
      await page.locator('.cm-lintRange-error').first().waitFor();
      await paste(page, textFor(`${title}, repaired`));
      await press(page, 'Save');
      await page.waitForURL(at(`${SHOP}/endpoints/edited`));
    });
    expect(await saved()).toBe(before.replace(title, `${title}, repaired`));
  });

  test('keeps its edited text while the server does not respond, and before the user leaves', async () => {
    const next = textFor(`${title}, kept`);
    await onYaml(async (page) => {
      await paste(page, next);
      await page.context().setOffline(true);
      await press(page, 'Save');
      await page.getByText('Not saved. The dashboard’s server does not respond.').waitFor();
      await page.evaluate('window.__remixRouter.revalidate()');
      await page.getByText('This page tries every few seconds').waitFor();
      expect(await value(page)).toBe(next);
      await page.context().setOffline(false);
      await expect.poll(() => page.getByText('This page tries every few seconds').count()).toBe(0);
      await page.getByRole('link', { name: 'Overview' }).click();
      await page.getByRole('dialog', { name: 'Leave without saving?' }).waitFor();
      await press(page, 'Keep editing');
      expect(await value(page)).toBe(next);
      await press(page, 'Try again');
      await page.waitForURL(at(`${SHOP}/endpoints/edited`));
    });
    expect(await saved()).toContain(next);
  });

  test('is merged with the changes that another program saved in the meantime, also in comments', async () => {
    await onYaml(async (page) => {
      await paste(page, textFor(title).replace('status: 200', 'status: 201'));
      await save(textFor(title).replace('Why this', 'The reason why this'));
      await press(page, 'Save');
      await page.getByText('It now also contains the other changes: line 1.').waitFor();
      expect(await value(page)).toContain('# The reason why this');
      await press(page, 'Save');
      await page.waitForURL(at(`${SHOP}/endpoints/edited`));
    });
    const merged = textFor(title).replace('Why this', 'The reason why this').replace('status: 200', 'status: 201');
    expect(await saved()).toBe(`${NEIGHBOUR}---\n${merged}`);
  });

  test('asks which version of the lines to keep that both have changed', async () => {
    await onYaml(async (page) => {
      await paste(page, textFor(title).replace('status: 200', 'status: 201'));
      await save(textFor(title).replace('status: 200', 'status: 404'));
      await isShown('status: 404');
      await press(page, 'Save');
      const group = page.getByRole('group', { name: 'line 13' });
      await group.waitFor();
      expect(await group.innerText()).toMatch(/status: 200\s+Your version\s+status: 201\s+Saved version\s+status: 404/);
      await group.getByRole('radio', { name: 'Saved version' }).check();
      await press(page, 'Merge');
      expect(await value(page)).toBe(textFor(title).replace('status: 200', 'status: 404'));
    });
  });

  test('in a JSON file is generated, and is saved as JSON', async () => {
    await writeFile(file(), endpoint('edited', { ...mock('{}'), displayName: `${title}, JSON` }));
    await isShown(`${title}, JSON`);
    await onYaml(async (page) => {
      await page.getByText('comments that you add here are not stored').waitFor();
      await paste(page, (await value(page)).replace(', JSON', ', changed'));
      await press(page, 'Save');
      await page.waitForURL(at(`${SHOP}/endpoints/edited`));
    });
    expect(JSON.parse(await saved())).toMatchObject({ spec: { displayName: `${title}, changed` } });
  });

  test('can be edited without JavaScript', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(at(YAML));
    await editor(page).fill(textFor(title).replace('status: 200', 'status: 99'));
    await press(page, 'Save');
    await page.getByText('Line 13: spec.json.status: ').waitFor();
    await editor(page).fill(textFor(title).replace('status: 200', 'status: 202'));
    await press(page, 'Save');
    await page.waitForURL(at(`${SHOP}/endpoints/edited`));
    await context.close();
    expect(await saved()).toBe(`${NEIGHBOUR}---\n${textFor(title).replace('status: 200', 'status: 202')}`);
  });

  test('is accessible, with and without problems', async () => {
    await expectAccessible(browser, at(YAML), async (page) => {
      await page.locator('[data-editor=open]').waitFor();
    });
    await expectAccessible(browser, at(YAML), async (page) => {
      await page.locator('[data-editor=open]').waitFor();
      await paste(page, 'kind: Endpoint\n');
      await press(page, 'Save');
      await page.getByText(/^Line 1: metadata: /).waitFor();
    });
  });
});
