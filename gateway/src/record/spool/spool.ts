import path from 'node:path';
import { errorMessage, type LogRow } from '@standin/contract';
import { rowSize } from '@standin/logstore';
import type { Logger } from 'pino';
import type { ByteBudget } from '../../request/byte-budget.ts';
import type { OldestRequests } from '../../request/oldest-requests.ts';
import type { Recorder } from '../recorder.ts';
import { rowId } from '../row-id.ts';
import { DiskGuard } from './disk-guard.ts';
import { SegmentShares } from './segment-shares.ts';
import { FolderLock, removeRetired } from './folder-lock.ts';
import { SegmentWriter, type RecordPlace, type SealedSegment } from './segment-writer.ts';
import { nodeDisk, type SpoolDisk } from './spool-disk.ts';

export interface SpoolOptions {
  /** The folder that contains the folders of all incarnations (gateway processes). */
  readonly dir: string;
  /** With `disk`, a record survives a power failure. With `process`, a record survives any end of the process. */
  readonly durability: 'disk' | 'process';
  readonly bytesMax: number;
  readonly segmentBytes: number;
  readonly reserveBytes: number;
  /** How long a segment must be unchanged before other processes consider it abandoned. */
  readonly quietMs: number;
  /** The memory budget for records that wait for the disk. */
  readonly budget: ByteBudget;
  readonly logger: Logger;
  readonly disk?: SpoolDisk;
}

interface BegunRequest {
  /** Where its record is. */
  readonly place: RecordPlace;
  /** Where its record may be already. */
  next?: RecordPlace;
}

const CHECK_INTERVAL_MS = 1_000;
/** How often to log that a namespace has used up its share. */
const SHARE_REPORT_MS = 60_000;
/** The disk does not respond if no write has ended in so many intervals, although records wait. */
const STALLED_INTERVALS = 5;
/** A process that drains the spool can lock a new folder before its owner does, but hardly several times in a row. */
const LOCK_ATTEMPTS_MAX = 3;
/** A record can move during a read, but hardly several times in a row. */
const READ_ATTEMPTS_MAX = 3;
const NO = Promise.resolve(false);

/** Creates this incarnation's folder and locks it. */
const createOwnFolder = async ({
  dir,
  disk = nodeDisk,
}: SpoolOptions): Promise<{ folder: string; lock: FolderLock }> => {
  for (let attempt = 1; attempt <= LOCK_ATTEMPTS_MAX; attempt++) {
    const folder = path.join(dir, rowId(Date.now()));
    await disk.createFolder(folder);
    const lock = FolderLock.take(folder);
    if (lock !== undefined) return { folder, lock };
  }
  throw new Error('its files cannot be locked. Use a file system that supports fcntl locks');
};

/**
 * Keeps accepted requests on disk until ClickHouse has them (see README.md). Each process is an incarnation, which writes into its
 * own folder and never into the folder of an earlier process, which may still be writing.
 */
export class Spool implements Recorder {
  readonly dir: string;
  /** This incarnation's folder. */
  readonly folder: string;
  readonly guard: DiskGuard;
  /** Whether records survive a power failure. */
  readonly isDurable: boolean;
  readonly #lock: FolderLock;
  readonly #budget: ByteBudget;
  readonly #writer: SegmentWriter;
  readonly #logger: Logger;
  /** The recorded requests that wait for their response, by id. */
  readonly #begun = new Map<string, BegunRequest>();
  readonly #timer: NodeJS.Timeout;
  #wasFailing = false;
  #hadRoom = true;
  /** `performance.now()` */
  #nextShareReportMs = 0;
  #checking: Promise<void> | undefined;
  /** The number of writes that had ended at the last check. */
  #endedWrites = 0;
  #stalledIntervals = 0;
  #onBegun: () => void = () => undefined;
  #onKept: () => void = () => undefined;

