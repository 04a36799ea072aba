import type { ReplayResult } from '@standin/logstore';

export interface ResultBufferOptions {
  readonly insert: (results: readonly ReplayResult[]) => Promise<void>;
  /** Results that arrive within this time are stored together. */
  readonly gatherMs: number;
  /** Does work that needs the log store. Retries until the store is available. */
  readonly retry: <T>(work: () => Promise<T>) => Promise<T>;
}

const ROWS_MAX = 200;
const BYTES_MAX = 8 * 1024 * 1024;
/**
 * Limits on waiting results. When a limit is reached, for example while the log store is unavailable, no more requests are sent.
 */
const WAITING_ROWS_MAX = 400;
const WAITING_BYTES_MAX = 4 * BYTES_MAX;

interface Waiting {
  readonly result: ReplayResult;
  readonly bytes: number;
  readonly stored: PromiseWithResolvers<undefined>;
}

/** Stores results in batches. */
export class ResultBuffer {
  readonly #options: ResultBufferOptions;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;

  constructor(options: ResultBufferOptions) {
    this.#options = options;
  }

  /**
   * Stores a result with others. Resolves when the result is on ClickHouse's disk. Rejects if it cannot be stored, for example
   * because the replay ends first.
   */
  add(result: ReplayResult): Promise<unknown> {
    const bytes = result.responseBody.length + result.sentBody.length;
    const stored = Promise.withResolvers<undefined>();
    this.#waiting.push({ result, bytes, stored });
    this.#waitingBytes += bytes;
    if (this.#waiting.length >= ROWS_MAX || this.#waitingBytes >= BYTES_MAX) this.#write();
    else this.#timer ??= setTimeout(() => this.#write(), this.#options.gatherMs);
    return stored.promise;
  }

  /** Resolves when another result may be added. */
  async room(): Promise<void> {
    while (this.#waiting.length >= WAITING_ROWS_MAX || this.#waitingBytes >= WAITING_BYTES_MAX) {
      this.#write();
      await this.#writing;
    }
  }

  /** Stores all waiting results. Resolves when none is left. */
  async flush(): Promise<void> {
    while (this.#waiting.length > 0 || this.#writing !== undefined) {
      this.#write();
      await this.#writing;
    }
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#take();
      try {
        await this.#options.retry(() => this.#options.insert(batch.map(({ result }) => result)));
        for (const { stored } of batch) stored.resolve(undefined);
      } catch (error) {
        for (const { stored } of batch) stored.reject(error);
      }
      for (const { bytes } of batch) this.#waitingBytes -= bytes;
    }
  }

  #take(): Waiting[] {
    let bytes = 0;
    let rows = 0;
    for (const waiting of this.#waiting) {
      bytes += waiting.bytes;
      if (rows > 0 && (rows === ROWS_MAX || bytes > BYTES_MAX)) break;
      rows += 1;
    }
    return this.#waiting.splice(0, rows);
  }
}
