import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IdentityFault, Kind, ObjectRef, ResourceObject } from '@standin/contract';

/** Name of the Secret in each namespace that contains the identities of the namespace's objects. */
export const IDENTITIES_SECRET = 'standin-identities';

/** What an entry asserts. */
export interface Assertion {
  readonly id: string;
  /** When the identity was moved to this object, in milliseconds since the epoch. 0 if it was never moved. */
  readonly epoch: number;
}

/** The state of an installation that identities depend on. */
export interface Installation {
  /** Signs the entries. */
  readonly key: Uint8Array;
  /** The last epoch of each identity that was moved, by `movedKey`. Entries with an earlier epoch are void. */
  readonly epochs: ReadonlyMap<string, number>;
}

/** An object's identity. If it is `unrecorded`, the entry must be written before anything depends on the id. */
export type Identity =
  | ({ readonly kind: 'recorded' } & Assertion)
  | ({ readonly kind: 'unrecorded' } & Assertion)
  | ({ readonly kind: 'fault' } & IdentityFault);

export const movedKey = (kind: Kind, id: string): string => `${kind}.${id}`;

/** Returns the identity that an object has if it was never moved. */
export const ownIdentity = (uid: string): Assertion => ({ id: uid, epoch: 0 });

/** Returns whether the identity was moved to another object later. */
export const isMovedAway = (kind: Kind, { id, epoch }: Assertion, { epochs }: Installation): boolean =>
  epoch < (epochs.get(movedKey(kind, id)) ?? 0);

/** Kubernetes limits the length of a data key. */
const DATA_KEY_LENGTH_MAX = 253;

/** Returns the data key of an object's entry, for example `Project.shop`. */
export const entryName = ({ kind, name }: Pick<ObjectRef, 'kind' | 'name'>): string => {
  const plain = `${kind}.${name}`;
  return plain.length <= DATA_KEY_LENGTH_MAX ? plain : `${kind}.${createHash('sha256').update(name).digest('hex')}`;
};

const entrySignature = ({ kind, namespace, name }: ObjectRef, { id, epoch }: Assertion, key: Uint8Array): string =>
  createHmac('sha256', key)
    .update(JSON.stringify(['standin identity', kind, namespace, name, id, epoch]))
    .digest('base64url');

/** Returns the value of an object's entry, in the form `ID EPOCH SIGNATURE`. */
export const signedEntry = (ref: ObjectRef, assertion: Assertion, key: Uint8Array): string =>
  `${assertion.id} ${assertion.epoch} ${entrySignature(ref, assertion, key)}`;

/** An entry of an object, and what it asserts according to `verifiedEntry`. */
export interface CheckedEntry {
  readonly entry: string;
  readonly key: Uint8Array;
  readonly assertion: Assertion | undefined;
}

/** Verifies an entry, unless `last` is the result for the same entry of the same object with the same key. */
export const checkEntry = (
  ref: ObjectRef,
  entry: string,
  key: Uint8Array,
  last: CheckedEntry | undefined,
): CheckedEntry => {
  const isSame = last?.entry === entry && Buffer.compare(last.key, key) === 0;
  return isSame ? last : { entry, key, assertion: verifiedEntry(ref, entry, key) };
};

/** Returns what an entry asserts, or undefined if the entry was not written for this object with this key. */
export const verifiedEntry = (ref: ObjectRef, entry: string, key: Uint8Array): Assertion | undefined => {
  const [id = '', epoch, signature = ''] = entry.split(' ');
  const assertion = { id, epoch: Number(epoch) };
  const [expected, given] = [entrySignature(ref, assertion, key), signature].map((text) =>
    createHash('sha256').update(text).digest(),
  );
  return expected !== undefined && given !== undefined && timingSafeEqual(expected, given) ? assertion : undefined;
};

/**
 * Returns the identity of an object, which is the uid under which the object was first seen (ADR 024).
 *
 * An object without an entry gets its own uid as identity, unless the operator already serves the object under another identity. An
 * entry with the object's own uid claims nothing else, so it is signed again if its signature does not verify, because the
 * installation key may have been lost. An entry with the identity under which the object is in use is also signed again, because
 * the key may have been replaced. No entry asserts an identity that was moved to another object later.
 */
export const resolveIdentity = (
  { kind, metadata: { name, uid } }: ResourceObject,
  { checked, inUse }: { readonly checked: CheckedEntry | undefined; readonly inUse: Assertion | undefined },
  installation: Installation,
): Identity => {
  const ref = { kind, name };
  const place = `The entry ${entryName(ref)} in Secret ${IDENTITIES_SECRET}`;
  const verified = checked?.assertion;
  const [id] = checked?.entry.split(' ', 1) ?? [];
  if (verified === undefined && id !== undefined && id !== uid && id !== inUse?.id) {
    const message =
      `${place} was not signed for this object by this installation. ` +
      'Restore the Secret or the installation key, or run standin admin adopt. To start with an empty log, delete the entry.';
    return { kind: 'fault', reason: 'IdentityInvalid', message };
  }
  const asserted = verified ?? inUse ?? ownIdentity(uid);
  if (isMovedAway(kind, asserted, installation)) {
    const message =
      `The identity ${asserted.id} was moved to another object with standin admin adopt. ` +
      `To start with an empty log, delete this object and its entry ${entryName(ref)} in Secret ${IDENTITIES_SECRET}, and create the object again.`;
    return { kind: 'fault', reason: 'IdentityInvalid', message };
  }
  return { kind: verified === undefined ? 'unrecorded' : 'recorded', ...asserted };
};
