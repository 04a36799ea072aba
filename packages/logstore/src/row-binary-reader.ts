import type { HeaderPair } from '@standin/contract';
import { UUID_SIZE } from './row-binary.ts';

/** Reads RowBinary from one buffer. Throws a `RangeError` if the buffer ends inside a value. */
export class RowBinaryReader {
  readonly #buffer: Buffer;
  #offset = 0;

  constructor(buffer: Buffer) {
    this.#buffer = buffer;
  }

  get done(): boolean {
    return this.#offset >= this.#buffer.length;
  }

  /** Returns a view of the buffer, not a copy. */
  #take(length: number): Buffer {
    const end = this.#offset + length;
    if (end > this.#buffer.length) {
      throw new RangeError(`RowBinary ends at byte ${this.#buffer.length}, inside a value that ends at ${end}`);
    }
    const taken = this.#buffer.subarray(this.#offset, end);
    this.#offset = end;
    return taken;
  }

  bool(): boolean {
    return this.uint8() === 1;
  }

  uint8(): number {
    return this.#take(1).readUInt8();
  }

  uint16(): number {
    return this.#take(2).readUInt16LE();
  }

  uint32(): number {
    return this.#take(4).readUInt32LE();
  }

  /** Reads a (U)Int64 as a number, because all values in the log are safe integers. */
  int64(): number {
    return Number(this.#take(8).readBigInt64LE());
  }

  uint64(): bigint {
    return this.#take(8).readBigUInt64LE();
  }

  varint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = this.uint8();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  }

  bytes(): Buffer {
    return this.#take(this.varint());
  }

  /** Reads a UTF-8 string. */
  text(): string {
    return this.bytes().toString('utf8');
  }

  latin1(): string {
    return this.bytes().toString('latin1');
  }

  pairs(): HeaderPair[] {
    return Array.from({ length: this.varint() }, (): HeaderPair => [this.latin1(), this.latin1()]);
  }

  uuid(): string {
    const bytes = Buffer.from(this.#take(UUID_SIZE));
    bytes.subarray(0, 8).reverse();
    bytes.subarray(8).reverse();
    const hex = bytes.toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }
}
