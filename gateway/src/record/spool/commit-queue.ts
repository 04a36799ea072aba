import { RowBuffer, type RowBatch } from './row-buffer.ts';

/** Called with the file of a record and its position there, when it is written. */
type OnWritten = (file: string, start: number) => void;

interface Written {
  /** The position of the record in its batch. */
  readonly offset: number;
  readonly onWritten: OnWritten;
}

/** Records that are written together, and the calls that wait for the write. */
export class CommitBatch implements RowBatch {
  readonly rows: Buffer;
  readonly ends: readonly number[];
  /** Indexes of the records that must be kept. A batch has few such records, and a batch of mocks has none. */
  readonly #musts: readonly number[];
  readonly #refusable: PromiseWithResolvers<boolean>;
  readonly #must: PromiseWithResolvers<boolean>;
  readonly #written: readonly Written[];

  constructor(batch: RowBatch, waiting: Waiting) {
    this.rows = batch.rows;
    this.ends = batch.ends;
    this.#musts = waiting.musts;
    this.#refusable = waiting.refusable;
    this.#must = waiting.must;
    this.#written = waiting.written;
  }

  /** The batch is written to the file, from this position on. */
  settle(file: string, batchStart: number): void {
    for (const { offset, onWritten } of this.#written) onWritten(file, batchStart + offset);
    this.#refusable.resolve(true);
    this.#must.resolve(true);
  }

  /** Refuses the records that may be refused or, with `all`, every record. Returns the remaining records, if any. */
  refuse(all = false): CommitBatch | undefined {
    this.#refusable.resolve(false);
    if (all || this.#musts.length === 0) {
      this.#must.resolve(false);
      return undefined;
    }
    const frames = this.#musts.map((index) => this.rows.subarray(this.ends[index - 1] ?? 0, this.ends[index]));
    let end = 0;
    const ends = frames.map((frame) => (end += frame.length));
    const waiting = { musts: [...frames.keys()], refusable: this.#refusable, must: this.#must, written: [] };
    return new CommitBatch({ rows: Buffer.concat(frames), ends }, waiting);
  }
}

interface Waiting {
  readonly musts: number[];
  readonly refusable: PromiseWithResolvers<boolean>;
  readonly must: PromiseWithResolvers<boolean>;
  /** Those of records that may be refused. */
  readonly written: Written[];
}

const newWaiting = (): Waiting => ({
  musts: [],
  refusable: Promise.withResolvers(),
  must: Promise.withResolvers(),
  written: [],
});

/** Records that wait for the next commits, in batches of up to `batchBytes`, encoded in place. */
export class CommitQueue {
  readonly #gathering: RowBuffer;
  #waiting = newWaiting();
  #full: CommitBatch[] = [];

  constructor(batchBytes: number) {
    this.#gathering = new RowBuffer(batchBytes);
  }

  get isEmpty(): boolean {
    return this.#full.length === 0 && this.#gathering.rowCount === 0;
  }

  /** The number of records in the batch that is not full yet. */
  get rowCount(): number {
    return this.#gathering.rowCount;
  }

  /**
   * Resolves when the record's batch is settled. For `put`, see `RowBuffer.add`. A record that must be kept is not reported to
   * `onWritten`.
   */
  add(
    bytes: number,
    put: (block: Buffer, offset: number) => void,
    mustBeKept: boolean,
    onWritten?: OnWritten,
  ): Promise<boolean> {
    if (this.#gathering.isFullFor(bytes)) this.#full.push(this.#close());
    const { musts, refusable, must, written } = this.#waiting;
    if (onWritten !== undefined) written.push({ offset: this.#gathering.bytes, onWritten });
    this.#gathering.add(bytes, put);
    if (!mustBeKept) return refusable.promise;
    musts.push(this.#gathering.rowCount - 1);
    return must.promise;
  }

  take(): CommitBatch | undefined {
    return this.#full.shift() ?? (this.#gathering.rowCount > 0 ? this.#close() : undefined);
  }

  /** Refuses the records that may be refused. Returns the number of their bytes in each batch. */
  refuse(): number[] {
    const batches = this.#gathering.rowCount > 0 ? [...this.#full, this.#close()] : this.#full;
    this.#full = [];
    return batches.map((batch) => {
      const left = batch.refuse();
      if (left !== undefined) this.#full.push(left);
      return batch.rows.length - (left?.rows.length ?? 0);
    });
  }

  /** Reclaims the memory of a batch that is no longer read. */
  recycle(batch: CommitBatch): void {
    this.#gathering.recycle(batch);
  }

  #close(): CommitBatch {
    const batch = new CommitBatch(this.#gathering.take(), this.#waiting);
    this.#waiting = newWaiting();
    return batch;
  }
}
