import { runCommand } from '../cluster/run-command.ts';
import { CHROMIUM_REMEDY, findChromium } from '../harness/browser.ts';
import { findFilesThatNeed } from './cluster-needs.ts';

const BROWSER_MODULE = 'test/harness/browser.ts';
const INSTALL_TIMEOUT_MS = 10 * 60_000;

/** Test files that drive a browser, of those that vitest's `filters` choose (none: all of them). */
export const findBrowserNeeds = (filters: readonly string[]): Promise<readonly string[]> =>
  findFilesThatNeed(BROWSER_MODULE, filters);

/** Makes sure of a browser: installs Debian's where we may. Resolves with what to do where there is none. */
export const prepareBrowser = async (say: (line: string) => void): Promise<string | undefined> => {
  if (findChromium() !== undefined) return undefined;
  if (process.getuid?.() !== 0) return CHROMIUM_REMEDY;
  say('Installing Chromium for the tests of the dashboard (once, about a minute) …');
  const environment = { timeoutMs: INSTALL_TIMEOUT_MS };
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', 'chromium']]) {
    const { code } = await runCommand('apt-get', args, environment).catch(() => ({ code: 1 }));
    if (code !== 0) return CHROMIUM_REMEDY;
  }
  return findChromium() === undefined ? CHROMIUM_REMEDY : undefined;
};
