import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { hasDisplay } from '../settings.ts';

/** Opens a URL in the user's browser. Does nothing where there is no browser, such as in an SSH session or a container. */
export const openBrowser = async (url: string): Promise<void> => {
  if (!hasDisplay()) return;
  const child = spawn(process.platform === 'darwin' ? 'open' : 'xdg-open', [url], { stdio: 'ignore', detached: true });
  child.unref();
  await once(child, 'spawn').catch(() => undefined);
};
