const LF = 0x0a;
const CR = 0x0d;

const DONE = 0;
const SIZED = 1;
const CHUNK_SIZE = 2;
const CHUNK_EXTENSION = 3;
const CHUNK_DATA = 4;
const TRAILER_START = 5;
const TRAILER_LINE = 6;
const TRAILER_END = 7;

/**
 * Node's parser takes about 1 microsecond for each chunk, regardless of the chunk's size. A body may have this many chunks of any
 * size, which costs less than 100 ms. If a body has more, its chunks must average at least `CHUNK_BYTES_MIN`, about the size of a
 * short line of text, because some clients send each line as a chunk.
 */
const SMALL_CHUNKS_MAX = 65_536;
const CHUNK_BYTES_MIN = 64;

/** Returns the value of a hexadecimal digit, or -1. */
const hexDigit = (byte: number): number => {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
};

/** Finds the end of a request body (RFC 9112 sections 6 and 7) without reading its content. */
export class BodySkipper {
  #state = DONE;
  #remaining = 0;
  #chunks = 0;
  #chunkedBytes = 0;

  /** Whether the body has far more chunks than its size requires. */
  get isFragmented(): boolean {
    return this.#chunks > SMALL_CHUNKS_MAX && this.#chunkedBytes < this.#chunks * CHUNK_BYTES_MIN;
  }

  get isDone(): boolean {
    return this.#state === DONE;
  }

  startSized(bytes: number): void {
    this.#state = SIZED;
    this.#remaining = bytes;
  }

  startChunked(): void {
    this.#state = CHUNK_SIZE;
    this.#remaining = 0;
    this.#chunks = 0;
    this.#chunkedBytes = 0;
  }

  /**
   * Skips the body's bytes. Returns the index in `chunk` at which the body ends, or the length of `chunk` if the body continues.
   */
  skip(chunk: Uint8Array, from: number): number {
    const end = chunk.length;
    let at = from;
    while (at < end && this.#state !== DONE) {
      if (this.#state === SIZED || this.#state === CHUNK_DATA) {
        const bytes = Math.min(this.#remaining, end - at);
        at += bytes;
        this.#remaining -= bytes;
        if (this.#remaining === 0) this.#state = this.#state === SIZED ? DONE : CHUNK_SIZE;
      } else this.#readFraming(chunk[at++] ?? 0);
    }
    return at;
  }

  #readFraming(byte: number): void {
    switch (this.#state) {
      case CHUNK_SIZE: {
        const digit = hexDigit(byte);
        if (digit >= 0) this.#remaining = this.#remaining * 16 + digit;
        else if (byte === LF) this.#endChunkHead();
        else this.#state = CHUNK_EXTENSION;
        break;
      }
      case CHUNK_EXTENSION:
        if (byte === LF) this.#endChunkHead();
        break;
      case TRAILER_START:
        if (byte === CR) this.#state = TRAILER_END;
        else this.#state = byte === LF ? DONE : TRAILER_LINE;
        break;
      case TRAILER_LINE:
        if (byte === LF) this.#state = TRAILER_START;
        break;
      default:
        this.#state = byte === LF ? DONE : TRAILER_LINE;
    }
  }

  #endChunkHead(): void {
    if (this.#remaining === 0) {
      this.#state = TRAILER_START;
    } else {
      this.#chunks++;
      this.#chunkedBytes += this.#remaining;
      // Includes the line break after the data.
      this.#remaining += 2;
      this.#state = CHUNK_DATA;
    }
  }
}
