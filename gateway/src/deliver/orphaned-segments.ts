import { existsSync } from 'node:fs';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { isMissingFile, type SharedPool } from '@standin/contract';
import { SegmentShares } from '../record/spool/segment-shares.ts';
import { FolderLock } from '../record/spool/folder-lock.ts';
import { isDraftName, isIncarnationName, isSegmentName, takenBytes, takenName } from '../record/spool/spool-folder.ts';
import { FolderDrain, type FolderDrainOptions } from './folder-drain.ts';

export interface OrphansOptions extends FolderDrainOptions {
  /** Counts the segments. */
  readonly pool: SharedPool;
  /** The folder that contains the folders of all incarnations (gateway processes). */
  readonly dir: string;
  /** This process's folder, which is not orphaned. */
  readonly ownFolder?: string;
  /** The last segment of an incarnation counts as abandoned when it has not changed for this long. */
  readonly quietMs: number;
}

/**
 * Delivers the segments of incarnations that have ended. Whether an incarnation has ended is known by its lock, which also keeps two
 * processes from draining the same folder (see `FolderLock`). On a network file system, the lock of a machine that the server
 * cannot reach is released while the incarnation may still be alive. So the last segment, the only one that may still grow, is
 * delivered as it is and marked with the delivered length. It is delivered again if it has grown, and removed when it has not
 * changed for long enough. Rows that are delivered twice have the same id.
 */
export class Orphans {
  readonly #options: OrphansOptions;
  /** The files in each folder that exists. */
  readonly #folders = new Map<string, Map<string, SegmentShares>>();
  /** The folders whose records are all in ClickHouse or in quarantine. They stay until it is certain that nothing is added. */
  readonly #delivered = new Set<string>();
  damagedRecords = 0;
  /** The number of folders that the last pass left to their owners, or to other processes that drain them. */
  inUse = 0;

  constructor(options: OrphansOptions) {
    this.#options = options;
  }

