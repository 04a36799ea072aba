import { readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { drainedName, isIncarnationName, isSegmentName, takenBytes, takenName } from '../record/spool/spool-folder.ts';
import { FolderDrain, type FolderDrainOptions } from './folder-drain.ts';

export interface OrphansOptions extends Omit<FolderDrainOptions, 'onRemoved'> {
  /** The folder that contains the folders of all incarnations (gateway processes). */
  readonly dir: string;
  /** This process's folder, which is not orphaned. */
  readonly ownFolder?: string;
  /** The last segment of an incarnation counts as abandoned when it has not changed for this long. */
  readonly quietMs: number;
}

/**
 * Delivers the segments of other incarnations. An incarnation may still be alive if its pod was force-deleted while it was writing,
 * so nothing may depend on the end of an incarnation. All segments of an incarnation except the last are finished. The last segment
 * is delivered as it is and marked with the delivered length. It is delivered again if it has grown, and removed when it has not
 * changed for long enough. Rows that are delivered twice have the same id.
 */
export class Orphans {
  readonly #options: OrphansOptions;
  /** Total bytes of the segments that existed at the last scan and have not been removed. */
  bytes = 0;
  damagedRecords = 0;

  constructor(options: OrphansOptions) {
    this.#options = options;
  }

  /** Sets `bytes` to the total size of the existing segments. */
  async scan(): Promise<void> {
    const sizes = await Promise.all((await this.#folders()).map(sizeOfFolder));
    this.bytes = sizes.reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Delivers one segment per step, oldest folders first. Ends when nothing is left to deliver or delivery gave up. */
  async *steps(): AsyncGenerator<void> {
    await this.scan();
    for (const folder of await this.#folders()) yield* this.#drain(folder);
  }

  async #folders(): Promise<string[]> {
    const { dir, ownFolder } = this.#options;
    const folders = (await namesIn(dir)).filter(isIncarnationName).map((name) => path.join(dir, name));
    return folders.filter((folder) => folder !== ownFolder);
  }

  async *#drain(folder: string): AsyncGenerator<void> {
    const drain = new FolderDrain({ ...this.#options, onRemoved: (bytes) => (this.bytes -= bytes) });
    const names = await namesIn(folder);
    const segments = names.filter(isSegmentName);
    const last = segments.at(-1);
    /** Files that may grow, with their delivered lengths. */
    const taken = new Map<string, number>();
    for (const name of segments) {
      const bytes = await drain.deliver(path.join(folder, name), { mayGrow: name === last });
      if (bytes === undefined) return;
      if (name === last) taken.set(name, bytes);
      yield;
    }
    for (const name of names) {
      const before = takenBytes(name);
      if (before === undefined) continue;
      const file = path.join(folder, name);
      const hasGrown = ((await statOf(file))?.size ?? 0) > before;
      const bytes = hasGrown ? await drain.deliver(file, { mayGrow: true }) : before;
      if (bytes === undefined) return;
      taken.set(name, bytes);
    }
    if (!(await drain.finish())) return;
    this.damagedRecords += drain.damagedRecords;
    for (const [name, bytes] of taken) await this.#settle(folder, name, bytes);
    await retire(folder);
  }

  /** Removes a delivered file, or records the delivered length in its name if the file has grown or may still grow. */
  async #settle(folder: string, name: string, bytes: number): Promise<void> {
    const file = path.join(folder, name);
    const found = await statOf(file);
    if (found === undefined) return;
    const isQuiet = Date.now() - found.mtimeMs > this.#options.quietMs;
    if (found.size > bytes || !isQuiet) {
      await rename(file, path.join(folder, takenName(name, bytes)));
    } else {
      await rm(file, { force: true });
      this.bytes -= bytes;
    }
  }
}

/** Renames an empty folder, so that a writer that is still alive cannot begin another segment there. */
const retire = async (folder: string): Promise<void> => {
  if ((await namesIn(folder)).length > 0) return;
  const drained = drainedName(folder);
  await rename(folder, drained);
  // The writer began a segment in the meantime.
  if ((await namesIn(drained)).length > 0) await rename(drained, folder);
};

const isNotFound = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** Returns the sorted names, or an empty array if the folder does not exist. */
const namesIn = async (folder: string): Promise<string[]> => {
  try {
    return (await readdir(folder)).sort();
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
};

const statOf = async (file: string): Promise<{ size: number; mtimeMs: number } | undefined> => {
  try {
    return await stat(file);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
};

const sizeOfFolder = async (folder: string): Promise<number> => {
  const stats = await Promise.all((await namesIn(folder)).map((name) => statOf(path.join(folder, name))));
  return stats.reduce((sum, found) => sum + (found?.size ?? 0), 0);
};
