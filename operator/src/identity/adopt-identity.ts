import { SourceError, type Kind, type ObjectRef } from '@standin/contract';
import type { IdentityStore } from './identity-secrets.ts';
import {
  entryName,
  IDENTITIES_SECRET,
  isMovedAway,
  movedKey,
  signedEntry,
  verifiedEntry,
  type Assertion,
  type Installation,
} from './resolve-identity.ts';

/** The object that has the identity now, or the identity itself. */
export type Adopted = { readonly from: ObjectRef } | { readonly id: string };

export interface Adoption {
  readonly id: string;
  /** The entry that the object had before, as stored. */
  readonly replaced: string | undefined;
}

const ATTEMPTS_MAX = 5;

/**
 * Gives an identity to the object `to`. All earlier entries with the identity become void, so the owner of an object that had it
 * cannot restore it. With `from`, the object `from` loses its entry. The new entry is written first, so repeating the call completes
 * an interrupted move. Rejects with `SourceError`.
 */
export const adoptIdentity = async (
  store: IdentityStore,
  to: ObjectRef,
  adopted: Adopted,
  now: number = Date.now(),
): Promise<Adoption> => {
  const installation = await store.installation();
  const id = 'id' in adopted ? adopted.id : await currentId(store, { from: adopted.from, to }, installation);
  const epoch = Math.max(now, (installation.epochs.get(movedKey(to.kind, id)) ?? 0) + 1);
  const before = await change(store, to, () => signedEntry(to, { id, epoch }, installation.key));
  await raiseEpoch(store, to.kind, { id, epoch });
  // An object that was created under the old name in the meantime keeps its own identity.
  if ('from' in adopted)
    await change(store, adopted.from, (entry) => (entry?.startsWith(`${id} `) === true ? undefined : entry));
  return { id, replaced: before };
};

interface Move {
  readonly from: ObjectRef;
  readonly to: ObjectRef;
}

/**
 * Resolves with the identity of `from`. An entry that became void by an interrupted move to the same object counts, so that the move
 * can be completed.
 */
const currentId = async (store: IdentityStore, { from, to }: Move, installation: Installation): Promise<string> => {
  const name = entryName(from);
  const entry = (await store.read(from.namespace)).entries.get(name);
  const place = `Secret ${from.namespace}/${IDENTITIES_SECRET}`;
  if (entry === undefined) throw new SourceError('NotFound', `${place} has no entry ${name}`);
  const asserted = verifiedEntry(from, entry, installation.key);
  if (asserted === undefined)
    throw new SourceError(
      'Invalid',
      `the entry ${name} in ${place} was not signed by this installation: pass the identity with --id`,
    );
  const present = (await store.read(to.namespace)).entries.get(entryName(to));
  const moved = present === undefined ? undefined : verifiedEntry(to, present, installation.key);
  if (!isMovedAway(from.kind, asserted, installation) || moved?.id === asserted.id) return asserted.id;
  throw new SourceError(
    'Invalid',
    `the identity in the entry ${name} in ${place} was moved to another object: to move it again, pass --id ${asserted.id}`,
  );
};

const raiseEpoch = async (store: IdentityStore, kind: Kind, moved: Assertion): Promise<void> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await store.raiseEpoch(kind, moved);
      return;
    } catch (error) {
      if (!isConflict(error) || attempt === ATTEMPTS_MAX) throw error;
    }
  }
};

const isConflict = (error: unknown): boolean => error instanceof SourceError && error.kind === 'Conflict';

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
      if (!isConflict(error) || attempt === ATTEMPTS_MAX) throw error;
    }
  }
};
