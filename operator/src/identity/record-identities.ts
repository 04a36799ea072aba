import { LIMITS, SourceError, type IdentityFault, type ObjectRef, type ResourceObject } from '@standin/contract';
import { readStatus } from '@standin/crds';
import type { IdentityStore } from './identity-secrets.ts';
import { entryName, IDENTITIES_SECRET, resolveIdentity, signedEntry, type Identity } from './resolve-identity.ts';

/** What replaces an object's uid. */
export interface Known {
  readonly uid: string;
  readonly fault?: IdentityFault;
}

/** An object, and the identity that it has been reported with. */
export interface Candidate {
  readonly object: ResourceObject;
  readonly known: Known | undefined;
}

const FULL = `Secret ${IDENTITIES_SECRET} has reached the maximum of ${LIMITS.identitiesPerNamespaceMax} entries: delete the entries of objects that no longer exist`;

export const refOf = ({ kind, metadata: { namespace, name } }: ResourceObject): ObjectRef => ({
  kind,
  namespace,
  name,
});

/** Two objects must never have the same uid, even if the identity of one of them is the uid of the other. */
export const faulty = ({ metadata: { uid } }: ResourceObject, { reason, message }: IdentityFault): Known => ({
  uid: `unidentified ${uid}`,
  fault: { reason, message },
});

export interface RecordParts {
  readonly store: IdentityStore;
  /** Whether the API server still has this object, bypassing all caches. */
  readonly isCurrent: (object: ResourceObject) => Promise<boolean>;
}

export interface Resolved {
  /** In the order of the candidates. Undefined if the object no longer exists. */
  readonly identities: readonly (Known | undefined)[];
  /** Why identities are not stored, or not verified. */
  readonly problem?: string;
}

/**
 * Resolves the identities of a namespace's objects, and stores the new ones first.
 *
 * If a new identity cannot be stored, the object has it nevertheless: it is the object's own uid, which no other object has. If the
 * Secret cannot be read, only identities that are in use or that the status confirms are known. Rejects if a retry may help: on a
 * conflict, and, unless `isFinal`, if the API server is unavailable.
 */
export const recordIdentities = async (
  { store, isCurrent }: RecordParts,
  { namespace, isFinal }: { readonly namespace: string; readonly isFinal: boolean },
  candidates: readonly Candidate[],
): Promise<Resolved> => {
  const read = async () => ({ key: await store.key(), stored: await store.read(namespace) });
  const found = await read().catch((error: unknown) => refusalOf(error, isFinal));
  if (typeof found === 'string') {
    const problem = `Secret ${IDENTITIES_SECRET} cannot be read: ${found}`;
    return { identities: candidates.map((candidate) => unverified(candidate, problem)), problem };
  }

  const { key, stored } = found;
  const resolved = candidates.map(({ object }) =>
    resolveIdentity(object, stored.entries.get(entryName(refOf(object))), key),
  );
  const identities = candidates.map((candidate, index) => knownAs(candidate, resolved[index] as Identity));
  const added = candidates.filter((_, index) => resolved[index]?.kind === 'unrecorded');
  if (added.length === 0) return { identities };
  try {
    // A stale view may contain objects of a deleted namespace. A new namespace with the same name must not inherit their identities.
    const isThere = await inChunks(added, ({ object }) => isCurrent(object));
    const existing = new Set(added.filter((_, index) => isThere[index]));
    const entries = new Map(stored.entries);
    const isFull = [...existing].filter((candidate) => !addEntry(entries, candidate, key)).length > 0;
    if (existing.size > 0) await store.write(namespace, stored, entries);
    const left = candidates.map((candidate, index) =>
      resolved[index]?.kind === 'unrecorded' && !existing.has(candidate) ? undefined : identities[index],
    );
    return { identities: left, ...(isFull && { problem: FULL }) };
  } catch (error) {
    const problem = `Secret ${IDENTITIES_SECRET} cannot be written: ${refusalOf(error, true)}`;
    return { identities, problem };
  }
};

/** Calls to the API server at the same time. A client has few connections, and waiting for one counts toward its timeout. */
const CHUNK = 32;

const inChunks = async <T, R>(items: readonly T[], run: (item: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = [];
  for (let start = 0; start < items.length; start += CHUNK)
    results.push(...(await Promise.all(items.slice(start, start + CHUNK).map(run))));
  return results;
};

const knownAs = (candidate: Candidate, identity: Identity): Known => {
  if (identity.kind === 'fault') return faulty(candidate.object, identity);
  return { uid: identity.kind === 'recorded' ? identity.id : idOf(candidate) };
};

/** The identity of an object without an entry. If it is in use under another one, its entry was removed. */
const idOf = ({ object, known }: Candidate): string => (isInUse(known) ? known.uid : object.metadata.uid);

/** Returns false if there is no room. */
const addEntry = (entries: Map<string, string>, candidate: Candidate, key: Uint8Array): boolean => {
  const ref = refOf(candidate.object);
  const name = entryName(ref);
  if (!entries.has(name) && entries.size >= LIMITS.identitiesPerNamespaceMax) return false;
  entries.set(name, signedEntry(ref, idOf(candidate), key));
  return true;
};

const isInUse = (known: Known | undefined): known is Known => known !== undefined && known.fault === undefined;

/**
 * An object's own uid claims nothing that belongs to another object, so the status is proof enough. Before identities existed, a
 * processed object had no id in its status.
 */
const unverified = ({ object, known }: Candidate, problem: string): Known => {
  if (isInUse(known)) return known;
  const { uid } = object.metadata;
  const { id, observedGeneration } = readStatus('Project', object.status);
  const isOwn = id === uid || (id === undefined && observedGeneration !== undefined);
  return isOwn ? { uid } : faulty(object, { reason: 'IdentityNotRecorded', message: `${problem}.` });
};

/** Returns the reason if the error affects only this Secret. Rethrows a conflict, and any other error unless it is final. */
const refusalOf = (error: unknown, isFinal: boolean): string => {
  const refusals: readonly string[] = ['Forbidden', 'Invalid', 'NotFound'];
  const isConflict = error instanceof SourceError && error.kind === 'Conflict';
  const isRefusal = error instanceof SourceError && refusals.includes(error.kind);
  if (!isConflict && (isRefusal || isFinal)) return error instanceof Error ? error.message : String(error);
  throw error;
};
