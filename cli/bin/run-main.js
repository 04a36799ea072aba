import { spawn } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { nodePath, root } from './ensure-installed.js';

/** Earlier versions do not parse `using`. */
const OLDEST_MAJOR = 24;

/** Runs cli/src/main.ts in this process if its Node version supports that, otherwise with Node 24 from the dev dependency. */
export const runMain = async (args) => {
  const main = path.join(root, 'cli/src/main.ts');
  if (Number.parseInt(process.versions.node, 10) >= OLDEST_MAJOR) {
    process.argv = [process.execPath, main, ...args];
    // In a path, `#` and `%` would be parts of a URL.
    await import(pathToFileURL(main).href);
    return;
  }
  // The child has its own process group: Ctrl-C reaches only this process, which forwards it once. The IPC channel ends the child
  // when this process is killed.
  const child = spawn(nodePath(), [main, ...args], { stdio: ['inherit', 'inherit', 'inherit', 'ipc'], detached: true });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 130)));
};
