import { readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { axeViolations, openPage, horizontalOverflow, startBrowser } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { goto, responseStatus, SHOP, startDashboard, tabTo, watched, type DashboardRun } from './dashboard-stand.ts';
import { endpoint, mock, newFolders, standin } from './dev-stand.ts';
import { expectAccessible } from './expect-accessible.ts';

let run: DashboardRun;
let browser: Browser;
/** The ids of a captured request of the Pro project and of one of the Free project. */
let exchange: string;
let freeExchange: string;

const PASSWORD = 'hunter2-hunter2';
const CARD = '4111-2222-3333';
const BODY = `{"user":"ada","password":"${PASSWORD}","card":{"number":"${CARD}"},"total":10.0}`;
const FREE = '/p/default/free';

const send = async (url: string, apiKey: string): Promise<void> => {
  const { statusCode } = await request(`${url}/v1/orders?token=tok-0123456789&page=2`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, authorization: 'Bearer secret-0123456789', 'content-type': 'application/json' },
    body: BODY,
  });
  expect(statusCode).toBe(201);
};

const sendsTo = (url: string, apiKey: string): Promise<boolean> =>
  send(url, apiKey).then(
    () => true,
    () => false,
  );

const capturedId = async (project: string): Promise<string> => {
  const { body } = await request(
    `${run.dashboard}/api/v1/namespaces/default/projects/${project}/requests:wait?count=1&timeout=15s`,
  );
  const answer = (await body.json()) as { items?: { id: string }[] };
  const id = answer.items?.[0]?.id;
  if (id === undefined) throw new Error(JSON.stringify(answer));
  return id;
};

/** Adds a project on the Free plan. The account of the quickstart's project is on the Pro plan. */
const addProjects = async (): Promise<void> => {
  const free = [
    'apiVersion: standin.dev/v1alpha1\nkind: Account\nmetadata: {name: free}\nspec: {plan: Free}\n',
    'apiVersion: standin.dev/v1alpha1\nkind: Project\nmetadata: {name: free}\nspec: {accountRef: {name: free}, uri: free-project-of-the-test}\n',
    endpoint('free-order', { ...mock('{}'), projectRef: { name: 'free' }, slug: '/v1/orders' }).replace(
      '"json":{',
      '"json":{"status":201,',
    ),
  ];
  await writeFile(path.join(run.manifests, 'free.yaml'), free.join('\n---\n'));
};

const freeKey = async (): Promise<string> => {
  const { body } = await request(`${run.dashboard}${FREE}/api-key`, {
    method: 'POST',
    headers: { origin: run.dashboard },
  });
  return body.text();
};

beforeAll(async () => {
  [run, browser] = await Promise.all([startDashboard(), startBrowser()]);
  await addProjects();
  await send(run.url, run.apiKey);
  await eventually('the Free project to answer', async () => {
    const key = await freeKey();
    return key.startsWith('standin_') && sendsTo(`${run.ready.gateway}/free-project-of-the-test`, key);
  });
  [exchange, freeExchange] = await Promise.all([capturedId('shop'), capturedId('free')]);
});
afterAll(async () => {
  await Promise.all([browser.close(), run.process.kill()]);
});

const at = (url: string): string => `${run.dashboard}${url}`;
const exchangeUrl = (project: string, id: string): string => at(`${project}/traffic/${id}`);

const PREVIEW = '[data-share-preview]';
const innerText = (page: Page, selector: string): Promise<string> => page.locator(selector).innerText();

const openDialog = async (page: Page, url = exchangeUrl(SHOP, exchange)): Promise<void> => {
  await goto(page, url);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.keyboard.press('s');
  await page.locator(PREVIEW).waitFor();
};

const createLink = async (page: Page): Promise<string> => {
  await page.getByRole('button', { name: 'Create link' }).click();
  return page.getByRole('textbox', { name: 'Link' }).inputValue();
};

