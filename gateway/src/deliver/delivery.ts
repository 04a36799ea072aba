import { setTimeout as delay } from 'node:timers/promises';
import { LIMITS, type LogRow } from '@standin/contract';
import type { Logger } from 'pino';
import type { SealedSegment } from '../record/spool/segment-writer.ts';
import type { Spool } from '../record/spool/spool.ts';
import type { OldestRequests } from '../request/oldest-requests.ts';
import { DrainedFolders } from './drained-folders.ts';
import { FolderDrain } from './folder-drain.ts';
import { Inserter } from './inserter.ts';
import type { LogSink } from './log-sink.ts';
import { Orphans } from './orphaned-segments.ts';
import { Quarantine } from './quarantine.ts';
import { readRecentRows } from './recent-rows.ts';

export interface DeliveryOptions {
  readonly sink: LogSink;
  readonly spool: Spool;
  /** Whether to update the tables before the first insert. */
  readonly migrate: boolean;
  /** The last segment of an earlier process is removed after this time without a change. */
  readonly quietMs: number;
  /**
   * Called for each earlier process whose records are all in ClickHouse, unless the quarantine has files. The call is repeated
   * until it resolves.
   */
  readonly onDrained: (incarnation: string) => Promise<void>;
  readonly logger: Logger;
}

/** The longest time that a row waits for other rows. The insert may take the rest of `LIMITS.flushIntervalMsMax`. */
const FLUSH_INTERVAL_MS = LIMITS.flushIntervalMsMax / 2;
const ORPHAN_SCAN_INTERVAL_MS_MAX = 60_000;
const PAUSE_AFTER_ERROR_MS = 1_000;
/** With more, a search in the rows would take longer than an insert. */
const RECENT_BYTES_MAX = 128 * 1024;

/**
 * Delivers the spool's segments to ClickHouse, one at a time. While delivery works, a segment is sealed and sent within
 * `FLUSH_INTERVAL_MS`. While delivery fails, segments grow to their full size and wait on disk. Segments of earlier processes are
 * delivered in between.
 */
