import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';

/** Opens a URL in the user's browser. Does nothing where there is no browser, such as in an SSH session or a container. */
export const openBrowser = async (url: string): Promise<void> => {
  const { DISPLAY, WAYLAND_DISPLAY } = process.env;
  const isMac = process.platform === 'darwin';
  if (!isMac && DISPLAY === undefined && WAYLAND_DISPLAY === undefined) return;
  const child = spawn(isMac ? 'open' : 'xdg-open', [url], { stdio: 'ignore', detached: true });
  child.unref();
  await once(child, 'spawn').catch(() => undefined);
};
