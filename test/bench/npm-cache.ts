import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '../cluster/go-program.ts';

const run = promisify(execFile);
const INSTALL_TIMEOUT_MS = 300_000;

/**
 * Returns the folder of a package that is not a dependency of this repository. Installs it on first use, without its scripts, into
 * a cache outside the checkout. Rejects if npm cannot install it.
 */
export const packageFolder = async (name: string, version: string): Promise<string> => {
  const folder = path.join(cacheFolder(), 'bench', `${name.replaceAll('/', '-')}-${version}`);
  const installed = path.join(folder, 'node_modules', name);
  if (existsSync(installed)) return installed;
  console.log(`installing ${name} ${version} into ${folder}`);
  const draft = `${folder}.${process.pid}`;
  await mkdir(draft, { recursive: true });
  try {
    const args = ['install', '--prefix', draft, '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${version}`];
    await run('npm', args, { cwd: draft, timeout: INSTALL_TIMEOUT_MS, maxBuffer: 16 * 1024 * 1024 });
    await rename(draft, folder);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (existsSync(installed)) return installed;
    throw new Error(`npm cannot install ${name} ${version}`, { cause: error });
  }
  return installed;
};