  /** The total size of the segments that existed at the last scan and have not been removed. */
  get bytes(): number {
    let sum = 0;
    for (const files of this.#folders.values()) for (const { bytes } of files.values()) sum += bytes;
    return sum;
  }

  /** Whether other incarnations may have records that are not delivered. */
  get mayHaveRecords(): boolean {
    return this.#folders.size > 0;
  }

  /** Whether other incarnations have records that may never have been delivered. */
  get hasUndelivered(): boolean {
    return [...this.#folders.keys()].some((folder) => !this.#delivered.has(folder));
  }

  /** Finds the folders and measures their segments. */
  async scan(): Promise<void> {
    const { dir, ownFolder } = this.#options;
    const names = (await namesIn(dir)).filter(isIncarnationName);
    const folders = names.map((name) => path.join(dir, name)).filter((folder) => folder !== ownFolder);
    for (const folder of this.#folders.keys()) if (!folders.includes(folder)) this.#forget(folder);
    const measured = await Promise.allSettled(folders.map((folder) => this.#measure(folder)));
    for (const result of measured) if (result.status === 'rejected') throw result.reason;
  }

  /** Finds out to which namespaces the segments that are found belong. Until then, they belong to no namespace. */
  async readShares(): Promise<void> {
    const { hasGivenUp } = this.#options.inserter;
    for (const [folder, files] of this.#folders)
      for (const [name, shares] of files) {
        if (hasGivenUp.aborted) return;
        // A file that is removed, or cannot be read, belongs to no namespace.
        if (shares.bytes > 0 && isSegmentName(name)) await shares.read(path.join(folder, name)).catch(() => undefined);
      }
  }

  /** Counts files that are new or have another size. Counts nothing if the size of a file cannot be read. */
  async #measure(folder: string): Promise<void> {
    const sizes = new Map<string, number>();
    for (const name of await namesIn(folder)) sizes.set(name, (await statIfExists(path.join(folder, name)))?.size ?? 0);
    // The following statements do not wait, because another call may measure the same folder.
    const before = this.#folders.get(folder);
    const files = new Map<string, SegmentShares>();
    for (const [name, bytes] of sizes) {
      const known = before?.get(name);
      files.set(name, known?.bytes === bytes ? known : new SegmentShares(this.#options.pool, bytes));
    }
    for (const [name, shares] of before ?? []) if (files.get(name) !== shares) shares.free();
    this.#folders.set(folder, files);
  }

  #forget(folder: string): void {
    for (const shares of this.#folders.get(folder)?.values() ?? []) shares.free();
    this.#folders.delete(folder);
    this.#delivered.delete(folder);
  }

  /**
   * Delivers one segment per step, oldest folders first. Ends when nothing is left to deliver or delivery gave up. An error in one folder
   * is thrown after the other folders, so that it does not hold them up.
   */
  async *steps(): AsyncGenerator<void> {
    await this.scan();
    this.inUse = 0;
    let failure: Error | undefined;
    for (const folder of [...this.#folders.keys()]) {
      try {
        yield* this.#drainIfFree(folder);
      } catch (error) {
        failure ??= error instanceof Error ? error : new Error(String(error));
      }
    }
    if (failure !== undefined) throw failure;
  }

  async *#drainIfFree(folder: string): AsyncGenerator<void> {
    const lock = FolderLock.take(folder);
    if (lock === undefined) {
      if (existsSync(folder)) this.inUse++;
      else this.#forget(folder);
      return;
    }
    try {
      // Its owner may have written more before it ended.
      await this.#measure(folder);
      yield* this.#drain(folder);
      if ((await lock.retire()) !== undefined) this.#forget(folder);
    } finally {
      lock.release();
    }
  }

  async *#drain(folder: string): AsyncGenerator<void> {
    const drain = new FolderDrain(this.#options);
    const sharesIn = (name: string) => this.#sharesIn(folder, name);
    const names = await namesIn(folder);
    const segments = names.filter(isSegmentName);
    const last = segments.at(-1);
    /** Files that may grow, with their delivered lengths. */
    const taken = new Map<string, number>();
    for (const name of segments) {
      const bytes = await drain.deliver(path.join(folder, name), { shares: sharesIn(name), mayGrow: name === last });
      if (bytes === undefined) return;
      if (name === last) taken.set(name, bytes);
      yield;
    }
    for (const name of names) {
      const before = takenBytes(name);
      if (before === undefined) continue;
      const file = path.join(folder, name);
      const hasGrown = ((await statIfExists(file))?.size ?? 0) > before;
      const bytes = hasGrown ? await drain.deliver(file, { shares: sharesIn(name), mayGrow: true }) : before;
      if (bytes === undefined) return;
      taken.set(name, bytes);
    }
    if (!(await drain.finish())) return;
    if (!drain.hasSkipped) this.#delivered.add(folder);
    for (const name of names.filter(isDraftName)) await rm(path.join(folder, name), { force: true });
    this.damagedRecords += drain.damagedRecords;
    for (const [name, bytes] of taken) await this.#settle(folder, name, bytes);
  }

  /** Removes a delivered file, or records the delivered length in its name if the file has grown or may still grow. */
  async #settle(folder: string, name: string, bytes: number): Promise<void> {
    const file = path.join(folder, name);
    const found = await statIfExists(file);
    if (found === undefined) return;
    const isQuiet = Date.now() - found.mtimeMs > this.#options.quietMs;
    if (found.size > bytes || !isQuiet) {
      await rename(file, path.join(folder, takenName(name, bytes)));
    } else {
      await rm(file, { force: true });
      this.#sharesIn(folder, name).free();
    }
  }

  #sharesIn(folder: string, name: string): SegmentShares {
    return this.#folders.get(folder)?.get(name) ?? new SegmentShares(this.#options.pool, 0);
  }
}

/** Returns the sorted names, or an empty array if the folder does not exist. */
const namesIn = async (folder: string): Promise<string[]> => {
  try {
    return (await readdir(folder)).sort();
  } catch (error) {
    if (isMissingFile(error)) return [];
    throw error;
  }
};

const statIfExists = async (file: string): Promise<{ size: number; mtimeMs: number } | undefined> => {
  try {
    return await stat(file);
  } catch (error) {
    if (isMissingFile(error)) return undefined;
    throw error;
  }
};
