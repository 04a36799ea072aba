import { runCommand } from '../cluster/run-command.ts';
import { CHROMIUM_REMEDY, findChromium } from '../harness/browser.ts';
import { findFilesThatNeed } from './cluster-needs.ts';

const BROWSER_MODULE = 'test/harness/browser.ts';
const INSTALL_TIMEOUT_MS = 10 * 60_000;

/**
 * Returns the test files that use a browser, among those that vitest's `filters` select. Without filters, all files are selected.
 */
export const findBrowserNeeds = (filters: readonly string[]): Promise<readonly string[]> =>
  findFilesThatNeed(BROWSER_MODULE, filters);

/**
 * Checks for a browser. If there is none, installs Debian's Chromium as root. Resolves with instructions if there is still no
 * browser.
 */
export const prepareBrowser = async (report: (line: string) => void): Promise<string | undefined> => {
  if (findChromium() !== undefined) return undefined;
  if (process.getuid?.() !== 0) return CHROMIUM_REMEDY;
  report('Installing Chromium for the dashboard tests (once, about a minute) …');
  const environment = { timeoutMs: INSTALL_TIMEOUT_MS };
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', 'chromium']]) {
    const { code } = await runCommand('apt-get', args, environment).catch(() => ({ code: 1 }));
    if (code !== 0) return CHROMIUM_REMEDY;
  }
  return findChromium() === undefined ? CHROMIUM_REMEDY : undefined;
};
