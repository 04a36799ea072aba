import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { LOG_COLUMNS } from '@standin/logstore';
import { replaceFile } from '@standin/process/replace-file';
import type { Logger } from 'pino';
import { OldestRequests } from '../request/oldest-requests.ts';
import { FRAME_HEAD_BYTES } from '../record/spool/segment-format.ts';
import type { SegmentShares } from '../record/spool/segment-shares.ts';
import type { RecordPlace } from '../record/spool/segment-writer.ts';
import type { Inserter } from './inserter.ts';
import type { Quarantine } from './quarantine.ts';
import {
  inProgressBatch,
  readCompacted,
  readRequests,
  readSegment,
  type Damage,
  type RequestRecord,
  type SegmentContent,
  type StoredBatch,
} from './read-segment.ts';

export interface FolderDrainOptions {
  readonly inserter: Inserter;
  readonly quarantine: Quarantine;
  readonly logger: Logger;
  /** Whether a compacted segment survives a power failure. Default: true. */
  readonly isDurable?: boolean;
  /** Called before the record of a request without a response moves in its segment, and when it has moved. */
  readonly onMoving?: (id: string, next: RecordPlace) => void;
  readonly onMoved?: (id: string) => void;
}

interface DeliveredSegment {
  readonly shares: SegmentShares;
  /** Whether the segment's writer may still be alive. If so, the file stays. */
  readonly mayGrow: boolean;
  /** The segment's requests whose responses have not been found. */
  readonly requests: Map<string, RequestRecord>;
  /** The number of these requests by the uid of their project. */
  readonly counts: Map<string, number>;
  /** What these requests take of the segment. */
  requestBytes: number;
  /** Whether the log shows these requests as in progress. */
  isShown: boolean;
  /** The requests that the next process would deliver from the file. */
  readonly oldest: OldestRequests;
}

interface DeliverOptions {
  /** Freed when the file is removed. */
  readonly shares: SegmentShares;
  /** A segment that may grow is not removed. */
  readonly mayGrow?: boolean;
  /** How much of the file was written successfully, if known. A failed write may have left more, which no response depends on. */
  readonly acknowledgedBytes?: number;
  /** The segment's requests, and when the first one was recorded. With them, the segment is compacted if it must stay for long. */
  readonly oldest?: OldestRequests | undefined;
  readonly sinceMs?: number | undefined;
}

const READ_AGAIN_MS = 1_000;
/**
 * Most requests have a response by then, and their segment is simply removed. The others are shown in the log as in progress, and only
 * they stay in the segment. Less than two seconds after the first record, because settled reads wait for it.
 */
const COMPACT_AFTER_MS = 1_750;
/** Their responses may be in the next segments, which follow soon, also after an outage. */
const COMPACT_AFTER_DELIVERY_MS = 1_000;
/** The largest buffer that is kept for the next segment. */
const SPARE_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Delivers the segments of one incarnation (one gateway process) in the order in which they were written. A segment always results
 * in the same batch with the same token, because the token derives from the segment's name and bytes. A segment is removed when
 * ClickHouse has its exchanges and a response was found for every request in it, so the files themselves record the progress.
 * Removing or delivering a segment twice is harmless, unless a Purge has deleted its rows in the meantime and ClickHouse has
 * forgotten its token. So if a request in it takes long, the delivered exchanges are removed from the file. The request itself stays
 * there, because the next process must end it if this one is killed.
 */
export class FolderDrain {
  readonly #options: FolderDrainOptions;
  readonly #held = new Map<string, DeliveredSegment>();
  /**
   * The segments that contain each request. There are several after a write that failed and could not be undone, because its records
   * stay in their segment and are written again to another one.
   */
  readonly #segmentsByRequest = new Map<string, string[]>();
  /** When the next attempt is due to compact or remove a segment (a time of `performance.now()`). */
  readonly #compactAtMs = new Map<string, number>();
  #spare: Buffer | undefined;

  damagedRecords = 0;
  /** Whether segments of a newer format were left. */
  hasSkipped = false;

  constructor(options: FolderDrainOptions) {
    this.#options = options;
  }

