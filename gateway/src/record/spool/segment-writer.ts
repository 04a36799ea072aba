import { open } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate as endOfTurn, setTimeout as delay } from 'node:timers/promises';
import { exponentialMs, type LogRow } from '@standin/contract';
import { mayHaveText } from '@standin/exchange/decode';
import { decodeRow, LOG_COLUMNS, putRow, RowBinaryReader } from '@standin/logstore';
import { OldestRequests } from '../../request/oldest-requests.ts';
import { CommitQueue, type CommitBatch } from './commit-queue.ts';
import {
  encodeHeader,
  FRAME_HEAD_BYTES,
  frameAt,
  HEADER_BYTES,
  newSegmentHeader,
  putFrameHead,
  type RecordType,
} from './segment-format.ts';
import type { SegmentShares } from './segment-shares.ts';
import type { AppendFile, SpoolDisk } from './spool-disk.ts';
import { segmentName } from './spool-folder.ts';

export interface SegmentWriterOptions {
  /** An existing, empty folder that only this process uses. */
  readonly folder: string;
  readonly disk: SpoolDisk;
  readonly isDurable: boolean;
  /** A segment is sealed before it exceeds this size, unless a single record is larger. */
  readonly segmentBytes: number;
  /** After this time without a write, nothing is added to a segment, because other processes may consider it abandoned. */
  readonly idleMsMax: number;
  /**
   * Counts bytes that wait for the disk. `change` is positive when they arrive, and negative when they are written or refused.
   */
  readonly onWaiting: (change: number) => void;
  readonly onWritten: (bytes: number) => void;
  /** Counts a new segment of this many bytes. */
  readonly newShares: (bytes: number) => SegmentShares;
  readonly onFailure: (error: unknown) => void;
  /** Called when the open segment gets its first record. */
  readonly onBegun: () => void;
  /** Called when records are acknowledged. */
  readonly onKept: () => void;
}

/** Where the row of a record is. */
export interface RecordPlace {
  readonly file: string;
  readonly start: number;
  readonly end: number;
}

/** A segment that is no longer written to. */
export interface SealedSegment {
  readonly file: string;
  readonly bytes: number;
  /** The `performance.now()` time of the first record. */
  readonly sinceMs: number;
  readonly oldest: OldestRequests;
  readonly shares: SegmentShares;
}

interface OpenSegment {
  readonly path: string;
  readonly file: AppendFile;
  /** The number of acknowledged bytes. */
  bytes: number;
  /**
   * The time of the last write, in milliseconds since the epoch. Unlike uptime, it also advances while the process or machine is
   * suspended.
   */
  writtenAtMs: number;
  /** The `performance.now()` time of the first record, or undefined if there is none. */
  sinceMs: number | undefined;
  readonly oldest: OldestRequests;
  readonly shares: SegmentShares;
}

/**
 * How long a commit waits while records keep arriving. A commit to disk costs as much CPU as several requests, and a busy gateway
 * commits twice as many records at a time if it waits.
 */
const GATHERING_MS_MAX = 1;
const RETRY_BACKOFF = { baseMs: 50, capMs: 2_000 };

/**
 * Appends records to segments by group commit: a single write covers all waiting records and then releases them. A failed write is
 * never repeated in its segment. The acknowledged records stay there, and the other records move to a new segment.
 */
export class SegmentWriter {
  readonly #options: SegmentWriterOptions;
  readonly #header = newSegmentHeader(LOG_COLUMNS.length);
  readonly #headerBytes = encodeHeader(this.#header);
  readonly #queue: CommitQueue;
  #segment: OpenSegment | undefined;
  #segmentNumber = 0;
  /** The requests of the waiting records. */
  #oldest = new OldestRequests();
  readonly #sealed: SealedSegment[] = [];
  /** The segment that is being sealed. */
  #sealing: OpenSegment | undefined;
  #running: Promise<void> | undefined;
  #sealWanted: PromiseWithResolvers<void> | undefined;
  #isClosed = false;
  readonly #closing = new AbortController();

