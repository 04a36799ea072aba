import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { link, mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';

// This file imports nothing of ours: the engine's image has no other file of this package.

export interface ReplaceOptions {
  /** 0600 for secrets. */
  readonly mode: number;
  /** Rejects with EEXIST if the file exists. */
  readonly exclusive?: boolean;
  /** False: a power cut may lose the file. For what every start writes again. */
  readonly isDurable?: boolean;
}

const FOLDER_MODE = 0o700;
/** With the rest of a draft's name, within the 255 bytes of a name, regardless of the letters. */
const NAME_LENGTH_MAX = 50;

/** The drafts that this process is writing. */
const drafts = new Set<string>();

/**
 * The path of a draft. It is hidden, so that it is not read as a manifest, and has the same name every time, so that a process that
 * is killed again and again does not fill the disk with drafts.
 */
const newDraft = (file: string): string => {
  const { dir, base } = path.parse(file);
  for (let count = 0; ; count++) {
    const draft = path.join(dir, `.${base.slice(0, NAME_LENGTH_MAX)}.${process.pid}-${count}.tmp`);
    if (!drafts.has(draft)) return draft;
  }
};

/** Without this, a power cut may restore the file that was replaced or removed. */
export const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/**
 * Writes a file as a whole, and creates its folder: readers and crashes see either the old content or the new one, never a part. The
 * file belongs to this user and has this mode, whoever owned the one before. The parts of a list are written one after the other.
 */
export const replaceFile = async (
  file: string,
  content: string | Uint8Array | Iterable<string>,
  { mode, exclusive = false, isDurable = true }: ReplaceOptions,
): Promise<void> => {
  const folder = path.dirname(file);
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  const draft = newDraft(file);
  drafts.add(draft);
  try {
    await rm(draft, { force: true });
    const handle = await open(draft, 'wx', mode);
    try {
      await handle.writeFile(content);
      if (isDurable) await handle.sync();
    } finally {
      await handle.close();
    }
    // rename() replaces, link() does not.
    if (exclusive) await link(draft, file);
    else await rename(draft, file);
    if (isDurable) await syncFolder(folder);
  } finally {
    await rm(draft, { force: true }).finally(() => drafts.delete(draft));
  }
};

/** The synchronous variant, for the exit of a process, when asynchronous code no longer runs. */
export const replaceFileSync = (file: string, content: string, { mode }: { readonly mode: number }): void => {
  mkdirSync(path.dirname(file), { recursive: true, mode: FOLDER_MODE });
  const draft = newDraft(file);
  rmSync(draft, { force: true });
  const descriptor = openSync(draft, 'wx', mode);
  try {
    for (let rest = Buffer.from(content); rest.length > 0;) rest = rest.subarray(writeSync(descriptor, rest));
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(draft, file);
};
