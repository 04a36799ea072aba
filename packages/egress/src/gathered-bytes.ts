/**
 * As soon as there are this many pieces, they are joined into one. The number is small because each piece is an object of half a
 * kilobyte, regardless of its length.
 */
const PIECES_MAX = 256;
const BLOCK_BYTES_MIN = 16 * 1024;

/** The bytes of a body in order of arrival. They take little more memory than their size, even if chunks have one byte. */
export class GatheredBytes {
  readonly #blocks: Uint8Array[] = [];
  #pieces: Uint8Array[] = [];

  add(piece: Uint8Array): void {
    this.#pieces.push(piece);
    if (this.#pieces.length < PIECES_MAX) return;
    const block = Buffer.concat(this.#pieces);
    this.#pieces = [];
    (block.length < BLOCK_BYTES_MIN ? this.#pieces : this.#blocks).push(block);
  }

  /** Returns all bytes. A single piece is not copied. */
  bytes(): Buffer {
    const all = [...this.#blocks, ...this.#pieces];
    const [only] = all;
    return all.length === 1 && Buffer.isBuffer(only) ? only : Buffer.concat(all);
  }

  clear(): void {
    this.#blocks.length = 0;
    this.#pieces = [];
  }
}
