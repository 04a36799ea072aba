import { LIMITS, SourceError, type IdentityFault, type ObjectRef, type ResourceObject } from '@standin/contract';
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

const FULL = `Secret ${IDENTITIES_SECRET} has ${LIMITS.identitiesPerNamespaceMax} entries, the maximum: delete those of objects that no longer exist.`;

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

/**
 * Resolves the identities of a namespace's objects, in their order, and stores the new ones first. Undefined: the object no longer
 * exists. Rejects if a retry may help.
 */
export const recordIdentities = async (
  { store, isCurrent }: RecordParts,
  namespace: string,
  candidates: readonly Candidate[],
): Promise<readonly (Known | undefined)[]> => {
  const key = await store.key();
  const stored = await store.read(namespace).catch(refusalOf);
  if (typeof stored === 'string') return candidates.map((candidate) => unlessInUse(candidate, stored));

  const resolved = candidates.map(({ object }) =>
    resolveIdentity(object, stored.entries.get(entryName(refOf(object))), key),
  );
  // A view that lags behind may have objects of a deleted namespace. Their identities must not pass to a new one of its name.
  const isGone = await Promise.all(
    resolved.map(async ({ kind }, index) => kind === 'unrecorded' && !(await isCurrent(at(candidates, index).object))),
  );
  const entries = new Map(stored.entries);
  const identities = resolved.map((identity, index): Identity | undefined => {
    if (isGone[index] === true) return undefined;
    return identity.kind === 'unrecorded' ? addEntry(entries, at(candidates, index), key) : identity;
  });
  const isChanged = identities.some((identity) => identity?.kind === 'unrecorded');
  const refusal = isChanged ? await store.write(namespace, stored, entries).catch(refusalOf) : undefined;
  return identities.map((identity, index): Known | undefined => {
    const candidate = at(candidates, index);
    if (identity?.kind === 'fault') return faulty(candidate.object, identity);
    if (identity?.kind === 'unrecorded' && refusal !== undefined) return unlessInUse(candidate, refusal);
    return identity && { uid: identity.id };
  });
};

const at = (candidates: readonly Candidate[], index: number): Candidate => candidates[index] as Candidate;

const addEntry = (entries: Map<string, string>, { object, known }: Candidate, key: Uint8Array): Identity => {
  const ref = refOf(object);
  const name = entryName(ref);
  if (!entries.has(name) && entries.size >= LIMITS.identitiesPerNamespaceMax) {
    return { kind: 'fault', reason: 'IdentityNotRecorded', message: FULL };
  }
  // The entry of an object that is in use was removed.
  const id = isInUse(known) ? known.uid : object.metadata.uid;
  entries.set(name, signedEntry(ref, id, key));
  return { kind: 'unrecorded', id };
};

const isInUse = (known: Known | undefined): known is Known => known !== undefined && known.fault === undefined;

/** An identity that is in use stays in use while a right is missing. */
const unlessInUse = ({ object, known }: Candidate, refusal: string): Known =>
  isInUse(known)
    ? known
    : faulty(object, {
        reason: 'IdentityNotRecorded',
        message: `Secret ${IDENTITIES_SECRET} cannot be read or written: ${refusal}.`,
      });

/** The reason, if an error concerns only this Secret and only a change of rights or of the Secret helps. Throws any other error. */
const refusalOf = (error: unknown): string => {
  const refusals: readonly string[] = ['Forbidden', 'Invalid', 'NotFound'];
  if (error instanceof SourceError && refusals.includes(error.kind)) return error.message;
  throw error;
};