describe('a link', () => {
  test('is created using only the keyboard and shows the same as the preview, without JavaScript, until it is revoked', async () => {
    const { page, close, complaints } = await watched(browser);
    await openDialog(page);
    const preview = await innerText(page, `${PREVIEW} article`);
    for (const secret of [PASSWORD, 'secret-0123456789', 'tok-0123456789']) expect(preview).not.toContain(secret);
    expect(preview).toContain('Redacted: ');
    expect(preview).toContain('"total": 10.0');
    await tabTo(page, 'Create link');
    await page.keyboard.press('Enter');
    const link = await page.getByRole('textbox', { name: 'Link' }).inputValue();
    expect(link).toMatch(/^http:\/\/localhost:\d+\/s\/[\w-]{43}$/);
    await tabTo(page, 'Copy link');
    await page.keyboard.press('Enter');
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(link);

    const { headers, body } = await request(link);
    const html = await body.text();
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow, noarchive',
    });
    expect(headers['set-cookie']).toBeUndefined();
    expect(html).not.toMatch(/<script/i);
    for (const secret of [PASSWORD, 'secret-0123456789', 'tok-0123456789', link.slice(-43)])
      expect(html).not.toContain(secret);
    // An explanation would quote values that are hidden.
    expect(html).not.toContain('Why this response');
    expect(Buffer.byteLength(html)).toBeLessThan(10_000 + Buffer.byteLength(preview));

    const visitor = await openPage(browser, { javaScriptEnabled: false });
    await visitor.page.goto(link);
    expect(await innerText(visitor.page, 'article')).toBe(preview);

    await page.getByRole('link', { name: 'All links in this project' }).click();
    await page.getByRole('link', { name: 'POST /v1/orders?token=[redacted]&page=2' }).waitFor();
    await page.getByText('Active', { exact: true }).waitFor();
    await page.getByRole('button', { name: /^Revoke share-/ }).click();
    await page.getByRole('button', { name: 'Revoke link' }).click();
    await page.getByText('Link revoked.').waitFor();
    expect(await responseStatus(link)).toBe(404);
    await visitor.page.reload();
    await visitor.page.getByRole('heading', { name: 'Link not available' }).waitFor();
    expect([...complaints, ...visitor.complaints].filter((text) => !text.startsWith('Failed to load'))).toEqual([]);
    await Promise.all([close(), visitor.close()]);
  });

  test('and its preview hide the fields that the user adds; an invalid path is reported next to its field', async () => {
    const { page, close } = await watched(browser);
    await openDialog(page);
    const paths = page.getByLabel('JSON paths');
    await paths.fill(`${await paths.inputValue()}\n$.card.number`);
    await expect.poll(() => innerText(page, PREVIEW)).not.toContain(CARD);
    await paths.fill('$.card[');
    await page.getByText(/^Line 1 must be a path such as/).waitFor();
    await page.getByRole('button', { name: 'Create link' }).click();
    expect(await paths.inputValue()).toBe('$.card[');
    await paths.fill('$.card\n$..password');
    await page.getByRole('radio', { name: '1 hour' }).check();
    const link = await createLink(page);
    const html = await (await request(link)).body.text();
    expect(html).not.toContain(CARD);
    const shares = await readdir(path.join(run.data, 'operations'));
    const share = await readFile(path.join(run.data, 'operations', shares[0] ?? ''), 'utf8');
    expect(share).not.toContain(link.slice(-43));
    expect(share).toContain('$.card');
    await close();
  });

  test('shows nothing while its account is not on the Pro plan', async () => {
    const { page, close } = await watched(browser);
    await openDialog(page);
    const link = await createLink(page);
    expect(await responseStatus(link)).toBe(200);
    const account = path.join(run.manifests, 'account.yaml');
    const before = await readFile(account, 'utf8');
    await writeFile(account, before.replace('plan: Pro', 'plan: Free'));
    await expect.poll(() => responseStatus(link)).toBe(404);
    await goto(page, at(`${SHOP}/settings/shares`));
    await page.getByText('Rejected', { exact: true }).first().waitFor();
    await writeFile(account, before);
    await expect.poll(() => responseStatus(link)).toBe(200);
    await close();
  });
});

