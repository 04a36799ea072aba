import type { Browser, Page } from 'playwright-core';
import { expect } from 'vitest';
import { axeViolations, openPage, overflowOf, type WatchedPage } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { startDev, type DevRun, type StartDevOptions } from './dev-stand.ts';

export interface DashboardRun extends DevRun {
  /** `http://localhost:41234` */
  readonly dashboard: string;
}

/** `standin dev` on a copy of the quickstart, with its dashboard. */
export const startDashboard = async (options: StartDevOptions = {}): Promise<DashboardRun> => {
  const dev = await startDev({ ...options, dashboard: true });
  const { dashboard } = dev.ready;
  if (dashboard === undefined) throw new Error('standin dev has no dashboard');
  return { ...dev, dashboard };
};

export const SHOP = '/p/default/shop';
const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1280, height: 800 };

/** Until React has taken the page over: what is typed before would be typed into the server's HTML. */
export const hydrated = (page: Page): Promise<boolean> =>
  // Asked from outside: the page's own policy forbids what Playwright's waitForFunction does inside.
  eventually('the page to be taken over', () =>
    page.evaluate<boolean>('window.__remixRouter?.state.initialized === true'),
  );

export const goto = async (page: Page, url: string): Promise<void> => {
  await page.goto(url);
  await hydrated(page);
};

/** A 404 is said in the console, too. */
const isMistake = (complaint: string): boolean => !complaint.startsWith('Failed to load resource');

/** Longer than pages gather changes before they show them. */
const STILL_MS = 200;

/** Until fonts and editors are there, no colour is on its way to another, and nothing moves: axe trips over what goes away meanwhile. */
const settled = async (page: Page): Promise<void> => {
  let before = '';
  const isStill = async (): Promise<boolean> => {
    const [isDone, html] = await page.evaluate<[boolean, string]>(
      `[document.fonts.status === 'loaded' && document.querySelector('[data-editor=loading]') === null &&
        document.getAnimations().every(({ playState }) => playState !== 'running'), document.body.innerHTML]`,
    );
    const isSame = html === before;
    before = html;
    return isDone && isSame;
  };
  await eventually('the page to settle', isStill, { intervalMs: STILL_MS });
};

/** Looks at what is on the screen with axe, in both themes, and on a phone. `prepare`: opens what is to be looked at. */
export const expectAccessible = async (
  browser: Browser,
  url: string,
  prepare: (page: Page) => Promise<void> = () => Promise.resolve(),
): Promise<void> => {
  const { page, context, complaints } = await openPage(browser, { colorScheme: 'light', viewport: DESKTOP });
  await goto(page, url);
  await prepare(page);
  const look = async (): Promise<readonly string[]> => {
    await settled(page);
    return axeViolations(page);
  };
  const light = await look();
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await look();
  await page.setViewportSize(PHONE);
  const phone = await look();
  const overflow = Math.max(0, await overflowOf(page));
  await context.close();
  const found = { light, dark, phone, overflow, complaints: complaints.filter(isMistake) };
  expect(found, url).toEqual({ light: [], dark: [], phone: [], overflow: 0, complaints: [] });
};

/** Presses Tab until something with this accessible name has the focus: how a person without a mouse gets there. */
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
