import { errorMessage, SharedPool } from '@standin/contract';
import type { SpoolDisk } from './spool-disk.ts';

/** One namespace can have four fifths of the disk, because many installations have only one. Two can have four ninths each. */
const SHARE_FACTOR = 4;

export interface DiskGuardOptions {
  readonly folder: string;
  readonly disk: SpoolDisk;
  /** The maximum size of the spool. */
  readonly bytesMax: number;
  /** How much of the disk stays free for responses to requests that were accepted before the disk filled up. */
  readonly reserveBytes: number;
}

/** Decides whether there is room for more records, both within the spool's own limit and on its disk. */
export class DiskGuard {
  readonly #options: DiskGuardOptions;
  #freeBytes = 0;
  /** The error of the last check. Undefined if the disk responded. */
  #failure: unknown;
  /** What the spool may use of the disk, of which segments take a part (see `SegmentShares`). */
  readonly pool: SharedPool;

  constructor(options: DiskGuardOptions) {
    this.#options = options;
    this.pool = new SharedPool(options.bytesMax, SHARE_FACTOR);
  }

  /** Free bytes at the last check, minus the bytes written since. */
  get freeBytes(): number {
    return this.#freeBytes;
  }

  /** Bytes in all segments. */
  get storedBytes(): number {
    return this.pool.used;
  }

  hasRoomFor(bytes: number): boolean {
    const { bytesMax, reserveBytes } = this.#options;
    return this.storedBytes + bytes <= bytesMax && this.#freeBytes - bytes >= reserveBytes;
  }

  /** Returns whether a namespace may store more requests. If there is no room at all, its share is not the reason. */
  hasShareFor(namespace: string): boolean {
    return this.pool.used >= this.pool.capacity || this.pool.admits(namespace);
  }

  /** The reason why there is no room, as shown to users. */
  get shortage(): string {
    const { bytesMax, reserveBytes, folder } = this.#options;
    if (this.#failure !== undefined)
      return `the folder ${folder} cannot be used (${errorMessage(this.#failure)}): restore it, and restart the gateway`;
    return bytesMax - this.storedBytes <= this.#freeBytes - reserveBytes
      ? `the spool has reached its limit of ${mib(bytesMax)}: check that ClickHouse accepts rows`
      : `the disk that holds ${folder} has ${mib(this.#freeBytes)} free, but ${mib(reserveBytes)} must stay free: delete other files, or use a larger disk`;
  }

  wrote(bytes: number): void {
    this.#freeBytes -= bytes;
  }

  /** Reads the free bytes again. Rejects if the disk does not respond, in which case there is no room. */
  async refresh(): Promise<void> {
    const { disk, folder, bytesMax, reserveBytes } = this.#options;
    try {
      this.#freeBytes = await disk.freeBytes(folder);
      this.#failure = undefined;
    } catch (error) {
      this.#freeBytes = 0;
      this.#failure = error;
      throw error;
    } finally {
      this.pool.capacity = Math.max(0, Math.min(bytesMax, this.storedBytes + this.#freeBytes - reserveBytes));
    }
  }
}

const mib = (bytes: number): string => `${Math.floor(Math.max(bytes, 0) / (1024 * 1024))} MiB`;
