/** A sequence of numbers that the seed determines. It is not cryptographically secure. */
export class RandomSequence {
  #state: number;

  constructor(seed: string) {
    // FNV-1a
    let hash = 0x811c9dc5;
    for (let at = 0; at < seed.length; at++) hash = Math.imul(hash ^ seed.charCodeAt(at), 0x01000193);
    this.#state = hash;
  }

  /** Returns an integer of 32 bits without a sign (SplitMix32). */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  }

  /** Returns a 64-bit integer without a sign. */
  next64(): bigint {
    return (BigInt(this.next()) << 32n) | BigInt(this.next());
  }

  /** Returns a UUID of version 4. */
  uuid(): string {
    const hex = ((this.next64() << 64n) | this.next64()).toString(16).padStart(32, '0');
    const variant = '89ab'.charAt(this.next() % 4);
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
  }
}
