const LF = 0x0a;

/** Splits a stream of bytes into lines of limited length. */
export class LineSplitter {
  readonly #lineBytesMax: number;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(lineBytesMax: number) {
    this.#lineBytesMax = lineBytesMax;
  }

  /** Yields the lines that this chunk completes, without line breaks. Throws a RangeError if a line is too long. */
  *push(chunk: Buffer): Generator<string> {
    let from = 0;
    for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, from)) {
      this.#keep(chunk.subarray(from, at));
      yield this.rest();
      from = at + 1;
    }
    this.#keep(chunk.subarray(from));
  }

  /**
   * Returns the text after the last line break and removes it from the splitter. At the end of the stream, this text is a line that
   * has no line break.
   */
  rest(): string {
    const [first] = this.#parts;
    const line = first !== undefined && this.#parts.length === 1 ? first : Buffer.concat(this.#parts, this.#bytes);
    this.#parts = [];
    this.#bytes = 0;
    return line.toString('utf8');
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    this.#bytes += part.length;
    if (this.#bytes > this.#lineBytesMax) throw new RangeError(`a line is longer than ${this.#lineBytesMax} bytes`);
    this.#parts.push(part);
  }
}
