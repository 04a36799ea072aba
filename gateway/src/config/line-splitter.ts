const LF = 0x0a;

/** Splits a stream of bytes into lines of a bounded length. */
export class LineSplitter {
  readonly #lineBytesMax: number;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(lineBytesMax: number) {
    this.#lineBytesMax = lineBytesMax;
  }

  /** The lines that this chunk completes, without line breaks. Throws a RangeError when a line is too long. */
  *push(chunk: Buffer): Generator<string> {
    let from = 0;
    for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, from)) {
      this.#keep(chunk.subarray(from, at));
      yield Buffer.concat(this.#parts, this.#bytes).toString('utf8');
      this.#parts = [];
      this.#bytes = 0;
      from = at + 1;
    }
    this.#keep(chunk.subarray(from));
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    this.#bytes += part.length;
    if (this.#bytes > this.#lineBytesMax) throw new RangeError(`a line is longer than ${this.#lineBytesMax} bytes`);
    this.#parts.push(part);
  }
}
