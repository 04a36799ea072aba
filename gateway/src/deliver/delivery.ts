import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { LIMITS } from '@standin/contract';
import { LogStoreError } from '@standin/logstore';
import type { Logger } from 'pino';
import type { ByteBudget } from '../receive/byte-budget.ts';
import type { LogSink } from './log-sink.ts';
import { RowBuffer, splitBatch, type RowBatch } from '../record/spool/row-buffer.ts';

export interface DeliveryOptions {
  readonly sink: LogSink;
  readonly budget: ByteBudget;
  /** Bring the tables up to date before the first insert. */
  readonly migrate: boolean;
  readonly logger: Logger;
}

/** A row waits this long for others at most; the insert itself takes the rest of `LIMITS.flushIntervalMsMax`. */
const FLUSH_INTERVAL_MS = LIMITS.flushIntervalMsMax / 2;
const BACKOFF_MS_MIN = 100;
const BACKOFF_MS_MAX = 10_000;

/** The rows themselves are at fault. */
const isPermanent = (error: unknown): boolean => error instanceof LogStoreError && error.kind === 'permanent';

/** For the log: without the cause, whose text may quote captured data. */
const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Half to whole, so that gateways which failed together do not come back together. */
const backoffMs = (attempt: number): number =>
  Math.min(BACKOFF_MS_MIN * 2 ** attempt, BACKOFF_MS_MAX) * (0.5 + Math.random() / 2);

/** A batch that has been closed: its bytes and its token belong together for ever. */
interface Sealed extends RowBatch {
  readonly token: string;
  /** Not a part of another one, whose memory it shares. */
  readonly isWhole: boolean;
}

/**
 * Takes encoded rows to ClickHouse in batches: after at most `FLUSH_INTERVAL_MS`, or sooner when a batch is full. One insert at a
 * time; while it runs or fails, rows gather. A batch keeps its bytes and its token over all its retries, so it lands once.
 * Rows that ClickHouse will never take are found by halving their batch, counted, and left out.
 */
export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #giveUp = new AbortController();
  readonly #gathering = new RowBuffer(LIMITS.flushBytesMax);
  #sealed: Sealed[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #isMigrated: boolean;

  deliveredRows = 0;
  deliveredBatches = 0;
  failedAttempts = 0;
  refusedRows = 0;
  /** `performance.now()` since which nothing could be delivered; undefined while it works. */
  failingSinceMs: number | undefined;

  constructor(options: DeliveryOptions) {
    this.#options = options;
    this.#isMigrated = !options.migrate;
  }

  /**
   * Takes over a row, which `put` writes where it belongs (see `RowBuffer.add`). Never fails and never waits. The row's bytes are
   * in the budget until it is delivered.
   */
  add(rowBytes: number, put: (block: Buffer, offset: number) => void): void {
    if (this.#gathering.isFullFor(rowBytes)) {
      this.#seal();
      this.#send();
    }
    this.#gathering.add(rowBytes, put);
    this.#options.budget.addRow(rowBytes);
    if (this.#sending === undefined) this.#timer ??= setTimeout(() => this.#send(), FLUSH_INTERVAL_MS);
  }

  /** Brings the tables up to date as soon as ClickHouse answers, so that readers find them before the first row. */
  start(): void {
    if (!this.#isMigrated) this.#send();
  }

  /** Delivers what is here, for at most `timeoutMs`. Says how many rows were left. */
  async stop(timeoutMs: number): Promise<number> {
    const timer = setTimeout(() => this.#giveUp.abort(), timeoutMs);
    while (this.#hasRows && !this.#giveUp.signal.aborted) {
      this.#send();
      await this.#sending;
    }
    clearTimeout(timer);
    clearTimeout(this.#timer);
    this.#giveUp.abort();
    await this.#sending;
    return this.#sealed.reduce((sum, { ends }) => sum + ends.length, this.#gathering.rowCount);
  }

  get #hasRows(): boolean {
    return this.#sealed.length > 0 || this.#gathering.rowCount > 0;
  }

  #seal(): void {
    if (this.#gathering.rowCount > 0)
      this.#sealed.push({ ...this.#gathering.take(), token: randomUUID(), isWhole: true });
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
      if (this.#hasRows && !this.#giveUp.signal.aborted) {
        this.#timer ??= setTimeout(() => this.#send(), FLUSH_INTERVAL_MS);
      }
    });
  }

  /** Everything that waits, and whatever fills another batch meanwhile. */
  async #sendAll(): Promise<void> {
    if (!this.#isMigrated) {
      const migrate = () => this.#options.sink.migrate();
      this.#isMigrated = await this.#persist('bring the log’s tables up to date', migrate, () => false);
    }
    if (this.#sealed.length === 0) this.#seal();
    for (let batch = this.#sealed.shift(); batch !== undefined; batch = this.#sealed.shift()) {
      if (await this.#deliver(batch)) continue;
      this.#sealed.unshift(batch);
      return;
    }
  }

  /** Until it is done, or delivery gives up: false. */
  async #deliver(batch: Sealed): Promise<boolean> {
    const { sink, budget, logger } = this.#options;
    const { rows, ends, token } = batch;
    const failedBefore = this.failedAttempts;
    try {
      const insert = () => sink.insert({ rows, rowCount: ends.length, token });
      if (!(await this.#persist('deliver rows to the log', insert))) return false;
    } catch (error) {
      if (ends.length > 1) return this.#deliverHalves(batch);
      this.refusedRows++;
      budget.freeRows(rows.length);
      logger.error(
        { reason: reasonOf(error), rowBytes: rows.length },
        'ClickHouse refuses a log row for good: it is lost',
      );
      return true;
    }
    this.deliveredRows += ends.length;
    this.deliveredBatches++;
    budget.freeRows(rows.length);
    // An attempt that failed may still be reading them.
    if (batch.isWhole && this.failedAttempts === failedBefore) this.#gathering.recycle(batch);
    return true;
  }

  /** The halves' tokens follow from the batch's, so that they too land once. */
  async #deliverHalves(batch: Sealed): Promise<boolean> {
    const [first, second] = splitBatch(batch, batch.ends.length >> 1);
    const isFirstDone = await this.#deliver({ ...first, token: `${batch.token}.0`, isWhole: false });
    const isSecondDone = await this.#deliver({ ...second, token: `${batch.token}.1`, isWhole: false });
    return isFirstDone && isSecondDone;
  }

  /**
   * Repeats a call to ClickHouse until it succeeds (true) or delivery gives up (false). Rejects with an error that no repetition
   * changes.
   */
  async #persist(task: string, call: () => Promise<void>, isFinal = isPermanent): Promise<boolean> {
    const { signal } = this.#giveUp;
    for (let attempt = 0; ; attempt++) {
      try {
        await call();
        if (this.failingSinceMs !== undefined) this.#options.logger.info({ task }, 'ClickHouse takes the log again');
        this.failingSinceMs = undefined;
        return true;
      } catch (error) {
        if (isFinal(error)) throw error;
        this.failedAttempts++;
        if (this.failingSinceMs === undefined) {
          this.failingSinceMs = performance.now();
          this.#options.logger.warn({ task, reason: reasonOf(error) }, 'ClickHouse does not take the log, trying on');
        }
        const isOver = await delay(backoffMs(attempt), false, { signal }).catch(() => true);
        if (isOver) return false;
      }
    }
  }
}
