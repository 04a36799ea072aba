import type { BigIntStats } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { SourceError } from '@standin/contract';
import { decodeManifest } from '@standin/crds';

const EXTENSIONS = ['.yaml', '.yml', '.json'];
/** Directories that users edit are smaller than this limit. A larger directory is probably the wrong one. */
export const MANIFEST_FILES_MAX = 20_000;
/** This is far more than a manifest needs. The largest part of a manifest is a mock body, which is below 200 kB. */
const FILE_BYTES_MAX = 16 * 1024 * 1024;

const STATS_AT_ONCE = 32;

/** A string that changes whenever the content of a file may have changed. */
export type Fingerprint = string;

export interface FolderScan {
  /** The files, sorted by name. Each path is relative and uses `/`. */
  readonly files: readonly { readonly file: string; readonly fingerprint: Fingerprint }[];
  /** Whether a file that the scan had found was renamed or removed before the scan ended. */
  readonly isMoving: boolean;
  readonly tooMany: boolean;
}

/** The error for a directory that does not exist. The directory may return with its content. */
export class FolderGoneError extends Error {
  override readonly name = 'FolderGoneError';
}

/** Finds and reads the files in a directory of manifests. */
export class ManifestFolder {
  readonly path: string;
  readonly #dataDir: string | undefined;

  /** @param dataDir the data folder, which is ignored if it is inside `path`. Undefined if `path` is part of the data folder. */
  constructor(path: string, dataDir: string | undefined) {
    this.path = resolve(path);
    this.#dataDir = dataDir === undefined ? undefined : resolve(dataDir);
  }

  /**
   * Returns true for the data folder, `node_modules`, and hidden files and folders, which include the temporary files that the
   * operator leaves next to manifests.
   */
  ignores(path: string): boolean {
    const absolute = resolve(this.path, path);
    if (this.#dataDir !== undefined && `${absolute}${sep}`.startsWith(this.#dataDir + sep)) return true;
    const parts = relative(this.path, absolute).split(sep);
    return parts.some((part) => (part.startsWith('.') && part !== '.' && part !== '..') || part === 'node_modules');
  }

  isManifest(name: string): boolean {
    // Temporary files of editors, such as `a.yaml~`, `#a.yaml#`, `4913` and `a.yaml.swp`, have other endings.
    return EXTENSIONS.some((extension) => name.endsWith(extension));
  }

  /** Rejects with `SourceError` if the directory cannot be read or is in the data folder. The one-line message says what to do. */
  async check(): Promise<void> {
    if (this.#dataDir !== undefined && `${this.path}${sep}`.startsWith(this.#dataDir + sep)) {
      throw new SourceError(
        'Invalid',
        `the manifests cannot be in the data folder ${this.#dataDir}; choose another directory`,
      );
    }
    try {
      await readdir(this.path);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') throw new SourceError('NotFound', `the directory ${this.path} does not exist`);
      if (code === 'ENOTDIR') throw new SourceError('Invalid', `${this.path} is a file; specify its directory`);
      throw new SourceError('Forbidden', `cannot read the directory ${this.path}: ${code ?? String(error)}`);
    }
  }

  /**
   * Resolves with the identity of the directory, which changes when another directory replaces it. Rejects with `FolderGoneError`.
   */
  async identity(): Promise<string> {
    try {
      const { dev, ino, birthtimeNs } = await stat(this.path, { bigint: true });
      return `${dev}:${ino}:${birthtimeNs}`;
    } catch (error) {
      throw new FolderGoneError(`cannot read the directory ${this.path}`, { cause: error });
    }
  }

  /** Finds the manifests, at most `MANIFEST_FILES_MAX`. Rejects with `FolderGoneError`. */
  async scan(): Promise<FolderScan> {
    const found: string[] = [];
    await this.#walk('', found);
    found.sort();
    const tooMany = found.length > MANIFEST_FILES_MAX;
    const files: { file: string; fingerprint: Fingerprint }[] = [];
    let isMoving = false;
    for (let start = 0; start < Math.min(found.length, MANIFEST_FILES_MAX); start += STATS_AT_ONCE) {
      const batch = found.slice(start, Math.min(start + STATS_AT_ONCE, MANIFEST_FILES_MAX));
      const fingerprints = await Promise.all(batch.map((file) => this.fingerprint(file)));
      batch.forEach((file, index) => {
        const fingerprint = fingerprints[index];
        if (fingerprint === undefined) isMoving = true;
        else files.push({ file, fingerprint });
      });
    }
    return { files, isMoving, tooMany };
  }

  /** Resolves with the file's fingerprint, or with undefined if there is no such file, or if it is a broken link. */
  async fingerprint(file: string): Promise<Fingerprint | undefined> {
    const stats = await stat(join(this.path, file), { bigint: true }).catch(() => undefined);
    return stats?.isFile() === true ? fileFingerprint(stats) : undefined;
  }

  /** Resolves with the file's text. Rejects with the file system's error, with `ManifestEncodingError`, or if the file is far too large. */
  async read(file: string): Promise<string> {
    const handle = await open(join(this.path, file), 'r');
    try {
      const { size } = await handle.stat();
      if (size > FILE_BYTES_MAX) throw new Error(`larger than ${FILE_BYTES_MAX} bytes`);
      return decodeManifest(await handle.readFile());
    } finally {
      await handle.close();
    }
  }

  async #walk(folder: string, found: string[]): Promise<void> {
    let entries;
    try {
      entries = await readdir(join(this.path, folder), { withFileTypes: true });
    } catch (error) {
      if (folder === '') throw new FolderGoneError(`cannot read the directory ${this.path}`, { cause: error });
      // The folder was removed during the scan.
      return;
    }
    for (const entry of entries) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (this.ignores(path)) continue;
      if (entry.isDirectory()) await this.#walk(path, found);
      // Follows links to files, because ConfigMap volumes consist of them. Does not follow links to directories, which can form
      // loops.
      else if (this.isManifest(entry.name)) found.push(path);
    }
  }
}

const fileFingerprint = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): Fingerprint =>
  [dev, ino, size, mtimeNs, ctimeNs].join(':');
