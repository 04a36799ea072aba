// Plain JavaScript without dependencies, because this file runs on the system's Node before anything is installed.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';

export const root = path.resolve(import.meta.dirname, '../..');

const OLDEST_NODE = 20;
const MODULES = path.join(root, 'node_modules');

/** Returns Node 24 from the dev dependency `node`, or this process's Node if that is not installed (production images). */
export const nodePath = () => {
  const installed = path.join(MODULES, 'node/bin/node');
  return existsSync(installed) ? installed : process.execPath;
};

/**
 * Sets of npm packages: the arguments with which npm installs them, a package that is only in this set or larger ones, and the size
 * on Linux, measured with an empty cache (`npm ci --cache DIR`, then `du`).
 */
const SETS = {
  /** What `standin dev` needs, and what builds its dashboard. */
  start: {
    args: ['--workspace=cli', '--workspace=dashboard'],
    probe: 'commander',
    size: '430 MB to download and 1.2 GB on disk, mostly ClickHouse and Node',
  },
  all: { args: [], probe: 'vitest', size: '1.4 GB on disk' },
};

/** Returns whether node_modules matches package-lock.json. npm writes node_modules/.package-lock.json after each install. */
const isInstalled = ({ probe }) => {
  const modified = (file) => (existsSync(path.join(root, file)) ? statSync(path.join(root, file)).mtimeMs : undefined);
  const installed = modified('node_modules/.package-lock.json');
  const wanted = modified('package-lock.json');
  return (
    installed !== undefined && wanted !== undefined && installed >= wanted && existsSync(path.join(MODULES, probe))
  );
};

const run = (command, args) =>
  new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
    child.on('error', () => resolve(1));
    child.on('exit', (code) => resolve(code ?? 1));
  });

/**
 * Installs the npm packages of a set if they are missing or older than the lockfile, and prints progress on standard error. If that
 * is impossible, prints the reason and ends the process.
 */
export const ensureInstalled = async (name = 'all') => {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < OLDEST_NODE) {
    fail(`Node ${process.versions.node} is too old: install Node ${OLDEST_NODE} or newer (https://nodejs.org).`);
  }
  // npm removes packages that are not in the set, such as those of somebody who develops Standin.
  const set = existsSync(path.join(MODULES, SETS.all.probe)) ? SETS.all : SETS[name];
  if (isInstalled(set)) return;
  process.stderr.write(`Installing npm packages (once, about a minute): ${set.size} …\n`);
  const stopProgress = showProgress();
  let code = 1;
  for (let attempt = 1; attempt <= 2 && code !== 0; attempt += 1) {
    code = await run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error', ...set.args]);
  }
  stopProgress();
  if (code !== 0) {
    fail(
      'npm could not install the packages, see its message above. Check the network and the npm registry, then try again.',
    );
  }
};

/** Returns the folders of the packages in node_modules, without the links to workspaces. */
const packageFolders = (folder = MODULES) => {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .flatMap(({ name }) =>
      name.startsWith('@') ? packageFolders(path.join(folder, name)) : [path.join(folder, name)],
    );
};

const SHOW_MS = 500;
/** Without a terminal, each message is a line, so there are fewer of them. */
const SHOW_LINE_MS = 5_000;

/**
 * Prints how many packages npm has installed, until the returned function is called. npm creates the folders of all packages, and
 * then fills them.
 */
const showProgress = () => {
  const started = Date.now();
  const { isTTY } = process.stderr;
  const show = () => {
    const folders = packageFolders();
    const filled = folders.filter((folder) => existsSync(path.join(folder, 'package.json')));
    // npm looks all packages up before it fills the first folder.
    const progress = filled.length === 0 ? 'looking up packages' : `${filled.length} of ${folders.length} packages`;
    const text = `  ${progress}, ${Math.round((Date.now() - started) / 1000)} s`;
    process.stderr.write(isTTY ? `\r${text.padEnd(40)}` : `${text}\n`);
  };
  const timer = setInterval(show, isTTY ? SHOW_MS : SHOW_LINE_MS);
  return () => {
    clearInterval(timer);
    show();
    if (isTTY) process.stderr.write('\n');
  };
};

const fail = (message) => {
  process.stderr.write(`${message}\n`);
  process.exit(1);
};
