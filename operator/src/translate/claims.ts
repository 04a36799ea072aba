/** An object that claims something that only one object can have. */
export interface Claimant {
  /** Milliseconds since the epoch. */
  readonly createdAtMs: number;
  readonly uid: string;
  readonly ref: { readonly namespace: string };
  /** Whether every claimant that does not yield prevails over it, however new. Must not change while it claims anything. */
  readonly yields?: boolean;
}

/** The object for which a claim is recorded. It may no longer exist. */
export interface Holder {
  readonly uid: string;
  readonly namespace: string;
  /**
   * The object of the same namespace that had the claim before. If its identity is moved to another namespace, it gets the claim
   * back. Otherwise, the former namespace could keep the claim with another object.
   */
  readonly former?: string | undefined;
}

/** Returns whether an object has a recorded claim, or had it before its identity was moved to another namespace. */
export const isRecordedFor = ({ uid, namespace, former }: Holder, claimant: Claimant): boolean =>
  claimant.uid === uid || (claimant.uid === former && claimant.ref.namespace !== namespace);

/** Returns for which object a claim, such as `uri shop`, is recorded. Undefined if it is not recorded. */
export type Holders = (claim: string) => Holder | undefined;

/** A claim, and the object that has it or gets it when the claim is recorded. */
export interface Claim extends Holder {
  readonly claim: string;
}

/** Sorts older objects first, after them those that yield. The uid breaks ties, so that every process makes the same decision. */
export const byAge = (a: Claimant, b: Claimant): number =>
  Number(a.yields === true) - Number(b.yields === true) ||
  a.createdAtMs - b.createdAtMs ||
  (a.uid < b.uid ? -1 : a.uid > b.uid ? 1 : 0);

/** The claimants of one claim. The lists are sorted by age. */
interface Claimants<T> {
  readonly all: T[];
  readonly byUid: Map<string, T>;
  readonly byNamespace: Map<string, T[]>;
  /** The claimant that prevailed at the last call of `takeAffected`. */
  prevailed: T | undefined;
}

/**
 * Tracks which objects claim what. The object for which a claim is recorded prevails (see `Holder`). If it does not claim it now, the
 * oldest other claimant of its namespace does. The oldest of all claimants prevails only if the claim is not recorded. Finds the
 * holder in constant time, because anyone can create many objects that claim the same.
 */
export class Claims<T extends Claimant> {
  readonly #claimants = new Map<string, Claimants<T>>();
  readonly #recorded: Holders;

  constructor(recorded: Holders) {
    this.#recorded = recorded;
  }

  /** Returns the claimant that prevails, if there is one. */
  holder(claim: string): T | undefined {
    const claimants = this.#claimants.get(claim);
    if (claimants === undefined) return undefined;
    const recorded = this.#recorded(claim);
    if (recorded === undefined) return claimants.all[0];
    const former = recorded.former === undefined ? undefined : claimants.byUid.get(recorded.former);
    if (former !== undefined && isRecordedFor(recorded, former)) return former;
    return claimants.byUid.get(recorded.uid) ?? claimants.byNamespace.get(recorded.namespace)?.[0];
  }

  /** Returns all claimants, oldest first. */
  claimants(claim: string): readonly T[] {
    return this.#claimants.get(claim)?.all ?? [];
  }

  /**
   * Returns the claimants that are affected if another one may prevail now, or if the record has changed: the one that prevailed at the
   * last call, and the one that prevails now. The others wait as before, so a change takes the same time with any number of them.
   */
  takeAffected(claim: string): readonly T[] {
    const claimants = this.#claimants.get(claim);
    if (claimants === undefined) return [];
    const { prevailed, byUid } = claimants;
    claimants.prevailed = this.holder(claim);
    const affected = [prevailed, claimants.prevailed].filter((one) => one !== undefined);
    // The former one may have been removed or replaced.
    return affected.filter((one) => byUid.get(one.uid) === one);
  }

  /** Adds a claimant. Returns whether another claimant prevails now. */
  add(claim: string, claimant: T): boolean {
    const { namespace } = claimant.ref;
    const claimants = this.#claimants.get(claim) ?? newClaimants<T>();
    const before = this.holder(claim);
    insert(claimants.all, claimant);
    claimants.byUid.set(claimant.uid, claimant);
    const inNamespace = claimants.byNamespace.get(namespace) ?? [];
    insert(inNamespace, claimant);
    claimants.byNamespace.set(namespace, inNamespace);
    this.#claimants.set(claim, claimants);
    return this.holder(claim) !== before;
  }

  /** Removes a claimant. Returns whether another claimant prevails now. */
  remove(claim: string, claimant: T): boolean {
    const claimants = this.#claimants.get(claim);
    if (claimants?.byUid.get(claimant.uid) !== claimant) return false;
    const { namespace } = claimant.ref;
    const before = this.holder(claim);
    withdraw(claimants.all, claimant);
    claimants.byUid.delete(claimant.uid);
    const inNamespace = claimants.byNamespace.get(namespace) ?? [];
    withdraw(inNamespace, claimant);
    if (inNamespace.length === 0) claimants.byNamespace.delete(namespace);
    if (claimants.all.length === 0) this.#claimants.delete(claim);
    return this.holder(claim) !== before;
  }
}

const newClaimants = <T>(): Claimants<T> => ({
  all: [],
  byUid: new Map(),
  byNamespace: new Map(),
  prevailed: undefined,
});

const insert = <T extends Claimant>(sorted: T[], claimant: T): void =>
  void sorted.splice(
    indexByAge(sorted, claimant, (other) => other),
    0,
    claimant,
  );

const withdraw = <T extends Claimant>(sorted: T[], claimant: T): void =>
  void sorted.splice(
    indexByAge(sorted, claimant, (other) => other),
    1,
  );

/** Returns the index at which a claimant is, or belongs, in a list that is sorted by age. */
export const indexByAge = <I>(
  items: readonly I[],
  claimant: Claimant,
  toClaimant: (item: I) => Claimant | undefined,
): number => {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = items[middle];
    const other = item === undefined ? undefined : toClaimant(item);
    if (other !== undefined && byAge(other, claimant) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
};
