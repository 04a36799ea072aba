import { isRecord, ownMember } from '@standin/contract';

/** Whose value is used for a field that both users have changed. */
export type Side = 'mine' | 'theirs';

/** A field that both users have changed to different values. A value is undefined if the field does not exist in that version. */
export interface Collision {
  /** The path of the field, such as `responses[not-found].body`. */
  readonly path: string;
  readonly base: unknown;
  readonly mine: unknown;
  readonly theirs: unknown;
}

export interface Merge<T> {
  /** Contains the changes of both users. For each collision, contains the value of the preferred side. */
  readonly merged: T;
  readonly collisions: readonly Collision[];
  /** The paths of the fields that only the other user has changed. */
  readonly taken: readonly string[];
}

interface Merging {
  readonly prefer: (path: string) => Side;
  readonly collisions: Collision[];
  readonly taken: string[];
}

/**
 * Merges two changed versions of the same values. Values are plain data, as in JSON. Lists whose items have different names are
 * merged item by item. All other lists are merged as one value.
 */
export const mergeValues = <T>(
  base: T,
  mine: T,
  theirs: T,
  prefer: (path: string) => Side = () => 'mine',
): Merge<T> => {
  const merging: Merging = { prefer, collisions: [], taken: [] };
  const merged = mergeAt('', { base, mine, theirs }, merging) as T;
  return { merged, collisions: merging.collisions, taken: merging.taken };
};

type Versions = Omit<Collision, 'path'>;

export const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

const mergeAt = (path: string, versions: Versions, merging: Merging): unknown => {
  const { base, mine, theirs } = versions;
  if (isSame(mine, theirs)) return mine;
  if (isRecord(base) && isRecord(mine) && isRecord(theirs)) {
    const keys = new Set([...Object.keys(mine), ...Object.keys(theirs)]);
    const entries = [...keys].map((key) => {
      const at = path === '' ? key : `${path}.${key}`;
      const members = { base: ownMember(base, key), mine: ownMember(mine, key), theirs: ownMember(theirs, key) };
      return [key, mergeAt(at, members, merging)] as const;
    });
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  }
  return mergeNamed(path, versions, merging) ?? mergeWhole(path, versions, merging);
};

const mergeWhole = (
  path: string,
  { base, mine, theirs }: Versions,
  { prefer, collisions, taken }: Merging,
): unknown => {
  if (isSame(base, theirs)) return mine;
  if (isSame(base, mine)) {
    taken.push(path);
    return theirs;
  }
  collisions.push({ path, base, mine, theirs });
  return prefer(path) === 'mine' ? mine : theirs;
};

/** Returns the items of a list by name. Returns undefined if an item has no name, or if two have the same one. */
const byName = (list: unknown): ReadonlyMap<string, unknown> | undefined => {
  if (!Array.isArray(list)) return undefined;
  const items = new Map<string, unknown>();
  for (const item of list as unknown[]) {
    const name = isRecord(item) ? item['name'] : undefined;
    if (typeof name !== 'string' || items.has(name)) return undefined;
    items.set(name, item);
  }
  return items;
};

/**
 * Merges lists of named items. Returns undefined if they cannot be merged: both users have added, moved or removed items, or one
 * user has changed an item that the other user has removed.
 */
const mergeNamed = (path: string, versions: Versions, merging: Merging): readonly unknown[] | undefined => {
  const base = byName(versions.base);
  const mine = byName(versions.mine);
  const theirs = byName(versions.theirs);
  if (base === undefined || mine === undefined || theirs === undefined) return undefined;
  const [before, here, there] = [base, mine, theirs].map((items) => [...items.keys()].join('\n'));
  const [ordered, other] = here === before ? [theirs, mine] : there === before || there === here ? [mine, theirs] : [];
  if (ordered === undefined || other === undefined) return undefined;
  const isLost = ([name, item]: [string, unknown]): boolean => !ordered.has(name) && !isSame(base.get(name), item);
  if ([...other].some(isLost)) return undefined;
  if (ordered === theirs && there !== before) merging.taken.push(path);
  return [...ordered.keys()].map((name) => {
    const item = { base: base.get(name), mine: mine.get(name), theirs: theirs.get(name) };
    return other.has(name) ? mergeAt(`${path}[${name}]`, item, merging) : ordered.get(name);
  });
};
