import { existsSync } from 'node:fs';
import { readdir, rename, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { errorMessage, isMissingFile } from '@standin/contract';
import { drainedName } from './spool-folder.ts';

const LOCK_NAME = 'lock';
/** SQLite's primary result codes, which are the last byte of `errcode` (https://sqlite.org/rescode.html). */
const SQLITE_BUSY = 5;
const SQLITE_CANTOPEN = 14;
/** How long an attempt blocks this process. Without repetition, processes that try at the same moment could all fail. */
const BUSY_TIMEOUT_MS = 10;

/** The file system refused the lock. The message is for people. */
class FolderLockError extends Error {
  override readonly name = 'FolderLockError';
}

/**
 * The ownership of an incarnation's folder. Its holder is the process that writes to the folder or, after the end of that process,
 * one that drains it. The kernel releases the lock at the end of its holder, however it ends.
 *
 * The lock is the exclusive lock of an empty SQLite database, because Node.js offers no other access to the locks of `fcntl`. It
 * holds between containers that share a volume, and between machines if the file system supports locks, as NFS does. It does not
 * survive if this process opens and closes the file, as a copy of the folder does.
 */
export class FolderLock {
  readonly #folder: string;
  readonly #database: DatabaseSync;

  private constructor(folder: string, database: DatabaseSync) {
    this.#folder = folder;
    this.#database = database;
  }

  /** Returns undefined if another holder has the lock, or if the folder does not exist. */
  static take(folder: string): FolderLock | undefined {
    const file = path.join(folder, LOCK_NAME);
    let database: DatabaseSync | undefined;
    try {
      database = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
      // The transaction never writes. With its journal in memory, it creates no file.
      database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    } catch (error) {
      database?.close();
      const code = sqliteCode(error);
      if (code === SQLITE_BUSY || (code === SQLITE_CANTOPEN && !existsSync(folder))) return undefined;
      throw new FolderLockError(`cannot lock ${file}: ${errorMessage(error)}`, {
        cause: error,
      });
    }
    const lock = new FolderLock(folder, database);
    // The previous holder may have retired the folder after the file was opened.
    if (existsSync(file)) return lock;
    lock.release();
    return undefined;
  }

  /**
   * Renames the folder if it has no segments. Returns the new path, or undefined if there are segments. A server of a network file
   * system releases the locks of a machine that it cannot reach. So if a writer is still alive after all, it cannot begin another
   * segment, and a segment that it began in the meantime is not lost.
   */
  async retire(): Promise<string | undefined> {
    if (!(await hasOnlyLock(this.#folder))) return undefined;
    const drained = drainedName(this.#folder);
    await rename(this.#folder, drained);
    if (await hasOnlyLock(drained)) return drained;
    await rename(drained, this.#folder);
    return undefined;
  }

  release(): void {
    this.#database.close();
  }
}

/** Removes a retired folder. Another process may have removed it. */
export const removeRetired = async (folder: string): Promise<void> => {
  await rm(path.join(folder, LOCK_NAME), { force: true });
  try {
    await rmdir(folder);
  } catch (error) {
    if (!isMissingFile(error)) throw error;
  }
};

/** Also returns true if the folder does not exist, because another process may remove a retired folder at once. */
const hasOnlyLock = async (folder: string): Promise<boolean> => {
  try {
    return (await readdir(folder)).every((name) => name === LOCK_NAME);
  } catch (error) {
    if (isMissingFile(error)) return true;
    throw error;
  }
};

const sqliteCode = (error: unknown): number | undefined =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
