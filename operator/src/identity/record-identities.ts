import { LIMITS, SourceError, type IdentityFault, type ObjectRef, type ResourceObject } from '@standin/contract';
import type { IdentityStore } from './identity-secrets.ts';
import { entryName, IDENTITIES_SECRET, resolveIdentity, signedEntry, type Identity } from './identity.ts';

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

/** Resolves the identities of a namespace's objects, in their order, and stores the new ones first. Rejects if a retry may help. */
export const recordIdentities = async (
  store: IdentityStore,
  namespace: string,
  candidates: readonly Candidate[],
): Promise<readonly Known[]> => {
  const key = await store.key();
  const stored = await store.read(namespace).catch(refusalOf);
  if (typeof stored === 'string') return candidates.map((candidate) => unlessInUse(candidate, stored));

  const entries = new Map(stored.entries);
  const resolve = ({ object, known }: Candidate): Identity => {
    const ref = refOf(object);
    const name = entryName(ref);
    const identity = resolveIdentity(object, entries.get(name), key);
    if (identity.kind !== 'unrecorded') return identity;
    if (!entries.has(name) && entries.size >= LIMITS.identitiesPerNamespaceMax) {
      return { kind: 'fault', reason: 'IdentityNotRecorded', message: FULL };
    }
    // The entry of an object that is in use was removed.
    const id = isInUse(known) ? known.uid : identity.id;
    entries.set(name, signedEntry(ref, id, key));
    return { kind: 'unrecorded', id };
  };
  const identities = candidates.map(resolve);
  const isChanged = identities.some(({ kind }) => kind === 'unrecorded');
  const refusal = isChanged ? await store.write(namespace, stored, entries).catch(refusalOf) : undefined;
  return identities.map((identity, index): Known => {
    const candidate = candidates[index] as Candidate;
    if (identity.kind === 'fault') return faulty(candidate.object, identity);
    if (identity.kind === 'unrecorded' && refusal !== undefined) return unlessInUse(candidate, refusal);
    return { uid: identity.id };
  });
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
