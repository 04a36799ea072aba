interface Member {
  readonly names: Set<string>;
  /** The names in order. Undefined if they must be sorted again. */
  sorted: readonly string[] | undefined;
}

interface Shares {
  /** The number of objects that each namespace can have. */
  readonly each: number;
  readonly namespaces: ReadonlySet<string>;
}

/**
 * Selects at most `max` objects. If there are more, each namespace has at most an equal part, which is larger if other namespaces need
 * less than theirs. Nothing is kept free for another namespace, because all is selected again when one comes. The selection depends only
 * on which objects there are, so that processes that know the same objects select the same ones. Of a namespace's objects, those whose
 * names come first are selected. With more than `max` namespaces, those whose names come first have one object each.
 */
export class FairSelection {
  readonly #max: number;
  readonly #members = new Map<string, Member>();
  /** Undefined if something has changed. */
  #shares: Shares | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  add(namespace: string, name: string): void {
    const member = this.#members.get(namespace) ?? { names: new Set(), sorted: undefined };
    this.#members.set(namespace, member);
    member.names.add(name);
    this.#changed(member);
  }

  delete(namespace: string, name: string): void {
    const member = this.#members.get(namespace);
    if (member?.names.delete(name) !== true) return;
    if (member.names.size === 0) this.#members.delete(namespace);
    this.#changed(member);
  }

  /** Returns whether the object is selected. */
  has(namespace: string, name: string): boolean {
    const member = this.#members.get(namespace);
    if (member?.names.has(name) !== true) return false;
    this.#shares ??= this.#share();
    const { each, namespaces } = this.#shares;
    if (!namespaces.has(namespace)) return false;
    if (member.names.size <= each) return true;
    member.sorted ??= [...member.names].sort();
    const last = member.sorted[each - 1];
    return last !== undefined && name <= last;
  }

  #changed(member: Member): void {
    member.sorted = undefined;
    this.#shares = undefined;
  }

  #share(): Shares {
    const sizes = Array.from(this.#members.values(), ({ names }) => names.size);
    const isPossible = (each: number): boolean =>
      sizes.reduce((sum, size) => sum + Math.min(size, each), 0) <= this.#max;
    let [each, tooMany] = [1, this.#max + 1];
    while (tooMany - each > 1) {
      const middle = Math.floor((each + tooMany) / 2);
      if (isPossible(middle)) each = middle;
      else tooMany = middle;
    }
    const all = [...this.#members.keys()];
    const namespaces = new Set(all.length <= this.#max ? all : all.sort().slice(0, this.#max));
    return { each, namespaces };
  }
}
