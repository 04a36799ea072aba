import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPage, startBrowser } from '../harness/browser.ts';

let browser: Browser;
let server: Server;
let url: string;

beforeAll(async () => {
  server = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<p>A page')).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  browser = await startBrowser();
});
afterAll(async () => {
  await browser.close();
  server.closeAllConnections();
  server.close();
});

const stored = (page: Page): Promise<unknown> =>
  page.evaluate(`(async () => [
    document.cookie,
    localStorage.length,
    sessionStorage.length,
    (await indexedDB.databases()).length,
    (await caches.keys()).length,
    history.length,
    name,
  ])()`);

const NOTHING = ['', 0, 0, 0, 0, 2, ''];

test('a page that uses the context of a closed page finds nothing that the closed page stored or set', async () => {
  const first = await openPage(browser);
  await first.page.goto(url);
  expect(await stored(first.page)).toEqual(NOTHING);
  await first.page.evaluate(`(async () => {
    document.cookie = 'a=1; max-age=1000';
    localStorage.a = 1;
    sessionStorage.a = 1;
    name = 'a';
    await caches.open('a');
    await new Promise((resolve) => (indexedDB.open('a').onsuccess = resolve));
    addEventListener('pagehide', () => (localStorage.late = 1));
  })()`);
  expect(await stored(first.page)).toEqual(['a=1', 1, 1, 1, 1, 2, 'a']);
  const popup = await first.context.newPage();
  await popup.goto(url);
  await first.context.setOffline(true);
  await first.page.setViewportSize({ width: 300, height: 300 });
  await first.page.emulateMedia({ colorScheme: 'dark' });
  await first.page.route('**', (route) => route.abort());
  await first.close();

  const second = await openPage(browser);
  expect(second.context).toBe(first.context);
  expect(second.context.pages()).toEqual([second.page]);
  await second.page.goto(url);
  expect(await stored(second.page)).toEqual(NOTHING);
  expect(await second.page.evaluate(`[innerWidth > 300, matchMedia('(prefers-color-scheme: dark)').matches]`)).toEqual([
    true,
    false,
  ]);
  await second.close();
});

test('two open pages, or pages with different options, have different contexts', async () => {
  const one = await openPage(browser);
  const other = await openPage(browser);
  expect(other.context).not.toBe(one.context);
  await one.close();
  const withoutScripts = await openPage(browser, { javaScriptEnabled: false });
  expect(withoutScripts.context).not.toBe(one.context);
  await Promise.all([other.close(), withoutScripts.close()]);
});
