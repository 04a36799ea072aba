import { GatheredBytes } from '@standin/egress';
import type { ByteBudget } from '../request/byte-budget.ts';

/**
 * The beginning of a response body, and its full length. The budget counts the captured bytes for the namespace until `free`. A body is
 * captured only up to where the share of the namespace is used up, because slow callers would otherwise fill the memory of all others.
 */
export class Capture {
  #bytesMax: number;
  readonly #budget: ByteBudget;
  readonly #namespace: string;
  readonly #gathered = new GatheredBytes();
  #keptBytes = 0;
  #totalBytes = 0;

  constructor(bytesMax: number, budget: ByteBudget, namespace: string) {
    this.#bytesMax = bytesMax;
    this.#budget = budget;
    this.#namespace = namespace;
  }

  get totalBytes(): number {
    return this.#totalBytes;
  }

  get isTruncated(): boolean {
    return this.#totalBytes > this.#keptBytes;
  }

  add(chunk: Uint8Array): void {
    this.#totalBytes += chunk.length;
    const room = this.#bytesMax - this.#keptBytes;
    if (room <= 0) return;
    const kept = chunk.length <= room ? chunk : chunk.subarray(0, room);
    if (!this.#budget.take(this.#namespace, kept.length)) {
      // Later chunks may find room, but only the beginning of a body makes sense.
      this.#bytesMax = this.#keptBytes;
      return;
    }
    this.#gathered.add(kept);
    this.#keptBytes += kept.length;
  }

  bytes(): Uint8Array {
    return this.#gathered.bytes();
  }

  free(): void {
    this.#budget.free(this.#namespace, this.#keptBytes);
    this.#keptBytes = 0;
    this.#gathered.clear();
  }
}