describe('on the Free plan', () => {
  test('the dialog shows the preview and the required plan, and offers no action that would fail', async () => {
    const { page, close } = await watched(browser);
    await goto(page, exchangeUrl(FREE, freeExchange));
    await page.getByRole('button', { name: 'Share Pro' }).click();
    await page.locator(PREVIEW).waitFor();
    await page.getByText('Sharing requires the Pro plan').waitFor();
    expect(await page.getByRole('button', { name: 'Create link' }).count()).toBe(0);
    await close();
  });

  test('the server does not create a link', async () => {
    const { statusCode, body } = await request(`${exchangeUrl(FREE, freeExchange)}/share`, {
      method: 'POST',
      headers: { origin: run.dashboard, 'content-type': 'application/x-www-form-urlencoded' },
      body: 'intent=create&lifetime=1h',
    });
    expect([statusCode, await body.text()]).toEqual([200, expect.stringContaining('Sharing needs the Pro plan')]);
    expect((await readdir(path.join(run.data, 'operations'))).filter((name) => name.includes('free'))).toEqual([]);
  });
});

describe('standin share', () => {
  test('prints a link that works, alone on stdout', async () => {
    const { code, stdout, stderr } = await standin(['share', exchange, '--expires', '1h', '--data', run.data]);
    expect(stderr).toContain('The link works until ');
    expect(code).toBe(0);
    const { statusCode, body } = await request(stdout.trim());
    expect(statusCode).toBe(200);
    expect(await body.text()).not.toContain(PASSWORD);
  });

  test.each([
    ['Free plan', () => [freeExchange], 'Sharing needs the Pro plan'],
    ['expiry too late', () => [exchange, '--expires', '31d'], 'at most 30d'],
    ['unknown request', () => ['0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe'], 'there is no request'],
  ])('reports why it cannot create a link: %s', async (_, args, message) => {
    const { code, stdout, stderr } = await standin(['share', ...args(), '--data', run.data]);
    expect(stderr).toContain(message);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  });

  test('says what to start when standin dev is not running', async () => {
    const { data } = await newFolders();
    const { code, stderr } = await standin(['share', exchange, '--data', data]);
    expect(stderr).toContain('standin dev is not running for');
    expect(code).toBe(1);
  });
});

describe('every page with links', () => {
  const dialog = async (page: Page): Promise<void> => {
    await page.keyboard.press('s');
    await page.locator(PREVIEW).waitFor();
  };

  const created = async (page: Page): Promise<void> => {
    await dialog(page);
    await createLink(page);
  };
  const revoking = async (page: Page): Promise<void> => {
    const revoke = page.getByRole('button', { name: /^Revoke share-/ });
    await revoke.first().click();
    await page.getByRole('dialog').waitFor();
  };

  test.each([
    ['the dialog', () => exchangeUrl(SHOP, exchange), dialog],
    ['the dialog on Free', () => exchangeUrl(FREE, freeExchange), dialog],
    ['the created link', () => exchangeUrl(SHOP, exchange), created],
    ['no links', () => at(`${FREE}/settings/shares`), undefined],
    ['links', () => at(`${SHOP}/settings/shares`), undefined],
    ['a link that is being revoked', () => at(`${SHOP}/settings/shares`), revoking],
  ])('has no accessibility violation in either theme or on a phone: %s', async (_, url, prepare) => {
    await expectAccessible(browser, url(), prepare);
  });

  test('the public page and its not-found page have no accessibility violation', async () => {
    const { page, close } = await watched(browser);
    await openDialog(page);
    const link = await createLink(page);
    await close();
    for (const url of [link, at('/s/nothing')]) {
      const visitor = await openPage(browser, { colorScheme: 'light' });
      await visitor.page.goto(url);
      const light = await axeViolations(visitor.page);
      await visitor.page.emulateMedia({ colorScheme: 'dark' });
      await visitor.page.setViewportSize({ width: 390, height: 844 });
      const dark = await axeViolations(visitor.page);
      expect({ light, dark, overflow: Math.max(0, await horizontalOverflow(visitor.page)) }).toEqual({
        light: [],
        dark: [],
        overflow: 0,
      });
      await visitor.close();
    }
  });
});
