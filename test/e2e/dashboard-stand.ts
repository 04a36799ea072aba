import type { Browser, Page } from 'playwright-core';
import { request } from 'undici';
import { expect } from 'vitest';
import { openPage, type WatchedPage } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { startDev, type DevRun, type StartDevOptions } from './dev-stand.ts';

export interface DashboardRun extends DevRun {
  /** `http://localhost:41234` */
  readonly dashboard: string;
}

/** Starts `standin dev` on a copy of the quickstart, with its dashboard. */
export const startDashboard = async (options: StartDevOptions = {}): Promise<DashboardRun> => {
  const dev = await startDev({ ...options, dashboard: true });
  const { dashboard } = dev.ready;
  if (dashboard === undefined) throw new Error('standin dev has no dashboard');
  return { ...dev, dashboard };
};

export const SHOP = '/p/default/shop';
export const DESKTOP = { width: 1280, height: 800 };

/** Waits until React has hydrated the page. Earlier input would go into the server's HTML. */
export const hydrated = async (page: Page): Promise<void> => {
  // Polls from outside, because the page's content security policy forbids Playwright's waitForFunction.
  const isHydrated = (): Promise<boolean> => page.evaluate('window.__remixRouter?.state.initialized === true');
  await eventually('the page to be hydrated', isHydrated, { timeoutMs: 30_000 }).catch(async (error: unknown) => {
    // The browser drops scripts if the machine gets another network address while they load.
    const scripts = await page.evaluate(`performance.getEntriesByType('resource')
      .filter(({ initiatorType, responseStatus }) => initiatorType === 'script' && responseStatus !== 200)
      .map(({ name, responseStatus }) => name + ' ' + responseStatus)`);
    throw new Error(`${String(error)}; scripts that did not load: ${JSON.stringify(scripts)}`, { cause: error });
  });
  // React renders and runs effects in page tasks, which have finished when the page is idle.
  await page.evaluate('new Promise((resolve) => requestIdleCallback(() => resolve()))');
};

export const goto = async (page: Page, url: string): Promise<void> => {
  await page.goto(url);
  await hydrated(page);
};

export const responseStatus = async (url: string): Promise<number> => {
  const { statusCode, body } = await request(url);
  await body.dump();
  return statusCode;
};

/** Presses Tab until the element with this accessible name has focus, as a user without a mouse does. */
export const tabTo = async (page: Page, name: string, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> => {
  const TABS_MAX = 80;
  for (let count = 0; count < TABS_MAX; count += 1) {
    await page.keyboard.press(key);
    const focused = await page.evaluate<string>(`(() => {
      const element = document.activeElement;
      const label = element?.labels?.[0]?.textContent ?? '';
      return element?.getAttribute('aria-label') ?? (label === '' ? element?.textContent ?? '' : label);
    })()`);
    if (focused.trim().startsWith(name)) return;
  }
  throw new Error(`nothing called "${name}" can be reached with ${key}`);
};

export const watched = (browser: Browser): Promise<WatchedPage> => openPage(browser, { viewport: DESKTOP });

/** Opens a page and checks at the end that the console has no errors or warnings except those about failed requests. */
export const onPageWithFailures = async (
  browser: Browser,
  url: string,
  use: (page: Page) => Promise<void>,
): Promise<void> => {
  const { page, close, complaints } = await watched(browser);
  await goto(page, url);
  await use(page);
  expect(
    complaints.filter((complaint) => !/Failed to load resource|Failed to fetch|SyntaxError/.test(complaint)),
  ).toEqual([]);
  await close();
};
