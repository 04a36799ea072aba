import type { Browser, Page } from 'playwright-core';
import { expect } from 'vitest';
import { axeViolations, openPage, horizontalOverflow } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { DESKTOP, goto } from './dashboard-stand.ts';

const PHONE = { width: 390, height: 844 };
/** The width of the narrowest phones, and of a 1280-pixel screen at 400% zoom. */
const NARROW = { width: 320, height: 640 };

/** Returns whether a console message reports a defect of the page. The console also reports each failed request, such as a 404. */
const isMistake = (complaint: string): boolean => !complaint.startsWith('Failed to load resource');

/** A wait that is longer than the time for which pages batch changes. */
const STILL_MS = 200;

/**
 * Waits until fonts and editors are loaded, no transition or animation runs, and the HTML no longer changes. Axe fails on elements
 * that disappear while it runs.
 */
export const settled = async (page: Page): Promise<void> => {
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

/**
 * Checks a page with axe in both themes and on a phone. Also expects no horizontal scrolling on narrow screens and no errors in
 * the console. `prepare` opens the part to check.
 */
export const expectAccessible = async (
  browser: Browser,
  url: string,
  prepare: (page: Page) => Promise<void> = () => Promise.resolve(),
): Promise<void> => {
  const { page, close, complaints } = await openPage(browser, { colorScheme: 'light', viewport: DESKTOP });
  await goto(page, url);
  await prepare(page);
  const look = async (): Promise<readonly string[]> => {
    await settled(page);
    // Elsewhere, the header covers a part of some element, which axe reports as too small.
    await page.evaluate('scrollTo(0, 0)');
    return axeViolations(page);
  };
  const light = await look();
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await look();
  await page.setViewportSize(PHONE);
  const phone = await look();
  for (const viewport of [PHONE, NARROW]) {
    await page.setViewportSize(viewport);
    // An open menu moves to its new position after a short delay.
    await expect
      .poll(() => horizontalOverflow(page), { message: `${url} at ${viewport.width} px` })
      .toBeLessThanOrEqual(0);
  }
  await close();
  const found = { light, dark, phone, complaints: complaints.filter(isMistake) };
  expect(found, url).toEqual({ light: [], dark: [], phone: [], complaints: [] });
};
