import { existsSync } from 'node:fs';
import { AxeBuilder } from '@axe-core/playwright';
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core';

/** Where Linux distributions put it. Playwright's own downloads are not used: one browser per machine. */
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

/** The browser, or undefined where the machine has none. */
export const findChromium = (): string | undefined => PATHS.find((file) => existsSync(file));

export const CHROMIUM_REMEDY = 'Install Chromium: on Debian or Ubuntu, apt-get install chromium.';

/** A real browser, with an empty profile of its own. */
export const startBrowser = async (): Promise<Browser> => {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error(`There is no browser for this test. ${CHROMIUM_REMEDY}`);
  return chromium.launch({ executablePath, args: ARGS });
};

export interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What the console and uncaught errors said, refused styles and scripts among it. */
  readonly complaints: readonly string[];
}

/** A page of a new context. What the browser complains about is kept for the test to look at. */
export const openPage = async (browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> => {
  const context = await browser.newContext(options);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  return { page, context, complaints };
};

/** Accessibility mistakes of what is on the screen: rule, and the elements that break it. Targets have 24 px or room around them (WCAG 2.2). */
export const axeViolations = async (page: Page): Promise<string[]> => {
  const rules = { 'target-size': { enabled: true } };
  const { violations } = await new AxeBuilder({ page }).options({ rules }).analyze();
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, html }) => `${id}: ${target.join(' ')} ${html.slice(0, 160)}`),
  );
};

/** By how many pixels the page is wider than the screen. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
