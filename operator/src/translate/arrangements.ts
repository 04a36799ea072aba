import { LIMITS } from '@standin/contract';
import { indexByAge } from './claims.ts';
import type { Entry } from './types.ts';

/** The Endpoints whose slugs have the same arrangement of literals and parameters, oldest first. */
interface Arrangement {
  readonly letters: string;
  readonly members: Entry[];
}

/**
 * Limits the arrangements (see `patternArrangement`) that a gateway compares a path with. A group contains a project's slugs with
 * the same number of segments, or its slugs that end in a parameter for the rest of the path. In each group, the arrangements with
 * the oldest Endpoints are allowed, so that a newer Endpoint never displaces one that is served.
 */
export class Arrangements {
  /** The arrangements of each group, sorted by their oldest members. */
  readonly #groups = new Map<string, Arrangement[]>();

  allows({ arrangement }: Entry): boolean {
    return (
      arrangement === undefined ||
      this.#allowed(arrangement.group).some(({ letters }) => letters === arrangement.letters)
    );
  }

  /** Adds an Endpoint. Returns the Endpoints whose arrangement is now allowed or no longer allowed. */
  add(entry: Entry): readonly Entry[] {
    return this.#change(entry, (members, place) => members.splice(place, 0, entry));
  }

  /** Removes an Endpoint. Returns the remaining Endpoints whose arrangement is now allowed or no longer allowed. */
  remove(entry: Entry): readonly Entry[] {
    return this.#change(entry, (members, place) => members.splice(place, 1));
  }

  #change(entry: Entry, change: (members: Entry[], place: number) => void): readonly Entry[] {
    if (entry.arrangement === undefined) return [];
    const { group, letters } = entry.arrangement;
    const before = this.#allowed(group);
    const arrangements = this.#groups.get(group) ?? [];
    const at = arrangements.findIndex((arrangement) => arrangement.letters === letters);
    const [changed = { letters, members: [] }] = at === -1 ? [] : arrangements.splice(at, 1);
    change(
      changed.members,
      indexByAge(changed.members, entry, (member) => member),
    );
    const [oldest] = changed.members;
    if (oldest !== undefined) {
      const place = indexByAge(arrangements, oldest, ({ members }) => members[0]);
      arrangements.splice(place, 0, changed);
    }
    if (arrangements.length > 0) this.#groups.set(group, arrangements);
    else this.#groups.delete(group);
    const after = this.#allowed(group);
    const gained = after.filter((arrangement) => !before.includes(arrangement));
    const lost = before.filter((arrangement) => !after.includes(arrangement));
    return [...gained, ...lost].flatMap(({ members }) => members);
  }

  #allowed(group: string): readonly Arrangement[] {
    return (this.#groups.get(group) ?? []).slice(0, LIMITS.arrangementsMax);
  }
}
