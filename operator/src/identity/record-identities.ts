import {
  errorMessage,
  LIMITS,
  SourceError,
  type IdentityFault,
  type ResourceObject,
  objectRef,
} from '@standin/contract';
import { readStatus } from '@standin/crds';
import { Turns } from '@standin/kube';
import type { IdentityStore } from './identity-secrets.ts';
import {
  checkEntry,
  entryName,
  IDENTITIES_SECRET,
  isMovedAway,
  ownIdentity,
  resolveIdentity,
  signedEntry,
  type Assertion,
  type CheckedEntry,
  type Installation,
} from './resolve-identity.ts';

/** The identity that replaces an object's uid, and the fault if the object has no usable identity. */
export interface Known {
  readonly uid: string;
  readonly epoch: number;
  readonly fault?: IdentityFault;
}

/** An object, and the identity under which it has been reported. */
export interface Candidate {
  readonly object: ResourceObject;
  readonly known: Known | undefined;
}

const FULL = `Secret ${IDENTITIES_SECRET} has reached the maximum of ${LIMITS.identitiesPerNamespaceMax} entries: delete the entries of objects that no longer exist`;

/**
 * Returns the fault, with a uid that no other object has. Two objects must never have the same uid, even if the identity of one of
 * them is the uid of the other.
 */
export const faulty = ({ metadata: { uid } }: ResourceObject, { reason, message }: IdentityFault): Known => ({
  uid: `unidentified ${uid}`,
  epoch: 0,
  fault: { reason, message },
});

export interface Resolved {
  /** The identities in the order of the candidates. Undefined for an object that no longer exists. */
  readonly identities: readonly (Known | undefined)[];
  /** The reason why identities are not stored or not verified. */
  readonly problem?: string;
}

export interface RecordOptions {
  readonly namespace: string;
  /** Whether objects are reported now even if the Secret cannot be read. */
  readonly isFinal: boolean;
  /** The entries that earlier calls have verified, to which this call adds. A namespace may have thousands, and few of them change. */
  readonly checked: WeakMap<Candidate, CheckedEntry>;
}

/**
 * Resolves the identities of a namespace's objects, after storing the new ones.
 *
 * If an identity cannot be stored, the object is still served under it, because it is the object's own uid or the identity that is
 * already in use. If the Secret cannot be read, the only known identities are those that are in use or confirmed by the status.
 * Rejects if a retry may help: on a conflict, and, unless `isFinal`, if a read fails for a reason other than a refusal.
 */
export const recordIdentities = async (
  store: IdentityStore,
  { namespace, isFinal, checked }: RecordOptions,
  candidates: readonly Candidate[],
): Promise<Resolved> => {
  const orRefusal = <T>(read: Promise<T>): Promise<T | string> =>
    read.catch((error: unknown) => refusalMessage(error, isFinal));
  const unreadable = (refusal: string, installation: Installation | undefined): Resolved => {
    const problem = `Secret ${IDENTITIES_SECRET} cannot be read: ${refusal}`;
    return { identities: candidates.map((candidate) => unverified(candidate, installation, problem)), problem };
  };
  const installation = await orRefusal(store.installation());
  if (typeof installation === 'string') return unreadable(installation, undefined);
  const stored = await orRefusal(store.read(namespace));
  if (typeof stored === 'string') return unreadable(stored, installation);

  const turns = new Turns();
  const known: (Known | undefined)[] = [];
  const added: Added[] = [];
  let isFull = false;
  const hasRoom = stored.entries.size < LIMITS.identitiesPerNamespaceMax;
  for (const [index, candidate] of candidates.entries()) {
    await turns.pause();
    const ref = objectRef(candidate.object);
    const entry = stored.entries.get(entryName(ref));
    const check = entry === undefined ? undefined : checkEntry(ref, entry, installation.key, checked.get(candidate));
    if (check !== undefined) checked.set(candidate, check);
    const inUse = isInUse(candidate.known) ? assertionInUse(candidate.known) : undefined;
    const identity = resolveIdentity(candidate.object, { checked: check, inUse }, installation);
    known.push(
      identity.kind === 'fault' ? faulty(candidate.object, identity) : { uid: identity.id, epoch: identity.epoch },
    );
    if (identity.kind !== 'unrecorded') continue;
    if (entry === undefined && !hasRoom) isFull = true;
    else added.push({ index, candidate, assertion: identity });
  }
  if (added.length === 0) return { identities: known, ...(isFull && { problem: FULL }) };
  try {
    // The source may lag behind and report objects of a deleted namespace. A new namespace with the same name must not inherit
    // their identities.
    const existing = await findExisting(store, namespace, added);
    const entries = new Map(stored.entries);
    let hasChanged = false;
    for (const one of added) {
      await turns.pause();
      if (!existing.has(one)) {
        known[one.index] = undefined;
        continue;
      }
      const ref = objectRef(one.candidate.object);
      const name = entryName(ref);
      if (!entries.has(name) && entries.size >= LIMITS.identitiesPerNamespaceMax) {
        isFull = true;
        continue;
      }
      entries.set(name, signedEntry(ref, one.assertion, installation.key));
      hasChanged = true;
    }
    if (hasChanged) await store.write(namespace, stored, entries);
    return { identities: known, ...(isFull && { problem: FULL }) };
  } catch (error) {
    return {
      identities: known,
      problem: `Secret ${IDENTITIES_SECRET} cannot be written: ${refusalMessage(error, true)}`,
    };
  }
};

