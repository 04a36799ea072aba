import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs, errorMessage } from '@standin/contract';
import { LogStoreError } from '@standin/logstore';
import type { Logger } from 'pino';
import { splitBatch } from '../record/spool/row-buffer.ts';
import { BodyTextWorker } from './body-text-worker.ts';
import type { LogSink } from './log-sink.ts';
import type { Quarantine } from './quarantine.ts';
import type { StoredBatch } from './read-segment.ts';

export interface InserterOptions {
  readonly sink: LogSink;
  readonly quarantine: Quarantine;
  readonly logger: Logger;
}

const BACKOFF = { baseMs: 100, capMs: 10_000 };

/** Returns whether the rows themselves cause the error. */
const isPermanent = (error: unknown): boolean => error instanceof LogStoreError && error.kind === 'permanent';

/** A batch of rows and its deduplication token. The same batch always has the same token. */
export interface TokenBatch extends StoredBatch {
  readonly token: string;
}

/**
 * Inserts batches into ClickHouse, with the texts of their bodies. Sends the same bytes with the same token until ClickHouse acknowledges
 * them, so each row is stored once. If ClickHouse rejects a batch permanently, halves it to find the rejected rows, and moves these rows
 * to quarantine.
 */
export class Inserter {
  readonly #options: InserterOptions;
  readonly #giveUp = new AbortController();
  readonly #texts: BodyTextWorker;

  deliveredRows = 0;
  deliveredBatches = 0;
  failedAttempts = 0;
  /** The `performance.now()` time when delivery began to fail, or undefined if it is working. */
  failingSinceMs: number | undefined;

  constructor(options: InserterOptions) {
    this.#options = options;
    this.#texts = new BodyTextWorker(options.logger);
  }

  /** After this is aborted, every call resolves with false and does nothing. */
  get hasGivenUp(): AbortSignal {
    return this.#giveUp.signal;
  }

  giveUp(): void {
    this.#giveUp.abort();
  }

  /** Ends the thread that decodes bodies. Call this when no insert runs. */
  close(): Promise<void> {
    return this.#texts.close();
  }

  /** Updates the tables. Returns false if delivery gave up. */
  migrate(): Promise<boolean> {
    return this.#persist(
      'update the log tables',
      () => this.#options.sink.migrate(),
      () => false,
    );
  }

  /** Returns true if every row is in ClickHouse or in quarantine, and false if delivery gave up. */
  async insert(batch: TokenBatch): Promise<boolean> {
    const { ends, token, columnCount } = batch;
    if (ends.length === 0) return true;
    if (this.#giveUp.signal.aborted) return false;
    const texts = batch.withText.length === 0 ? undefined : await this.#texts.add(batch);
    const rows = { rows: texts ?? batch.rows, hasTexts: texts !== undefined };
    try {
      const insert = () => this.#options.sink.insert({ ...rows, rowCount: ends.length, token, columnCount });
      if (!(await this.#persist('insert rows', insert))) return false;
    } catch (error) {
      return ends.length > 1 ? this.#insertHalves(batch) : this.#quarantine(batch, error);
    }
    this.deliveredRows += ends.length;
    this.deliveredBatches++;
    return true;
  }

  /** Inserts each half of a batch. The tokens of the halves derive from the batch token, so each half is also stored once. */
  async #insertHalves({ token, columnCount, withText, ...batch }: TokenBatch): Promise<boolean> {
    const middle = batch.ends.length >> 1;
    const [first, second] = splitBatch(batch, middle);
    const before = withText.filter((index) => index < middle);
    const after = withText.slice(before.length).map((index) => index - middle);
    const isFirstDone = await this.insert({ ...first, token: `${token}.0`, columnCount, withText: before });
    return isFirstDone && this.insert({ ...second, token: `${token}.1`, columnCount, withText: after });
  }

  /**
   * Moves the only row of a batch to quarantine. Retries until this succeeds, because a full disk may have room again later. Until
   * then, the row stays in its segment.
   */
  #quarantine({ rows, columnCount }: TokenBatch, error: unknown): Promise<boolean> {
    const { quarantine, logger } = this.#options;
    const reason = errorMessage(error);
    return this.#persist(
      'quarantine a row',
      async () => {
        await quarantine.addRow({ row: rows, columnCount, reason });
        logger.error({ reason, rowBytes: rows.length }, 'log row rejected by ClickHouse, moved to quarantine');
      },
      () => false,
    );
  }

  /**
   * Retries a call until it succeeds. Resolves with true when the call succeeds, and with false if delivery gives up. Rejects with
   * the call's error if `isFinal` returns true for it.
   */
  async #persist(task: string, call: () => Promise<void>, isFinal = isPermanent): Promise<boolean> {
    const { signal } = this.#giveUp;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        await call();
        if (this.failingSinceMs !== undefined) this.#options.logger.info({ task }, 'delivery resumed');
        this.failingSinceMs = undefined;
        return true;
      } catch (error) {
        if (isFinal(error)) throw error;
        this.failedAttempts++;
        if (this.failingSinceMs === undefined) {
          this.failingSinceMs = performance.now();
          this.#options.logger.warn({ task, reason: errorMessage(error) }, 'delivery delayed, retrying');
        }
        await delay(backoffMs(attempt, BACKOFF), undefined, { signal }).catch(() => undefined);
      }
    }
    return false;
  }
}
