/** An object that claims something that only one object can have. */
export interface Claimant {
  /** Milliseconds since the epoch. */
  readonly createdAtMs: number;
  readonly uid: string;
}

/** Sorts older objects first. The uid breaks ties, so that every process makes the same decision. */
export const byAge = (a: Claimant, b: Claimant): number =>
  a.createdAtMs - b.createdAtMs || (a.uid < b.uid ? -1 : a.uid > b.uid ? 1 : 0);

/** Tracks which objects claim what. The oldest of several claimants prevails, as in the Gateway API's rule for conflicts. */
export class Claims<T extends Claimant> {
  readonly #claimants = new Map<string, T[]>();

  holder(key: string): T | undefined {
    return this.#claimants.get(key)?.[0];
  }

  /** Adds a claimant. If it is now the holder, returns the other claimants, which are affected. */
  add(key: string, claimant: T): readonly T[] {
    const claimants = this.#claimants.get(key);
    if (claimants === undefined) {
      this.#claimants.set(key, [claimant]);
      return [];
    }
    const place = placeOf(claimants, claimant, (other) => other);
    const others = place === 0 ? [...claimants] : [];
    claimants.splice(place, 0, claimant);
    return others;
  }

  /** Removes a claimant. If it was the holder, returns the remaining claimants, which are affected. */
  remove(key: string, claimant: T): readonly T[] {
    const claimants = this.#claimants.get(key) ?? [];
    const place = claimants.indexOf(claimant);
    if (place === -1) return [];
    claimants.splice(place, 1);
    if (claimants.length === 0) this.#claimants.delete(key);
    return place === 0 ? [...claimants] : [];
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
