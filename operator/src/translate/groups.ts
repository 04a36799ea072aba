/** Items by a key that several of them have. */
export class Groups<T> {
  readonly #groups = new Map<string, Set<T>>();

  /** Returns the items with this key. */
  get(key: string): ReadonlySet<T> {
    return this.#groups.get(key) ?? new Set();
  }

  add(key: string, item: T): void {
    const group = this.#groups.get(key);
    if (group === undefined) this.#groups.set(key, new Set([item]));
    else group.add(item);
  }

  delete(key: string, item: T): void {
    const group = this.#groups.get(key);
    group?.delete(item);
    if (group?.size === 0) this.#groups.delete(key);
  }
}
