import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { link, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface WriteOptions {
  /** 0600 for secrets. */
  readonly mode: number;
  /** Rejects with EEXIST if the file exists. */
  readonly exclusive?: boolean;
}

/** A hidden name, so that it is not read as a manifest. */
const temporaryName = (): string => `.standin-${randomBytes(6).toString('hex')}.tmp`;

const syncDirectory = async (path: string): Promise<void> => {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
};

/** Writes a file atomically: readers and crashes see either the old content or the new one, never a part. */
export const writeFileAtomic = async (path: string, content: string, options: WriteOptions): Promise<void> => {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const temporary = join(folder, temporaryName());
  try {
    const file = await open(temporary, 'wx', options.mode);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    // rename() replaces, link() does not.
    if (options.exclusive === true) await link(temporary, path);
    else await rename(temporary, path);
    await syncDirectory(folder);
  } finally {
    await rm(temporary, { force: true });
  }
};

/** The synchronous variant, for the exit of a process, when asynchronous code no longer runs. */
export const writeFileAtomicSync = (path: string, content: string, options: { readonly mode: number }): void => {
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const temporary = join(folder, temporaryName());
  const file = openSync(temporary, 'wx', options.mode);
  try {
    for (let rest = Buffer.from(content); rest.length > 0;) rest = rest.subarray(writeSync(file, rest));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
};