  /** Whether the disk rejects writes. While it does, only responses to recorded requests wait for the disk. */
  isRefusing = false;
  commits = 0;
  failedCommits = 0;

  constructor(options: SegmentWriterOptions) {
    this.#options = options;
    this.#queue = new CommitQueue(options.segmentBytes);
  }

  /** The `performance.now()` time of the first record in the open segment, or undefined if it is empty. */
  get openSinceMs(): number | undefined {
    return this.#segment?.sinceMs;
  }

  /** Adds the requests of the records that `takeSealed` has not returned yet. */
  addOldest(to: OldestRequests): void {
    to.addAll(this.#oldest);
    for (const segment of [...this.#sealed, this.#sealing, this.#segment])
      if (segment !== undefined) to.addAll(segment.oldest);
  }

  /** The last file that may have acknowledged records. Files are in the order of their names. */
  get lastFile(): string {
    const isEmpty = this.#segment !== undefined && this.#segment.sinceMs === undefined;
    return this.#file(isEmpty ? this.#segmentNumber - 1 : this.#segmentNumber);
  }

  /** The first file with acknowledged records that `takeSealed` has not returned yet. Undefined if there is none. */
  get firstFile(): string | undefined {
    const [sealed] = this.#sealed;
    const begun = [this.#sealing, this.#segment].find((segment) => segment?.sinceMs !== undefined);
    return sealed?.file ?? begun?.path;
  }

  /** The files with acknowledged records that `takeSealed` has not returned yet, in order, and their size in bytes. */
  get untaken(): { readonly files: readonly string[]; readonly bytes: number } {
    const begun = [this.#sealing, this.#segment].flatMap((segment) =>
      segment?.sinceMs === undefined ? [] : [{ file: segment.path, bytes: segment.bytes }],
    );
    const all = [...this.#sealed, ...begun];
    return { files: all.map(({ file }) => file), bytes: all.reduce((sum, { bytes }) => sum + bytes, 0) };
  }

  takeSealed(): SealedSegment | undefined {
    return this.#sealed.shift();
  }

  /** Returns the row of a record. Returns undefined if something else is at its place, or if it is damaged. */
  async read({ file, start, end }: RecordPlace): Promise<LogRow | undefined> {
    const handle = await open(file);
    try {
      const frame = Buffer.allocUnsafeSlow(FRAME_HEAD_BYTES + end - start);
      const { bytesRead } = await handle.read(frame, 0, frame.length, start - FRAME_HEAD_BYTES);
      const isWhole = bytesRead === frame.length && frameAt(frame, 0, this.#header)?.end === frame.length;
      return isWhole ? decodeRow(new RowBinaryReader(frame.subarray(FRAME_HEAD_BYTES))) : undefined;
    } finally {
      await handle.close();
    }
  }

  /**
   * Resolves with true when the record of `rowBytes` is in a segment, and with false if it is not and never will be. A `response`
   * is refused only when the writer closes, because its request may have reached an upstream. Before the record of a request is
   * acknowledged, `onPlace` is called.
   */
  append(type: RecordType, row: LogRow, rowBytes: number, onPlace?: (place: RecordPlace) => void): Promise<boolean> {
    const mustBeKept = type === 'response';
    if (this.#isClosed || (this.isRefusing && !mustBeKept)) return Promise.resolve(false);
    const header = this.#header;
    const frameBytes = FRAME_HEAD_BYTES + rowBytes;
    const put = (block: Buffer, offset: number): void => {
      putRow(block, row, offset + FRAME_HEAD_BYTES);
      const isDecodable =
        mayHaveText(row.requestHeaders, row.requestBody) || mayHaveText(row.responseHeaders, row.responseBody);
      putFrameHead(block, offset, { header, type, mayHaveText: isDecodable, rowBytes });
    };
    this.#options.onWaiting(frameBytes);
    const ageMs = Math.max(row.requestUs, row.durationUs) / 1_000;
    this.#oldest.add(performance.now() - ageMs, row.projectUid, row.namespace);
    const onWritten =
      onPlace &&
      ((file: string, start: number): void =>
        onPlace({ file, start: start + FRAME_HEAD_BYTES, end: start + frameBytes }));
    const kept = this.#queue.add(frameBytes, put, mustBeKept, onWritten);
    this.#start();
    return kept;
  }

  /** Resolves when the records in the open segment are in a sealed segment. */
  seal(): Promise<void> {
    this.#sealWanted ??= Promise.withResolvers();
    this.#start();
    return this.#sealWanted.promise;
  }

  /** Checks whether the disk accepts writes again. */
  async probe(): Promise<void> {
    if (this.#running !== undefined || !this.isRefusing) return;
    const open = async () => {
      try {
        await this.#open();
        this.isRefusing = false;
      } catch {
        await this.#abandonSegment();
      }
    };
    this.#running = open().finally(() => this.#ended());
    await this.#running;
  }

  /** Writes the waiting records and seals the segment. Refuses later records. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.isRefusing) this.#closing.abort();
    await this.seal();
    while (this.#running !== undefined) await this.#running;
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => this.#ended());
  }

  #ended(): void {
    this.#running = undefined;
    if (!this.#queue.isEmpty || this.#sealWanted !== undefined) this.#start();
  }

  async #run(): Promise<void> {
    for (;;) {
      await this.#gather();
      const batch = this.#queue.take();
      const oldest = this.#oldest;
      if (this.#queue.isEmpty) this.#oldest = new OldestRequests();
      if (batch !== undefined) await this.#commit(batch, oldest);
      if (this.#sealWanted !== undefined && (!this.#isClosed || this.#queue.isEmpty)) await this.#sealWantedSegment();
      if (this.#queue.isEmpty) return;
    }
  }

  /** Resolves after the first turn of the event loop in which no record arrived, or after `GATHERING_MS_MAX`. */
  async #gather(): Promise<void> {
    const untilMs = performance.now() + GATHERING_MS_MAX;
    let rowCount: number;
    do {
      rowCount = this.#queue.rowCount;
      await endOfTurn();
    } while (this.#queue.rowCount > rowCount && performance.now() < untilMs);
  }

  async #sealWantedSegment(): Promise<void> {
    const wanted = this.#sealWanted;
    this.#sealWanted = undefined;
    await this.#sealSegment();
    wanted?.resolve();
  }

  async #commit(whole: CommitBatch, oldest: OldestRequests): Promise<void> {
    let batch: CommitBatch | undefined = whole;
    /**
     * Whether any attempt may have left bytes in a file. Such bytes are delivered as they are, regardless of the outcome of the
     * other attempts.
     */
    let mayRemain = false;
    for (let attempt = 0; batch !== undefined; attempt++) {
      try {
        const { file, start } = await this.#write(batch.rows, oldest);
        this.commits++;
        this.isRefusing = false;
        this.#options.onWaiting(-batch.rows.length);
        batch.settle(file, start);
        this.#options.onKept();
        if (attempt === 0) this.#queue.recycle(batch);
        return;
      } catch (error) {
        this.failedCommits++;
        this.#options.onFailure(error);
        if (!(await this.#abandonSegment())) mayRemain = true;
        // The first retry follows immediately, because it may succeed in a new segment.
        if (attempt > 0) batch = await this.#refuseAndWait(batch, mayRemain, attempt);
      }
    }
  }

  /**
   * Refuses the records that may be refused, both waiting ones and those in the batch. Does not refuse those in the batch if their
   * bytes may still be in a file. Resolves after a pause with the records to retry, or with undefined if there are none or the
   * writer closes.
   */
  async #refuseAndWait(batch: CommitBatch, mayRemain: boolean, attempt: number): Promise<CommitBatch | undefined> {
    this.isRefusing = true;
    for (const waiting of this.#queue.refuse()) this.#options.onWaiting(-waiting);
    const isOver = this.#isClosed || this.#closing.signal.aborted;
    const left = mayRemain ? batch : batch.refuse(isOver);
    this.#options.onWaiting((left?.rows.length ?? 0) - batch.rows.length);
    if (left === undefined || isOver) return undefined;
    const { signal } = this.#closing;
    await delay(exponentialMs(attempt, RETRY_BACKOFF), undefined, { signal }).catch(() => undefined);
    return left;
  }

  /** Resolves with the file to which the rows were appended, and their position in it. */
  async #write(rows: Buffer, oldest: OldestRequests): Promise<Omit<RecordPlace, 'end'>> {
    const { onBegun, onWritten } = this.#options;
    if (!this.#takes(rows.length)) await this.#sealSegment();
    const segment = this.#segment ?? (await this.#open());
    // Set before the write, because a write that fails may also leave records in the file.
    segment.oldest.addAll(oldest);
    const place = { file: segment.path, start: segment.bytes };
    await segment.file.append(rows);
    segment.bytes += rows.length;
    segment.shares.addFrames(rows);
    segment.writtenAtMs = Date.now();
    onWritten(rows.length);
    if (segment.sinceMs === undefined) {
      segment.sinceMs = performance.now();
      onBegun();
    }
    return place;
  }

  /** Returns whether this many bytes may be added to the open segment. */
  #takes(bytes: number): boolean {
    const { segmentBytes, idleMsMax } = this.#options;
    const segment = this.#segment;
    if (segment === undefined) return true;
    const isFull = segment.sinceMs !== undefined && segment.bytes + bytes > segmentBytes;
    return !isFull && Math.abs(Date.now() - segment.writtenAtMs) < idleMsMax;
  }

  #file(number: number): string {
    return path.join(this.#options.folder, segmentName(number));
  }

  async #open(): Promise<OpenSegment> {
    const { disk, isDurable, onWritten, newShares } = this.#options;
    this.#segmentNumber++;
    const file = this.#file(this.#segmentNumber);
    const handle = await disk.create(file, { isDurable });
    const empty = { bytes: 0, writtenAtMs: Date.now(), sinceMs: undefined, oldest: new OldestRequests() };
    const segment: OpenSegment = { path: file, file: handle, shares: newShares(HEADER_BYTES), ...empty };
    this.#segment = segment;
    await handle.append(this.#headerBytes);
    segment.bytes = HEADER_BYTES;
    onWritten(HEADER_BYTES);
    return segment;
  }

  /** Seals the segment. With `isClean`, the file contains the acknowledged records and nothing else. */
  async #sealSegment(isClean = true): Promise<void> {
    const segment = this.#segment;
    if (segment === undefined) return;
    this.#segment = undefined;
    this.#sealing = segment;
    const { onFailure, onWritten, disk } = this.#options;
    await segment.file.close().catch(onFailure);
    this.#sealing = undefined;
    if (segment.sinceMs !== undefined || !isClean) {
      const { path: file, bytes, sinceMs = performance.now(), oldest, shares } = segment;
      shares.complete();
      this.#sealed.push({ file, bytes, sinceMs, oldest, shares });
    } else {
      await disk.remove(segment.path).catch(onFailure);
      segment.shares.free();
      onWritten(-segment.bytes);
    }
  }

  /** Ends the segment after its last acknowledged record. Returns false if bytes of a failed write may remain in the file. */
  async #abandonSegment(): Promise<boolean> {
    const segment = this.#segment;
    if (segment === undefined) return true;
    const isUndone = await segment.file.truncate(segment.bytes).then(
      () => true,
      () => false,
    );
    await this.#sealSegment(isUndone);
    // Calls that wait for the seal must not wait for the disk.
    this.#sealWanted?.resolve();
    this.#sealWanted = undefined;
    return isUndone;
  }
}
