/** A place in a circular list, from the oldest item to the newest. The list itself is a place without an item. */
class Place<Item> {
  readonly item: Item | undefined;
  #older: Place<Item> = this;
  #newer: Place<Item> = this;

  constructor(item?: Item) {
    this.item = item;
  }

  /** The oldest item of this list. Undefined if it is empty. */
  get oldest(): Item | undefined {
    return this.#newer.item;
  }

  leave(): void {
    this.#older.#newer = this.#newer;
    this.#newer.#older = this.#older;
    this.#older = this;
    this.#newer = this;
  }

  /** Leaves the list of this place, and becomes the newest in another one. */
  join(list: Place<Item>): void {
    this.leave();
    this.#older = list.#older;
    this.#newer = list;
    this.#older.#newer = this;
    list.#older = this;
  }
}

class Entry<Value> {
  readonly place = new Place<Entry<Value>>(this);
  readonly key: string;
  readonly holder: Holder<Value>;
  readonly value: Value;

  constructor(key: string, holder: Holder<Value>, value: Value) {
    this.key = key;
    this.holder = holder;
    this.value = value;
  }
}

class Holder<Value> {
  readonly place = new Place<Holder<Value>>(this);
  readonly name: string;
  /** In order of last use. */
  readonly entries = new Place<Entry<Value>>();
  count = 0;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * Remembers at most `max` values. Each has a holder, which is a namespace wherever it is known. If there are too many, the holder with
 * the most of them loses the one that was used least recently. A holder with less than an equal part of `max` therefore loses nothing,
 * however many values others add. For values that can be asked for or computed again. Each operation takes constant time.
 */
export class FairMap<Value> implements Iterable<readonly [key: string, value: Value]> {
  readonly #max: number;
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #holders = new Map<string, Holder<Value>>();
  /** The holders by their count, in order of last use. */
  readonly #byCount = new Map<number, Place<Holder<Value>>>();
  /** The highest count. */
  #most = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Returns a value, which is then the last used one of its holder. */
  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    entry.place.join(entry.holder.entries);
    this.#count(entry.holder, 0);
    return entry.value;
  }

  /** Adds or replaces a value, which is then the last used one of its holder. Returns the value that is forgotten for it, if any. */
  set(key: string, value: Value, holderName: string): Value | undefined {
    this.delete(key);
    const holder = this.#holders.get(holderName) ?? new Holder<Value>(holderName);
    const entry = new Entry(key, holder, value);
    this.#entries.set(key, entry);
    entry.place.join(holder.entries);
    this.#count(holder, 1);
    if (this.#entries.size <= this.#max) return undefined;
    const forgotten = this.#byCount.get(this.#most)?.oldest?.entries.oldest;
    if (forgotten !== undefined) this.delete(forgotten.key);
    return forgotten?.value;
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    entry.place.leave();
    this.#count(entry.holder, -1);
  }

  /** Iterates over all values, in no particular order. This is not a use of them. */
  *[Symbol.iterator](): Generator<readonly [key: string, value: Value]> {
    for (const [key, { value }] of this.#entries) yield [key, value];
  }

  /** Changes the count of a holder, which is then the last used one of those with the same count. */
  #count(holder: Holder<Value>, change: -1 | 0 | 1): void {
    const before = holder.count;
    holder.count += change;
    const { count, name } = holder;
    if (count === 0) {
      holder.place.leave();
      this.#holders.delete(name);
    } else {
      const list = this.#byCount.get(count) ?? new Place<Holder<Value>>();
      this.#byCount.set(count, list);
      holder.place.join(list);
      this.#holders.set(name, holder);
    }
    if (this.#byCount.get(before)?.oldest === undefined) this.#byCount.delete(before);
    // If no other holder had the highest count, this one has the highest count again, even if it is one less.
    if (count > this.#most || !this.#byCount.has(this.#most)) this.#most = count;
  }
}
