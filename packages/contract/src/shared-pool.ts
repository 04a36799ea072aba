/** The share of one holder. */
interface Share {
  amount: number;
}

/** Empty shares are removed when there are this many shares, so that each operation takes constant time on average. */
const SHARES_SWEPT_AT = 1_000;

/**
 * Divides a limited resource among holders, which are namespaces wherever they are known. A holder may have `factor` times as much as
 * is free (a dynamic threshold). With a factor of 1, one holder can therefore get half of the pool, two a third each, and so on, and
 * there is always room for another holder. Nothing is taken away from a holder. The size of what is taken last may exceed these
 * fractions. The empty string stands for an unknown holder.
 */
export class SharedPool {
  /** May change, for example with the free space of a disk. */
  capacity: number;
  readonly #factor: number;
  readonly #shares = new Map<string, Share>();
  #sweptAt = SHARES_SWEPT_AT;
  #used = 0;
  #refused = 0;

  constructor(capacity: number, factor = 1) {
    this.capacity = capacity;
    this.#factor = factor;
  }

  get used(): number {
    return this.#used;
  }

  /** How often `admits` or `take` returned false. */
  get refused(): number {
    return this.#refused;
  }

  /** What the known holder with the most has. Takes time for each holder, so it is for metrics only. */
  get largestShare(): number {
    let largest = 0;
    for (const [holder, { amount }] of this.#shares) if (holder !== '') largest = Math.max(largest, amount);
    return largest;
  }

  heldBy(holder: string): number {
    return this.#shares.get(holder)?.amount ?? 0;
  }

  /** Returns whether the holder may take the amount. */
  hasRoomFor(holder: string, amount = 1): boolean {
    const free = this.capacity - this.#used;
    return amount <= free && this.heldBy(holder) + amount <= this.#factor * free;
  }

  /** Returns the same as `hasRoomFor`, and counts a refusal. */
  admits(holder: string, amount = 1): boolean {
    if (this.hasRoomFor(holder, amount)) return true;
    this.#refused += 1;
    return false;
  }

  /** Takes an amount for the holder. Returns false, and takes nothing, if the holder's share is used up. */
  take(holder: string, amount = 1): boolean {
    if (!this.admits(holder, amount)) return false;
    this.add(holder, amount);
    return true;
  }

  /** Takes an amount like `take`, until the result is disposed of. Returns undefined if the holder's share is used up. */
  hold(holder: string, amount = 1): Holding | undefined {
    const holding = new Holding(this, holder);
    return holding.take(amount) ? holding : undefined;
  }

  /** Adds an amount that cannot be refused. It counts like any other. */
  add(holder: string, amount: number): void {
    this.#holderShare(holder).amount += amount;
    this.#used += amount;
  }

  /** Gives back an amount that the holder has. */
  free(holder: string, amount = 1): void {
    this.#holderShare(holder).amount -= amount;
    this.#used -= amount;
  }

  #holderShare(holder: string): Share {
    const known = this.#shares.get(holder);
    if (known !== undefined) return known;
    if (this.#shares.size >= this.#sweptAt) this.#sweep();
    const share = { amount: 0 };
    this.#shares.set(holder, share);
    return share;
  }

  /** Shares are not removed as soon as they are empty, because V8 would often replace the table of the map. */
  #sweep(): void {
    for (const [holder, { amount }] of this.#shares) if (amount === 0) this.#shares.delete(holder);
    this.#sweptAt = Math.max(SHARES_SWEPT_AT, 2 * this.#shares.size);
  }
}

/** What one holder has of a pool for one purpose. Disposing of it gives all of it back. */
export class Holding implements Disposable {
  readonly #pool: SharedPool;
  readonly #holder: string;
  #amount = 0;

  constructor(pool: SharedPool, holder: string) {
    this.#pool = pool;
    this.#holder = holder;
  }

  get amount(): number {
    return this.#amount;
  }

  /** Returns false, and takes nothing, if the holder's share is used up. */
  take(amount: number): boolean {
    if (!this.#pool.take(this.#holder, amount)) return false;
    this.#amount += amount;
    return true;
  }

  /** Adds an amount that cannot be refused, or gives some of it back if the amount is negative. */
  add(amount: number): void {
    this.#pool.add(this.#holder, amount);
    this.#amount += amount;
  }

  [Symbol.dispose](): void {
    if (this.#amount !== 0) this.add(-this.#amount);
  }
}
