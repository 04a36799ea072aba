import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { link, mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';

// This file must not import our other code, because the engine image contains no other file from this package.

export interface ReplaceOptions {
  /** The file mode, such as 0600 for secrets. */
  readonly mode: number;
  /** If true, rejects with EEXIST if the file exists. */
  readonly exclusive?: boolean;
  /** If false, a power failure may lose the file. Use this for files that are written again at every start. */
  readonly isDurable?: boolean;
  /** Asked in the turn of the event loop in which the file is replaced. If it returns false, the file stays as it is. Ignored with `exclusive`. */
  readonly isCurrent?: () => boolean;
}

const FOLDER_MODE = 0o700;
/**
 * A draft is a temporary file that replaces the file at the end. Its name contains this many characters of the file's name, so that
 * it has no more than 255 bytes, regardless of the characters.
 */
const NAME_LENGTH_MAX = 50;

/** The drafts that this process is currently writing. */
const drafts = new Set<string>();

/**
 * Returns the path for a draft. The draft is hidden, so that it is not read as a manifest. Its name contains only the process id
 * and a count, so that a container whose process is killed again and again, always with the same id, does not fill the disk with
 * drafts.
 */
const newDraft = (file: string): string => {
  const { dir, base } = path.parse(file);
  for (let count = 0; ; count++) {
    const draft = path.join(dir, `.${base.slice(0, NAME_LENGTH_MAX)}.${process.pid}-${count}.tmp`);
    if (!drafts.has(draft)) return draft;
  }
};

/** Syncs a folder. Without this, a power failure may restore a file that was replaced or removed. */
export const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/**
 * Replaces a file atomically and creates its folder. Readers see either the old content or the new content, even after a crash,
 * and never a part of it. The new file belongs to the current user and has the given mode, regardless of the old file's owner.
 * The elements of a list are written one after the other.
 */
export const replaceFile = async (
  file: string,
  content: string | Uint8Array | Iterable<string>,
  { mode, exclusive = false, isDurable = true, isCurrent }: ReplaceOptions,
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
    else if (isCurrent === undefined) await rename(draft, file);
    else if (isCurrent()) renameSync(draft, file);
    if (isDurable) await syncFolder(folder);
  } finally {
    await rm(draft, { force: true }).finally(() => drafts.delete(draft));
  }
};

const syncFolderSync = (folder: string): void => {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
};

/** The synchronous variant, for use while a process is exiting and asynchronous code no longer runs. */
export const replaceFileSync = (file: string, content: string, { mode }: { readonly mode: number }): void => {
  const folder = path.dirname(file);
  mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
  const draft = newDraft(file);
  try {
    rmSync(draft, { force: true });
    const descriptor = openSync(draft, 'wx', mode);
    try {
      for (let rest = Buffer.from(content); rest.length > 0;) rest = rest.subarray(writeSync(descriptor, rest));
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(draft, file);
    syncFolderSync(folder);
  } finally {
    rmSync(draft, { force: true });
  }
};
