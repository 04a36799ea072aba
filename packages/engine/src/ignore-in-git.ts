import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

/**
 * Keeps a data folder out of version control, because the folder contains keys and captured traffic. Does not change a folder that
 * contains other files, such as a checkout, because `--data .` must not hide the checkout from git.
 */
export const ignoreInGit = async (folder: string, ownEntries: readonly string[]): Promise<void> => {
  const entries = await readdir(folder);
  if (entries.some((name) => !ownEntries.includes(name))) return;
  await writeFile(path.join(folder, '.gitignore'), '*\n', { flag: 'wx' });
};
