interface Member {
  readonly names: Set<string>;
  /** The names in order. Undefined until not all of them are selected. */
  sorted: string[] | undefined;
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
 * names come first are selected. With more than `max` namespaces, those whose names come first have one object each. The time of a
 * change does not grow with the number of a namespace's objects.
 */
export class FairSelection implements Iterable<string> {
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
    if (member.names.has(name)) return;
    member.names.add(name);
    member.sorted?.splice(placeIn(member.sorted, name), 0, name);
    this.#shares = undefined;
  }

  delete(namespace: string, name: string): void {
    const member = this.#members.get(namespace);
    if (member?.names.delete(name) !== true) return;
    if (member.names.size === 0) this.#members.delete(namespace);
    member.sorted?.splice(placeIn(member.sorted, name), 1);
    this.#shares = undefined;
  }

  has(namespace: string, name: string): boolean {
    const member = this.#members.get(namespace);
    if (member?.names.has(name) !== true) return false;
    const { each, namespaces } = this.#current;
    if (!namespaces.has(namespace)) return false;
    const last = member.names.size <= each ? undefined : sortedIn(member)[each - 1];
    return last === undefined || name <= last;
  }

  /** Iterates over the names of the selected objects. */
  *[Symbol.iterator](): Generator<string> {
    const { each, namespaces } = this.#current;
    for (const namespace of namespaces) {
      const member = this.#members.get(namespace);
      if (member !== undefined) yield* member.names.size <= each ? member.names : sortedIn(member).slice(0, each);
    }
  }

  get #current(): Shares {
    return (this.#shares ??= this.#share());
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

const sortedIn = (member: Member): readonly string[] => (member.sorted ??= [...member.names].sort());

/** Returns the index of a name in a sorted list, or the index at which to insert it. */
const placeIn = (sorted: readonly string[], name: string): number => {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? '') < name) low = middle + 1;
    else high = middle;
  }
  return low;
};
