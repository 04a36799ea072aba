// Plain JavaScript without dependencies, because this file runs on the system's Node before anything is installed.
import { spawn } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';

export const root = path.resolve(import.meta.dirname, '../..');

const OLDEST_NODE = 20;

/** Returns Node 24 from the dev dependency `node`, or this process's Node if that is not installed (production images). */
export const nodePath = () => {
  const installed = path.join(root, 'node_modules/node/bin/node');
  return existsSync(installed) ? installed : process.execPath;
};

/** Returns whether node_modules matches package-lock.json. npm writes node_modules/.package-lock.json after each install. */
const isInstalled = () => {
  const modified = (file) => (existsSync(path.join(root, file)) ? statSync(path.join(root, file)).mtimeMs : undefined);
  const installed = modified('node_modules/.package-lock.json');
  const wanted = modified('package-lock.json');
  return installed !== undefined && wanted !== undefined && installed >= wanted;
};

const run = (command, args) =>
  new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
    child.on('error', () => resolve(1));
    child.on('exit', (code) => resolve(code ?? 1));
  });

/**
 * Installs the npm packages if they are missing or older than the lockfile, and prints progress on standard error. If that is
 * impossible, prints the reason and ends the process.
 */
export const ensureInstalled = async () => {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < OLDEST_NODE) {
    fail(`Node ${process.versions.node} is too old: install Node ${OLDEST_NODE} or newer (https://nodejs.org).`);
  }
  if (isInstalled()) return;
  process.stderr.write('Installing npm packages (once, 1 to 2 minutes) …\n');
  const started = Date.now();
  const progress = setInterval(() => {
    process.stderr.write(`  … still installing, ${Math.round((Date.now() - started) / 1000)} s\n`);
  }, 10_000);
  let code = 1;
  for (let attempt = 1; attempt <= 2 && code !== 0; attempt += 1) {
    code = await run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
  }
  clearInterval(progress);
  if (code !== 0) {
    fail(
      'npm could not install the packages, see its message above. Check the network and the npm registry, then try again.',
    );
  }
};

const fail = (message) => {
  process.stderr.write(`${message}\n`);
  process.exit(1);
};
