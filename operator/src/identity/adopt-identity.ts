import { SourceError, type ObjectRef } from '@standin/contract';
import type { IdentityStore } from './identity-secrets.ts';
import { entryName, IDENTITIES_SECRET, signedEntry, verifiedId } from './resolve-identity.ts';

/** The object that has the identity now, or the identity itself. */
export type Adopted = { readonly from: ObjectRef } | { readonly id: string };

export interface Adoption {
  readonly id: string;
  /** The entry that the object had before, as stored. */
  readonly replaced: string | undefined;
}

const ATTEMPTS_MAX = 5;

/**
 * Gives an identity to the object `to`. With `from`, the object `from` loses the identity. The new entry is written first, so
 * repeating the call completes an interrupted move. Rejects with `SourceError`.
 */
export const adoptIdentity = async (store: IdentityStore, to: ObjectRef, adopted: Adopted): Promise<Adoption> => {
  const key = await store.key();
  const id = 'id' in adopted ? adopted.id : await idOf(store, adopted.from, key);
  const before = await change(store, to, () => signedEntry(to, id, key));
  // An object that was created under the old name in the meantime keeps its own identity.
  if ('from' in adopted)
    await change(store, adopted.from, (entry) => (entry?.startsWith(`${id} `) === true ? undefined : entry));
  return { id, replaced: before };
};

const idOf = async (store: IdentityStore, from: ObjectRef, key: Uint8Array): Promise<string> => {
  const name = entryName(from);
  const entry = (await store.read(from.namespace)).entries.get(name);
  const place = `Secret ${from.namespace}/${IDENTITIES_SECRET}`;
  if (entry === undefined) throw new SourceError('NotFound', `${place} has no entry ${name}`);
  const id = verifiedId(from, entry, key);
  if (id !== undefined) return id;
  throw new SourceError(
    'Invalid',
    `the entry ${name} in ${place} was not signed by this installation: pass the identity with --id`,
  );
};

/** Replaces the entry with the result of `update`, or removes it if the result is undefined. Resolves with the earlier entry. */
const change = async (
  store: IdentityStore,
  ref: ObjectRef,
  update: (entry: string | undefined) => string | undefined,
): Promise<string | undefined> => {
  for (let attempt = 1; ; attempt += 1) {
    const stored = await store.read(ref.namespace);
    const entries = new Map(stored.entries);
    const name = entryName(ref);
    const before = stored.entries.get(name);
    const entry = update(before);
    if (entry === before) return before;
    if (entry === undefined) entries.delete(name);
    else entries.set(name, entry);
    try {
      await store.write(ref.namespace, stored, entries);
      return before;
    } catch (error) {
      const lostRace = error instanceof SourceError && error.kind === 'Conflict';
      if (!lostRace || attempt === ATTEMPTS_MAX) throw error;
    }
  }
};
