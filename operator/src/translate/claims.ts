/** An object that claims something that only one object can have. */
export interface Claimant {
  /** Milliseconds since the epoch. */
  readonly createdAtMs: number;
  readonly uid: string;
  readonly ref: { readonly namespace: string };
}

/** The object for which a claim is recorded. It may no longer exist. */
export interface Holder {
  readonly uid: string;
  readonly namespace: string;
}

/** Returns for which object a claim, such as `uri shop`, is recorded. Undefined if it is not recorded. */
export type Holders = (claim: string) => Holder | undefined;

/** A claim, and the object that has it or gets it when the claim is recorded. */
export interface Claim extends Holder {
  readonly claim: string;
}

/** Sorts older objects first. The uid breaks ties, so that every process makes the same decision. */
export const byAge = (a: Claimant, b: Claimant): number =>
  a.createdAtMs - b.createdAtMs || (a.uid < b.uid ? -1 : a.uid > b.uid ? 1 : 0);

/**
 * Tracks which objects claim what. The object for which a claim is recorded prevails. If it does not claim it now, the oldest other
 * claimant of its namespace does. The oldest of all claimants prevails only if the claim is not recorded.
 */
export class Claims<T extends Claimant> {
  readonly #claimants = new Map<string, T[]>();
  readonly #recorded: Holders;

  constructor(recorded: Holders) {
    this.#recorded = recorded;
  }

  /** Returns the claimant that prevails, if there is one. */
  holder(claim: string): T | undefined {
    const claimants = this.#claimants.get(claim);
    if (claimants === undefined) return undefined;
    const recorded = this.#recorded(claim);
    if (recorded === undefined) return claimants[0];
    return (
      claimants.find(({ uid }) => uid === recorded.uid) ??
      claimants.find(({ ref }) => ref.namespace === recorded.namespace)
    );
  }

  /** Returns all claimants, oldest first. */
  claimants(claim: string): readonly T[] {
    return this.#claimants.get(claim) ?? [];
  }

  /** Adds a claimant. If another claimant prevails now, returns the earlier claimants, which are affected. */
  add(claim: string, claimant: T): readonly T[] {
    const claimants = this.#claimants.get(claim);
    if (claimants === undefined) {
      this.#claimants.set(claim, [claimant]);
      return [];
    }
    const others = [...claimants];
    const before = this.holder(claim);
    const place = placeOf(claimants, claimant, (other) => other);
    claimants.splice(place, 0, claimant);
    return this.holder(claim) === before ? [] : others;
  }

  /** Removes a claimant. If another claimant prevails now, returns the remaining claimants, which are affected. */
  remove(claim: string, claimant: T): readonly T[] {
    const claimants = this.#claimants.get(claim) ?? [];
    const place = claimants.indexOf(claimant);
    if (place === -1) return [];
    const before = this.holder(claim);
    claimants.splice(place, 1);
    if (claimants.length === 0) this.#claimants.delete(claim);
    return this.holder(claim) === before ? [] : [...claimants];
  }
}

/** Returns the index at which a claimant is, or belongs, in a list that is sorted by age. */
export const placeOf = <I>(
  items: readonly I[],
  claimant: Claimant,
  claimantOf: (item: I) => Claimant | undefined,
): number => {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = items[middle];
    const other = item === undefined ? undefined : claimantOf(item);
    if (other !== undefined && byAge(other, claimant) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
};
