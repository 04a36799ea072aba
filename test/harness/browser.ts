import { existsSync } from 'node:fs';
import { AxeBuilder } from '@axe-core/playwright';
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core';

/** Paths in Linux distributions. Tests do not use Playwright's own downloads, so that each machine has one browser. */
const PATHS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
];

const ARGS = [
  '--no-sandbox',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
];

/** Returns the path of the browser's program, or undefined if the machine has no browser. */
export const findChromium = (): string | undefined => PATHS.find((file) => existsSync(file));

export const CHROMIUM_REMEDY = 'Install Chromium: on Debian or Ubuntu, apt-get install chromium.';

/** Starts a real browser with a new, empty profile. */
export const startBrowser = async (): Promise<Browser> => {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error(`This test needs a browser. ${CHROMIUM_REMEDY}`);
  return chromium.launch({ executablePath, args: ARGS });
};

export interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors and warnings in the console, such as blocked styles and scripts, and uncaught exceptions. */
  readonly complaints: readonly string[];
  /** Closes all pages of the context. A later page with the same options uses the context again. */
  readonly close: () => Promise<void>;
}

/**
 * Contexts without a page, by browser and options. They have the dashboard's scripts in their caches, so a page needs less than half
 * the CPU time of the first page in a new context.
 */
const idleContexts = new WeakMap<Browser, Map<string, BrowserContext[]>>();

/** The functions that close what `openPage` opened. */
const closers = new WeakMap<BrowserContext, WatchedPage['close']>();

const findIdle = (browser: Browser, options: BrowserContextOptions): BrowserContext[] => {
  const byOptions = idleContexts.get(browser) ?? new Map<string, BrowserContext[]>();
  idleContexts.set(browser, byOptions);
  const key = JSON.stringify(options);
  const idle = byOptions.get(key) ?? [];
  byOptions.set(key, idle);
  return idle;
};

/** Opens a page without cookies, stored data and history, and records the browser's complaints for the test to check. */
export const openPage = async (browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> => {
  const idle = findIdle(browser, options);
  const context = idle.pop() ?? (await browser.newContext(options));
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await context.newPage();
  await removeStoredData(page);
  page.setDefaultTimeout(10_000);
  const complaints: string[] = [];
  page.on('console', (message) => {
    // Remix logs this error when a load is interrupted by the next one while its body is arriving (decodeViaTurboStream in Remix's
    // single-fetch.js).
    if (message.text().startsWith('AbortError: signal is aborted without reason\n')) return;
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  const close = async (): Promise<void> => {
    await Promise.all(context.pages().map((open) => open.close()));
    await context.setOffline(false);
    idle.push(context);
  };
  closers.set(context, close);
  return { page, context, complaints, close };
};

/** Closes a page of `openPage`, and all other pages of its context. */
export const closePage = async (page: Page): Promise<void> => closers.get(page.context())?.();

/** Removes what earlier pages of the context stored. These pages are closed, so they cannot store it again. */
const removeStoredData = async (page: Page): Promise<void> => {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Storage.clearDataForOrigin', { origin: '*', storageTypes: 'all' });
  await devtools.detach();
};

/**
 * Returns the accessibility violations of the page. Each names the rule and one element that breaks it. Targets must be at least 24
 * by 24 px, or have enough space around them (WCAG 2.2).
 */
export const axeViolations = async (page: Page): Promise<string[]> => {
  // In its legacy mode, axe checks only one document and opens no second page. This mode and the omission of passed rules reduce
  // the time to a third.
  if (page.frames().length > 1) throw new Error('axe does not check the frames of this page');
  const rules = { 'target-size': { enabled: true } };
  // By default, AxeBuilder evaluates its half a megabyte of source twice. Any other script is evaluated in its place.
  const isLoaded = await page.evaluate<boolean>('window.axe !== undefined');
  const builder = new AxeBuilder(isLoaded ? { page, axeSource: 'void 0' } : { page });
  const axe = builder.options({ rules, resultTypes: ['violations'] }).setLegacyMode(true);
  const { violations } = await axe.analyze();
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, html }) => `${id}: ${target.join(' ')} ${html.slice(0, 160)}`),
  );
};

/** Returns the number of pixels by which the page is wider than the viewport. */
export const horizontalOverflow = (page: Page): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
