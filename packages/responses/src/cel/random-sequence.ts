import { hash } from 'node:crypto';

/** A sequence of numbers that all characters of the seed determine (xoshiro128**). It is not cryptographically secure. */
export class RandomSequence {
  // A state of 128 bits: with fewer, requests with different ids would soon share a sequence.
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  constructor(seed: string) {
    const digits = hash('sha256', seed, 'hex');
    const word = (at: number): number => Number.parseInt(digits.slice(at, at + 8), 16) | 0;
    this.#a = word(0);
    this.#b = word(8);
    this.#c = word(16);
    this.#d = word(24);
  }

  /** Returns an integer of 32 bits without a sign. */
  next(): number {
    const result = Math.imul(rotate(Math.imul(this.#b, 5), 7), 9);
    const shifted = this.#b << 9;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= shifted;
    this.#d = rotate(this.#d, 11);
    return result >>> 0;
  }

  /** Returns a 64-bit integer without a sign. */
  next64(): bigint {
    return (BigInt(this.next()) << 32n) | BigInt(this.next());
  }

  /** Returns an integer from 0 up to, but not including, `end`, which is at most 2^64. */
  below(end: bigint): bigint {
    // With 64 bits, the lower part of a large range would be twice as likely.
    return ((this.next64() << 64n) | this.next64()) % end;
  }

  /** Returns a number from 0 up to, but not including, 1, with 53 random bits. */
  real(): number {
    return ((this.next() >>> 5) * 2 ** 26 + (this.next() >>> 6)) / 2 ** 53;
  }

  uuid(): string {
    const [a, b, c, d] = [this.#word(), this.#word(), this.#word(), this.#word()];
    const variant = '89ab'.charAt(Number(`0x${c.charAt(0)}`) % 4);
    return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-${variant}${c.slice(1, 4)}-${c.slice(4)}${d}`;
  }

  #word(): string {
    return this.next().toString(16).padStart(8, '0');
  }
}

const rotate = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));