  /**
   * Resolves with the file size when the segment's exchanges are in ClickHouse or in quarantine, and with undefined if delivery
   * gave up. Resolves with 0 if there is nothing to deliver, because another process has delivered and removed the file or because
   * the file has a newer format.
   */
  async deliver(
    file: string,
    { shares, mayGrow = false, acknowledgedBytes, oldest, sinceMs }: DeliverOptions,
  ): Promise<number | undefined> {
    const content = await this.#read(file);
    if (content === 'gone') return 0;
    if (content === undefined) return undefined;
    if (content.exchanges.columnCount > LOG_COLUMNS.length) {
      this.#options.logger.error({ file }, 'log segment has a newer format, leaving it for a newer version');
      this.hasSkipped = true;
      return 0;
    }
    for (const damage of content.damage) await this.#note(file, damage, acknowledgedBytes);
    const { failedAttempts } = this.#options.inserter;
    if (!(await this.#options.inserter.insert(segmentBatch(file, content)))) return undefined;
    // After a failed attempt, the memory is not reused, because the attempt may still be reading it.
    const isUnread = failedAttempts === this.#options.inserter.failedAttempts;
    this.#spare = isUnread ? reusable(content) : undefined;
    this.#hold(file, content.requests, { shares, mayGrow, oldest, sinceMs });
    for (const idKey of content.respondedKeys) await this.#responded(idKey);
    await this.#removeIfDone(file);
    return content.bytes;
  }

  /** When `compact` has something to do. Infinity if it has nothing to do. */
  get compactAtMs(): number {
    return Math.min(...this.#compactAtMs.values());
  }

  /** Adds the requests that the next process would deliver from the segments that are still on disk. */
  addOldest(to: OldestRequests): void {
    for (const { oldest } of this.#held.values()) to.addAll(oldest);
  }

  /** Whether a delivered file up to `lastFile` has a request of the project (or of any) that is in the log in no version yet. */
  hasUnshown(projectUid: string | undefined, lastFile: string): boolean {
    for (const [file, { isShown, requests, counts }] of this.#held) {
      const count = projectUid === undefined ? requests.size : (counts.get(projectUid) ?? 0);
      if (!isShown && count > 0 && file <= lastFile) return true;
    }
    return false;
  }

  /** The requests of delivered files that are in the log in no version yet, by their file. */
  get unshown(): ReadonlyMap<string, ReadonlyMap<string, RequestRecord>> {
    const all = [...this.#held].filter(([, { isShown, requests }]) => !isShown && requests.size > 0);
    return new Map(all.map(([file, { requests }]) => [file, new Map(requests)]));
  }

  /**
   * Shows the requests without a response of one delivered segment in the log, and replaces the segment by a file that contains only
   * them. Returns false if no segment has waited long enough.
   */
  async compact(): Promise<boolean> {
    const { compactAtMs } = this;
    if (compactAtMs > performance.now()) return false;
    const [file = ''] = [...this.#compactAtMs].find(([, atMs]) => atMs === compactAtMs) ?? [];
    this.#compactAtMs.delete(file);
    const held = this.#held.get(file);
    if (held === undefined) return true;
    try {
      if (held.requests.size === 0) await this.#removeIfDone(file);
      else await this.#compact(file, held);
    } catch (error) {
      this.#options.logger.error({ err: error, file }, 'could not compact a delivered log segment, retrying');
      this.#compactLater(file);
    }
    return true;
  }

  async #compact(file: string, held: DeliveredSegment): Promise<void> {
    const compacted = await readCompacted(file, held.requests);
    if (compacted === undefined) {
      this.#leave(file, held);
      return;
    }
    const { content, requests, rows } = compacted;
    if (!held.isShown && !(await this.#insertAll(await inProgressBatch(compacted)))) return;
    held.isShown = true;
    for (const [index, { id }] of rows.entries()) {
      const { start = 0, end = 0 } = requests[index] ?? {};
      this.#options.onMoving?.(id, { file, start, end });
    }
    await replaceFile(file, content, { mode: 0o600, isDurable: this.#options.isDurable ?? true });
    this.#held.set(file, {
      ...held,
      requests: new Map(requests.map((request) => [request.idKey, request])),
      counts: countProjects(requests),
      requestBytes: sumBytes(requests),
      oldest: held.oldest.of(new Set(requests.map(({ projectUid }) => projectUid))),
    });
    for (const { id } of rows) this.#options.onMoved?.(id);
    held.shares.replace(content);
  }

  /** Returns false if delivery gave up. */
  #insertAll(batch: StoredBatch): Promise<boolean> {
    const token = createHash('sha256').update(batch.rows).digest('hex');
    return this.#options.inserter.insert({ ...batch, token });
  }

  #compactLater(file: string, recordedMs = performance.now()): void {
    const atMs = Math.max(recordedMs + COMPACT_AFTER_MS, performance.now() + COMPACT_AFTER_DELIVERY_MS);
    this.#compactAtMs.set(file, atMs);
  }

  /**
   * Turns requests for which no response was found into rows without a response. If a process that is still alive stores a response
   * later, that row has a higher version and replaces this one. Returns false if delivery gave up.
   */
  async finish(): Promise<boolean> {
    for (const [file, held] of [...this.#held]) {
      const { requests } = held;
      const batch = requests.size === 0 ? undefined : await readRequests(file, requests);
      if (batch !== undefined && !(await this.#insertAll(batch))) return false;
      for (const idKey of requests.keys()) this.#segmentsByRequest.delete(idKey);
      if (requests.size > (batch?.ends.length ?? 0)) {
        this.#leave(file, held);
        continue;
      }
      requests.clear();
      await this.#removeIfDone(file);
    }
    return true;
  }

  /** Returns undefined if delivery gave up. */
  async #read(file: string): Promise<SegmentContent | 'gone' | undefined> {
    const signal = this.#options.inserter.hasGivenUp;
    while (!signal.aborted) {
      try {
        return (await readSegment(file, this.#spare)) ?? 'gone';
      } catch (error) {
        this.#options.logger.error({ err: error, file }, 'could not read a log segment, retrying');
        await delay(READ_AGAIN_MS, undefined, { signal }).catch(() => undefined);
      }
    }
    return undefined;
  }

  /**
   * Keeps damaged bytes for an administrator. Skips those of a write that was not completed: its records are in a later segment, or
   * their requests were not accepted, and the bytes would hold up Purges without containing a whole record.
   */
  async #note(file: string, damage: Damage, acknowledgedBytes: number | undefined): Promise<void> {
    const { quarantine, logger } = this.#options;
    const where = { file, offset: damage.offset, bytes: damage.bytes.length };
    const isIncomplete = acknowledgedBytes === undefined ? damage.kind === 'torn' : damage.offset >= acknowledgedBytes;
    if (isIncomplete) {
      logger.warn(where, 'incomplete write skipped, no response depends on it');
      return;
    }
    this.damagedRecords++;
    logger.error(where, 'log segment damaged, damaged part moved to quarantine');
    await quarantine.addDamage(damage, file);
  }

  #hold(
    file: string,
    requests: readonly RequestRecord[],
    {
      shares,
      mayGrow,
      oldest,
      sinceMs,
    }: Pick<DeliveredSegment, 'shares' | 'mayGrow'> & Pick<DeliverOptions, 'oldest' | 'sinceMs'>,
  ): void {
    this.#held.set(file, {
      shares,
      mayGrow,
      requests: new Map(requests.map((request) => [request.idKey, request])),
      counts: countProjects(requests),
      requestBytes: sumBytes(requests),
      isShown: false,
      oldest: oldest ?? new OldestRequests(),
    });
    if (oldest !== undefined) this.#compactLater(file, sinceMs);
    for (const { idKey } of requests)
      this.#segmentsByRequest.set(idKey, [...(this.#segmentsByRequest.get(idKey) ?? []), file]);
  }

  async #responded(idKey: string): Promise<void> {
    const files = this.#segmentsByRequest.get(idKey) ?? [];
    this.#segmentsByRequest.delete(idKey);
    for (const file of files) {
      const held = this.#held.get(file);
      const request = held?.requests.get(idKey);
      if (held === undefined || request === undefined) continue;
      held.requests.delete(idKey);
      held.requestBytes -= sumBytes([request]);
      const left = (held.counts.get(request.projectUid) ?? 0) - 1;
      held.counts.set(request.projectUid, left);
      await this.#removeIfDone(file);
      if (!this.#held.has(file) || !held.isShown || this.#compactAtMs.has(file)) continue;
      // The file still contains the request, which takes room. If it was the last one of its project, the project must not wait for
      // the others.
      if (left === 0 || isWasteful(held)) this.#compactLater(file);
    }
  }

  async #removeIfDone(file: string): Promise<void> {
    const held = this.#held.get(file);
    if (held === undefined || held.requests.size > 0) return;
    if (held.mayGrow) {
      this.#held.delete(file);
      return;
    }
    try {
      await rm(file, { force: true });
    } catch (error) {
      // If the file stays, the next process delivers it again, with the same token.
      this.#options.logger.error({ err: error, file }, 'could not remove a delivered log segment');
      this.#compactLater(file);
      return;
    }
    this.#forget(file, held);
  }

  /** Another process has delivered and removed the file, or the next one delivers it again and puts damaged parts into quarantine. */
  #leave(file: string, held: DeliveredSegment): void {
    this.#options.logger.error(
      { file },
      'log segment removed or damaged after its delivery, leaving it to another process',
    );
    this.#forget(file, held);
  }

  #forget(file: string, { shares }: DeliveredSegment): void {
    this.#held.delete(file);
    this.#compactAtMs.delete(file);
    shares.free();
  }
}

const countProjects = (requests: readonly RequestRecord[]): Map<string, number> =>
  new Map(
    Array.from(
      Map.groupBy(requests, ({ projectUid }) => projectUid),
      ([uid, { length }]) => [uid, length],
    ),
  );

/** Whether at least half of a segment is requests that have ended. */
const isWasteful = ({ requestBytes, shares }: DeliveredSegment): boolean => 2 * requestBytes <= shares.bytes;

const sumBytes = (requests: readonly RequestRecord[]): number =>
  requests.reduce((sum, { start, end }) => sum + FRAME_HEAD_BYTES + end - start, 0);

/** Makes a batch from a segment. The same bytes always get the same token, and different bytes get different tokens. */
const segmentBatch = (file: string, { exchanges }: SegmentContent) => {
  const { rows, ends } = exchanges;
  const incarnation = path.basename(path.dirname(file));
  const segment = path.basename(file).slice(0, 10);
  const token = `${incarnation}-${segment}-${ends.length}-${rows.length}-${crc32(rows).toString(16)}`;
  return { ...exchanges, token };
};

const reusable = ({ exchanges }: SegmentContent): Buffer | undefined => {
  const whole = Buffer.from(exchanges.rows.buffer);
  return whole.length <= SPARE_BYTES_MAX ? whole : undefined;
};
