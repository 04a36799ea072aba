import { Holding } from '@standin/contract';
import { GatheredBytes } from '@standin/egress';
import type { ByteBudget } from '../request/byte-budget.ts';

/**
 * The beginning of a response body, and its full length. The budget counts the captured bytes for the namespace. A body is captured only up to where the share of the namespace is used up, because slow callers would otherwise fill the memory of all others.
 */
export class Capture implements Disposable {
  #bytesMax: number;
  readonly #memory: Holding;
  readonly #gathered = new GatheredBytes();
  #totalBytes = 0;

  constructor(bytesMax: number, budget: ByteBudget, namespace: string) {
    this.#bytesMax = bytesMax;
    this.#memory = new Holding(budget, namespace);
  }

  get totalBytes(): number {
    return this.#totalBytes;
  }

  get isTruncated(): boolean {
    return this.#totalBytes > this.#memory.amount;
  }

  add(chunk: Uint8Array): void {
    this.#totalBytes += chunk.length;
    const room = this.#bytesMax - this.#memory.amount;
    if (room <= 0) return;
    const kept = chunk.length <= room ? chunk : chunk.subarray(0, room);
    if (!this.#memory.take(kept.length)) {
      // Later chunks may find room, but only the beginning of a body makes sense.
      this.#bytesMax = this.#memory.amount;
      return;
    }
    this.#gathered.add(kept);
  }

  bytes(): Uint8Array {
    return this.#gathered.bytes();
  }

  [Symbol.dispose](): void {
    this.#memory[Symbol.dispose]();
    this.#gathered.clear();
  }
}
