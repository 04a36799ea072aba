/** Rows that travel together. */
export interface RowBatch {
  /** Concatenated: the body of an insert. */
  readonly rows: Buffer;
  /** Where each row ends. */
  readonly ends: readonly number[];
}

const CAPACITY_BYTES_MIN = 64 * 1024;

/**
 * Gathers rows, encoded where they lie, in one block of memory. Thousands of small buffers that wait for the next flush would
 * each outlive the garbage collector's nursery, and cost more to keep than to write.
 */
export class RowBuffer {
  readonly #bytesMax: number;
  #block = Buffer.allocUnsafe(0);
  #ends: number[] = [];
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get rowCount(): number {
    return this.#ends.length;
  }

  /** Whether this row belongs to the next batch. The first row always fits. */
  isFullFor(rowBytes: number): boolean {
    return this.#bytes > 0 && this.#bytes + rowBytes > this.#bytesMax;
  }

  /** `put` writes a row of exactly `rowBytes` bytes at the offset it is given. */
  add(rowBytes: number, put: (block: Buffer, offset: number) => void): void {
    const needed = this.#bytes + rowBytes;
    if (needed > this.#block.length) this.#grow(needed);
    put(this.#block, this.#bytes);
    this.#bytes = needed;
    this.#ends.push(needed);
  }

  /** Hands over what is here, and begins anew. */
  take(): RowBatch {
    const batch = { rows: this.#block.subarray(0, this.#bytes), ends: this.#ends };
    // As much again is likely to come.
    this.#block = Buffer.allocUnsafeSlow(Math.min(this.#bytes, this.#bytesMax));
    this.#ends = [];
    this.#bytes = 0;
    return batch;
  }

  #grow(needed: number): void {
    const roomy = Math.min(Math.max(2 * this.#block.length, CAPACITY_BYTES_MIN), this.#bytesMax);
    const block = Buffer.allocUnsafeSlow(Math.max(needed, roomy));
    block.set(this.#block.subarray(0, this.#bytes));
    this.#block = block;
  }
}

/** The rows before and from `middle` on, as batches. */
export const splitBatch = ({ rows, ends }: RowBatch, middle: number): readonly [RowBatch, RowBatch] => {
  const cut = ends[middle - 1] ?? 0;
  return [
    { rows: rows.subarray(0, cut), ends: ends.slice(0, middle) },
    { rows: rows.subarray(cut), ends: ends.slice(middle).map((end) => end - cut) },
  ];
};
