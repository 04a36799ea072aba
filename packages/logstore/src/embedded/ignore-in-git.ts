import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

/**
 * Keeps a data folder out of version control: it holds keys and captured traffic. A folder with other files in it, such as a checkout, stays as it
 * is: `--data .` must not hide it from git.
 */
export const ignoreInGit = async (folder: string, ownEntries: readonly string[]): Promise<void> => {
  const entries = await readdir(folder);
  if (entries.some((name) => !ownEntries.includes(name))) return;
  await writeFile(path.join(folder, '.gitignore'), '*\n', { flag: 'wx' });
};