/** A candidate whose entry must be written. */
interface Added {
  readonly index: number;
  readonly candidate: Candidate;
  readonly assertion: Assertion;
}

/** Resolves with those of `added` that still exist. */
const findExisting = async (
  store: IdentityStore,
  namespace: string,
  added: readonly Added[],
): Promise<ReadonlySet<Added>> => {
  const byKind = Map.groupBy(added, ({ candidate }) => candidate.object.kind);
  const existing = Array.from(byKind, async ([kind, group]) => {
    const metadata = ({ candidate: { object } }: Added) => object.metadata;
    const uids = await store.uids(
      kind,
      namespace,
      group.map((one) => metadata(one).name),
    );
    return group.filter((one) => uids.get(metadata(one).name) === metadata(one).uid);
  });
  return new Set((await Promise.all(existing)).flat());
};

const assertionInUse = ({ uid, epoch }: Known): Assertion => ({ id: uid, epoch });

const isInUse = (known: Known | undefined): known is Known => known !== undefined && known.fault === undefined;

/**
 * Returns the identity of an object whose Secret cannot be read: the identity in use, or the object's own uid if the status
 * confirms it. This is sufficient, because an object's own uid claims nothing that belongs to another object. An object that was
 * processed before identities existed has no id in its status.
 */
const unverified = ({ object, known }: Candidate, installation: Installation | undefined, problem: string): Known => {
  const { kind, metadata } = object;
  const { uid } = metadata;
  const asserted = isInUse(known) ? assertionInUse(known) : ownIdentity(uid);
  if (installation !== undefined && isMovedAway(kind, asserted, installation))
    return faulty(object, { reason: 'IdentityNotRecorded', message: `${problem}.` });
  if (isInUse(known)) return known;
  const { id, observedGeneration } = readStatus('Project', object.status);
  const isOwn = id === uid || (id === undefined && observedGeneration !== undefined);
  return isOwn ? { uid, epoch: 0 } : faulty(object, { reason: 'IdentityNotRecorded', message: `${problem}.` });
};

/**
 * Returns the message of an error that affects only this Secret or, if `isFinal`, of any error except a conflict. Rethrows all
 * other errors.
 */
const refusalMessage = (error: unknown, isFinal: boolean): string => {
  const refusals: readonly string[] = ['Forbidden', 'Invalid', 'NotFound'];
  const isConflict = error instanceof SourceError && error.kind === 'Conflict';
  const isRefusal = error instanceof SourceError && refusals.includes(error.kind);
  if (!isConflict && (isRefusal || isFinal)) return errorMessage(error);
  throw error;
};