  private constructor(
    { folder, lock }: { readonly folder: string; readonly lock: FolderLock },
    { dir, budget, logger, durability, segmentBytes, quietMs, ...options }: SpoolOptions,
  ) {
    const disk = options.disk ?? nodeDisk;
    this.dir = dir;
    this.folder = folder;
    this.isDurable = durability === 'disk';
    this.#lock = lock;
    this.#budget = budget;
    this.#logger = logger;
    const { bytesMax, reserveBytes } = options;
    this.guard = new DiskGuard({ folder: dir, disk, bytesMax, reserveBytes });
    this.#writer = new SegmentWriter({
      folder,
      disk,
      isDurable: this.isDurable,
      segmentBytes,
      idleMsMax: quietMs / 2,
      onWaiting: (change) => (change > 0 ? budget.addRow(change) : budget.freeRows(-change)),
      onWritten: (bytes) => this.guard.wrote(bytes),
      newShares: (bytes) => new SegmentShares(this.guard.pool, bytes),
      onFailure: (error) => this.#failed(error),
      onBegun: () => this.#onBegun(),
      onKept: () => this.#onKept(),
    });
    this.#timer = setInterval(() => void this.checkDisk(), CHECK_INTERVAL_MS).unref();
  }

  /** Rejects if the folder cannot be created or locked, or the disk does not respond. */
  static async open(options: SpoolOptions): Promise<Spool> {
    const own = await createOwnFolder(options).catch((error: unknown) => {
      const reason = errorMessage(error);
      throw new Error(`cannot use the spool folder ${options.dir}: ${reason}`, { cause: error });
    });
    const spool = new Spool(own, options);
    await spool.guard.refresh();
    spool.#logRoom();
    return spool;
  }

  /** Identifies this process among all that have used this spool. */
  get incarnation(): string {
    return path.basename(this.folder);
  }

  get isFull(): boolean {
    return this.#writer.isRefusing || this.#isStalled || !this.guard.hasRoomFor(0);
  }

  get commits(): number {
    return this.#writer.commits;
  }

  get failedCommits(): number {
    return this.#writer.failedCommits;
  }

  admits(namespace: string): boolean {
    if (this.guard.hasShareFor(namespace)) return true;
    const nowMs = performance.now();
    if (nowMs >= this.#nextShareReportMs) {
      this.#nextShareReportMs = nowMs + SHARE_REPORT_MS;
      this.#logger.warn({ namespace, folder: this.folder }, 'share of the spool used up, rejecting requests with 503');
    }
    return false;
  }

  request(row: LogRow): Promise<boolean> {
    const rowBytes = rowSize(row);
    if (!this.#hasRoomFor(rowBytes, row)) return NO;
    return this.#writer.append('request', row, rowBytes, (place) => this.#begun.set(row.id, { place }));
  }

  async requestBody(id: string): Promise<Uint8Array> {
    for (let attempt = 1; attempt <= READ_ATTEMPTS_MAX; attempt++) {
      const { place, next } = this.#begun.get(id) ?? {};
      for (const known of [place, next]) {
        const row = known && (await this.#writer.read(known));
        if (row?.id === id) return row.requestBody;
      }
    }
    throw new Error('the record of a request in progress cannot be read');
  }

  /** Delivery is moving the record of a request. Until `moved`, it can be at either place. */
  moving(id: string, next: RecordPlace): void {
    const begun = this.#begun.get(id);
    if (begun !== undefined) begun.next = next;
  }

  moved(id: string): void {
    const { next } = this.#begun.get(id) ?? {};
    if (next !== undefined) this.#begun.set(id, { place: next });
  }

  exchange(row: LogRow): Promise<boolean> {
    const rowBytes = rowSize(row);
    if (this.#begun.size > 0 && this.#begun.delete(row.id)) return this.#writer.append('response', row, rowBytes);
    if (!this.#hasRoomFor(rowBytes, row)) return NO;
    return this.#writer.append('exchange', row, rowBytes);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writer.close();
  }

  /**
   * Leaves the folder to other processes. With `isSettled`, removes it first if everything in it is delivered. Call this after
   * `close`, when this process needs neither the records nor their permits.
   */
  async leave({ isSettled }: { readonly isSettled: boolean }): Promise<void> {
    try {
      const retired = isSettled ? await this.#lock.retire() : undefined;
      if (retired !== undefined) await removeRetired(retired);
    } catch (error) {
      this.#logger.info({ err: error, folder: this.folder }, 'could not remove the spool folder');
    } finally {
      this.#lock.release();
    }
  }

  /** Sets the callback for the first record in an empty segment, which must be delivered within a flush interval. */
  onBegun(callback: () => void): void {
    this.#onBegun = callback;
  }

  /** Sets the callback for the records of each write, which are now kept. */
  onKept(callback: () => void): void {
    this.#onKept = callback;
  }

  /** The `performance.now()` time of the first record in the open segment, or undefined if it is empty. */
  get openSinceMs(): number | undefined {
    return this.#writer.openSinceMs;
  }

  /** Adds the requests of the records that `takeSealed` has not returned yet. */
  addOldest(to: OldestRequests): void {
    this.#writer.addOldest(to);
  }

  /** See `SegmentWriter.lastFile`. */
  get lastFile(): string {
    return this.#writer.lastFile;
  }

  /** See `SegmentWriter.firstFile`. */
  get firstFile(): string | undefined {
    return this.#writer.firstFile;
  }

  /** See `SegmentWriter.untaken`. */
  get untaken(): SegmentWriter['untaken'] {
    return this.#writer.untaken;
  }

  /** Seals the open segment, unless it is empty. */
  seal(): Promise<void> {
    return this.#writer.seal();
  }

  /** Returns the next segment to deliver. Each segment is returned once, in the order in which they were written. */
  takeSealed(): SealedSegment | undefined {
    return this.#writer.takeSealed();
  }

  get #isStalled(): boolean {
    return this.#stalledIntervals >= STALLED_INTERVALS;
  }

  /** Checks again whether the disk has room and accepts writes. Called once in each interval. */
  checkDisk(): Promise<void> {
    const ended = this.commits + this.failedCommits;
    const isWaiting = this.#budget.unrecordedBytes > 0 && ended === this.#endedWrites;
    this.#stalledIntervals = isWaiting ? this.#stalledIntervals + 1 : 0;
    this.#endedWrites = ended;
    this.#logRoom();
    // A check of a disk that does not respond occupies a thread until it does.
    this.#checking ??= this.#check().finally(() => (this.#checking = undefined));
    return this.#checking;
  }

  async #check(): Promise<void> {
    await this.guard.refresh().catch((error: unknown) => this.#failed(error));
    this.#logRoom();
    if (!this.#writer.isRefusing) this.#wasFailing = false;
    else await this.#writer.probe();
  }

  /** Logs one message when requests begin to be refused for lack of room, and one message when there is room again. */
  #logRoom(): void {
    const hasRoom = !this.#isStalled && this.guard.hasRoomFor(0);
    if (hasRoom === this.#hadRoom) return;
    this.#hadRoom = hasRoom;
    if (hasRoom) this.#logger.info({ folder: this.folder }, 'spool has room again');
    else
      this.#logger.warn(
        { folder: this.folder, reason: this.#isStalled ? this.#stall : this.guard.shortage },
        'spool full, rejecting requests with 503',
      );
  }

  get #stall(): string {
    const seconds = (STALLED_INTERVALS * CHECK_INTERVAL_MS) / 1_000;
    return `the disk that holds ${this.dir} has completed no write for ${seconds} s: check the disk`;
  }

  #hasRoomFor(rowBytes: number, row: LogRow): boolean {
    // This sum includes the records that wait for the disk.
    const bytes = this.#budget.unrecordedBytes + rowBytes;
    const copiedBytes = row.requestBody.length + row.responseBody.length;
    return !this.#isStalled && this.guard.hasRoomFor(bytes) && this.#budget.hasRoomForRow(rowBytes, copiedBytes);
  }

  #failed(error: unknown): void {
    if (this.#wasFailing) return;
    this.#wasFailing = true;
    this.#logger.error({ err: error, folder: this.folder }, 'could not write to the spool');
  }
}
