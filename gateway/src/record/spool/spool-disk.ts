import { constants, write } from 'node:fs';
import { mkdir, open, rm, statfs } from 'node:fs/promises';
import path from 'node:path';

/** A file to which the spool appends records. */
export interface AppendFile {
  /**
   * Resolves when all bytes are in the file, or on disk if the file is durable. After a rejection, it is unknown which bytes were
   * written, because the kernel drops a page that it could not write and reports the next attempt as a success
   * (https://lwn.net/Articles/752063/). Never append after a rejection.
   */
  append(bytes: Uint8Array): Promise<void>;
  /** Removes everything after the first `bytes` bytes. */
  truncate(bytes: number): Promise<void>;
  close(): Promise<void>;
}

/** The part of a file system that the spool writer needs. Tests inject faults here. */
export interface SpoolDisk {
  /** Creates the folder and its parents. Resolves when its name is on disk. */
  createFolder(folder: string): Promise<void>;
  /** Creates a file that must not exist yet. Resolves when its name is on disk, if the file is durable. */
  create(file: string, options: { readonly isDurable: boolean }): Promise<AppendFile>;
  /** Removes the file. Does not fail if the file does not exist. */
  remove(file: string): Promise<void>;
  /** Returns how many bytes this process may still write below the folder. */
  freeBytes(folder: string): Promise<number>;
}

const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/** Resolves with the number of written bytes. At thousands of writes per second, `FileHandle.write` costs noticeably more. */
const writeAt = (fd: number, bytes: Uint8Array, position: number): Promise<number> =>
  new Promise((resolve, reject) => {
    write(fd, bytes, 0, bytes.length, position, (error, bytesWritten) => {
      if (error === null) resolve(bytesWritten);
      else reject(error);
    });
  });

/** The machine's file system. */
export const nodeDisk: SpoolDisk = {
  async createFolder(folder) {
    const first = await mkdir(folder, { recursive: true, mode: 0o700 });
    if (first === undefined) return;
    for (let made = path.resolve(folder); ; made = path.dirname(made)) {
      await syncFolder(path.dirname(made));
      if (made === path.resolve(first)) return;
    }
  },

  async create(file, { isDurable }) {
    // With O_DSYNC, each write is on disk when it returns, which takes one system call less than write and fdatasync.
    const flags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | (isDurable ? constants.O_DSYNC : 0);
    const handle = await open(file, flags, 0o600);
    try {
      if (isDurable) await syncFolder(path.dirname(file));
    } catch (error) {
      await handle.close();
      throw error;
    }
    let end = 0;
    return {
      async append(bytes) {
        for (let at = 0; at < bytes.length;) at += await writeAt(handle.fd, bytes.subarray(at), end + at);
        end += bytes.length;
      },
      async truncate(bytes) {
        await handle.truncate(bytes);
        end = bytes;
      },
      close: () => handle.close(),
    };
  },

  remove: (file) => rm(file, { force: true }),

  async freeBytes(folder) {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  },
};