export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #inserter: Inserter;
  readonly #quarantine: Quarantine;
  readonly #own: FolderDrain;
  readonly #orphans: Orphans;
  readonly #drained: DrainedFolders;
  #orphanSteps: AsyncGenerator<void> | undefined;
  #nextOrphanScanMs = 0;
  #isPrepared = false;
  /** Whether the last step compacted a segment. The next one does not, so that many compactions do not hold up other rows. */
  #hasCompacted = false;
  /** Whether a segment of another process is delivered before the next own one. */
  #isOrphansTurn = false;
  /** The segment that was taken from the spool but is not delivered yet. */
  #next: SealedSegment | undefined;
  #isHurried = false;
  /** The earliest time for the next hurried delivery (of `performance.now()`). */
  #hurryAtMs = 0;
  #isStopping = false;
  #running: Promise<void> | undefined;
  #woken: PromiseWithResolvers<void> = Promise.withResolvers();
  #onStep: () => void = () => undefined;

  constructor(options: DeliveryOptions) {
    const { sink, spool, logger, quietMs, onDrained } = options;
    this.#options = options;
    const quarantine = new Quarantine(spool.dir);
    const inserter = new Inserter({ sink, quarantine, logger });
    this.#quarantine = quarantine;
    this.#inserter = inserter;
    const common = { inserter, quarantine, logger };
    const { isDurable } = spool;
    this.#own = new FolderDrain({
      ...common,
      isDurable,
      onMoving: (id, next) => spool.moving(id, next),
      onMoved: (id) => spool.moved(id),
    });
    const { dir, folder: ownFolder, guard } = spool;
    this.#orphans = new Orphans({ ...common, dir, ownFolder, pool: guard.pool, quietMs });
    this.#drained = new DrainedFolders({ dir: spool.dir, quarantine, onDrained, logger });
    spool.onBegun(() => this.#woken.resolve());
  }

  get deliveredRows(): number {
    return this.#inserter.deliveredRows;
  }

  get deliveredBatches(): number {
    return this.#inserter.deliveredBatches;
  }

  get failedAttempts(): number {
    return this.#inserter.failedAttempts;
  }

  /** The `performance.now()` time when delivery began to fail, or undefined if it is working. */
  get failingSinceMs(): number | undefined {
    return this.#inserter.failingSinceMs;
  }

  /**
   * Adds the recorded requests that are not in ClickHouse, and those that would be delivered again after a crash. If they are
   * unknown, adds a request of unknown age.
   */
  addOldest(to: OldestRequests): void {
    const { spool } = this.#options;
    const hasLeftRows = this.#inserter.hasGivenUp.aborted && spool.guard.storedBytes > 0;
    if (!this.#isPrepared || this.#orphans.mayHaveRecords || hasLeftRows) to.add(-Infinity);
    if (this.#next !== undefined) to.addAll(this.#next.oldest);
    this.#own.addOldest(to);
    spool.addOldest(to);
  }

  /** The last file that may have records now. `hasDelivered` takes it later. */
  get lastFile(): string {
    return this.#options.spool.lastFile;
  }

  /**
   * Whether ClickHouse has every exchange that was recorded up to this file, and those of earlier processes. Requests in quarantine count
   * as delivered.
   */
  hasDelivered(lastFile: string): boolean {
    if (!this.#isPrepared || this.#orphans.hasUndelivered || this.#inserter.hasGivenUp.aborted) return false;
    const firstFile = this.#next?.file ?? this.#options.spool.firstFile;
    return firstFile === undefined || firstFile > lastFile;
  }

  /** See `FolderDrain.hasUnshown`. */
  hasUnshown(projectUid: string | undefined, lastFile: string): boolean {
    return this.#own.hasUnshown(projectUid, lastFile);
  }

  /**
   * Resolves with the rows that are recorded and may not be in ClickHouse, each in its latest version. Resolves with undefined if they are
   * many, or not all of them are known.
   */
  async readRecent(): Promise<readonly LogRow[] | undefined> {
    const isKnown = this.#isPrepared && !this.#orphans.hasUndelivered && this.quarantined === 0;
    const { files, bytes } = this.#options.spool.untaken;
    const { unshown } = this.#own;
    const next = this.#next === undefined ? [] : [this.#next];
    const sizes = [
      ...next.map((segment) => segment.bytes),
      ...[...unshown.values()].flatMap((requests) => [...requests.values()].map(({ start, end }) => end - start)),
    ];
    const isMuch = sizes.reduce((sum, size) => sum + size, bytes) > RECENT_BYTES_MAX;
    if (!isKnown || isMuch || this.#inserter.hasGivenUp.aborted) return undefined;
    return readRecentRows([...next.map(({ file }) => file), ...files], unshown);
  }

  /** Delivers the records in the open segment without waiting for others. The next call waits as long as the delivery took. */
  hurry(): void {
    if (this.#options.spool.openSinceMs === undefined) return;
    this.#isHurried = true;
    this.#woken.resolve();
  }

  /** Sets the callback for each step, after which `hasDelivered` may return something else. */
  onStep(callback: () => void): void {
    this.#onStep = callback;
  }

  get damagedRecords(): number {
    return this.#own.damagedRecords + this.#orphans.damagedRecords;
  }

  /** The number of rows and damaged records in quarantine, including earlier ones. */
  get quarantined(): number {
    return this.#quarantine.count;
  }

  /** See `Quarantine.namespaces`. */
  get quarantinedProjects(): ReadonlyMap<string | undefined, string> {
    return this.#quarantine.namespaces;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /**
   * Delivers the rest of the closed spool, for at most `timeoutMs`. Undelivered segments stay on disk for the next process.
   * Resolves with their size in bytes.
   */
  async stop(timeoutMs: number): Promise<number> {
    const { spool } = this.#options;
    const timer = setTimeout(() => this.#inserter.giveUp(), timeoutMs);
    this.#isStopping = true;
    this.#woken.resolve();
    await this.#running;
    clearTimeout(timer);
    this.#inserter.giveUp();
    // Unlocks the folder of another process that was being delivered.
    await this.#orphanSteps?.return(undefined);
    await this.#inserter.close();
    return spool.guard.storedBytes - this.#orphans.bytes;
  }

  async #run(): Promise<void> {
    const { hasGivenUp } = this.#inserter;
    while (!hasGivenUp.aborted) {
      try {
        if (!this.#isPrepared) await this.#prepare();
        else if (await this.#step()) return;
        this.#onStep();
      } catch (error) {
        this.#options.logger.error({ err: error }, 'delivery failed, retrying');
        await delay(PAUSE_AFTER_ERROR_MS, undefined, { signal: hasGivenUp }).catch(() => undefined);
      }
    }
  }

  async #prepare(): Promise<void> {
    await this.#quarantine.open();
    await this.#orphans.scan();
    void this.#orphans.readShares();
    if (this.#options.migrate) await this.#inserter.migrate();
    this.#isPrepared = true;
  }

  /** Returns true if everything is delivered and nothing will follow. */
  async #step(): Promise<boolean> {
    const { spool } = this.#options;
    this.#hasCompacted = !this.#hasCompacted && !this.#isStopping && (await this.#own.compact());
    if (this.#hasCompacted) return false;
    // Own segments may follow each other without end, for example while ClickHouse is slow.
    if (this.#isOrphansTurn) {
      this.#isOrphansTurn = false;
      if (!this.#isStopping && (await this.#deliverOrphan())) return false;
    }
    this.#next ??= spool.takeSealed();
    if (this.#next !== undefined) {
      const startedMs = performance.now();
      const { file, bytes, oldest, shares, sinceMs } = this.#next;
      if ((await this.#own.deliver(file, { acknowledgedBytes: bytes, oldest, shares, sinceMs })) === 0) shares.free();
      this.#next = undefined;
      this.#isOrphansTurn = true;
      this.#hurryAtMs = 2 * performance.now() - startedMs;
    } else if (this.#isStopping) {
      // Requests that were interrupted by the shutdown become rows without a response.
      return this.#own.finish();
    } else if (this.#flushInMs() <= 0) {
      this.#isHurried = false;
      await spool.seal();
    } else if (!(await this.#deliverOrphan())) await this.#rest();
    return false;
  }

  /** Returns how many milliseconds the rows in the open segment may still wait. Infinity if the segment is empty. */
  #flushInMs(): number {
    const { openSinceMs } = this.#options.spool;
    if (openSinceMs === undefined) return Infinity;
    const flushAtMs = openSinceMs + FLUSH_INTERVAL_MS;
    return (this.#isHurried ? Math.min(flushAtMs, this.#hurryAtMs) : flushAtMs) - performance.now();
  }

  /** Delivers one segment of another process. Returns false if there is no such segment at the moment. */
  async #deliverOrphan(): Promise<boolean> {
    if (this.#orphanSteps === undefined) {
      if (performance.now() < this.#nextOrphanScanMs) return false;
      // Count the files in quarantine again, because administrators can remove them at any time.
      await this.#quarantine.open();
      this.#orphanSteps = this.#orphans.steps();
    }
    const { done } = await this.#orphanSteps.next();
    if (done !== true) return true;
    this.#orphanSteps = undefined;
    void this.#drained.report();
    this.#nextOrphanScanMs = performance.now() + Math.min(ORPHAN_SCAN_INTERVAL_MS_MAX, this.#options.quietMs);
    return false;
  }

  /**
   * Waits until the next flush, the next scan for segments of other processes or the next segment to compact is due, or until an
   * empty segment gets its first record.
   */
  async #rest(): Promise<void> {
    if (this.#isStopping) return;
    const flushInMs = this.#flushInMs();
    const nextMs = Math.min(this.#nextOrphanScanMs, this.#own.compactAtMs) - performance.now();
    this.#woken = Promise.withResolvers();
    const waiting = new AbortController();
    const pause = delay(Math.max(1, Math.min(flushInMs, nextMs)), undefined, {
      ref: false,
      signal: waiting.signal,
    });
    await Promise.race([pause.catch(() => undefined), this.#woken.promise]);
    waiting.abort();
  }
}
