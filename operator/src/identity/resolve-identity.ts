import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IdentityFault, ObjectRef, ResourceObject } from '@standin/contract';

/** Name of the Secret in each namespace that contains the identities of the namespace's objects. */
export const IDENTITIES_SECRET = 'standin-identities';

/** An object's identity. If it is `unrecorded`, the entry must be written before anything depends on the id. */
export type Identity =
  | { readonly kind: 'recorded'; readonly id: string }
  | { readonly kind: 'unrecorded'; readonly id: string }
  | ({ readonly kind: 'fault' } & IdentityFault);

/** Kubernetes limits the length of a data key. */
const DATA_KEY_LENGTH_MAX = 253;

/** Returns the data key of an object's entry, for example `Project.shop`. */
export const entryName = ({ kind, name }: Pick<ObjectRef, 'kind' | 'name'>): string => {
  const plain = `${kind}.${name}`;
  return plain.length <= DATA_KEY_LENGTH_MAX ? plain : `${kind}.${createHash('sha256').update(name).digest('hex')}`;
};

const signatureOf = ({ kind, namespace, name }: ObjectRef, id: string, key: Uint8Array): string =>
  createHmac('sha256', key)
    .update(JSON.stringify(['standin identity', kind, namespace, name, id]))
    .digest('base64url');

/** Returns the value of an object's entry, in the form `ID SIGNATURE`. */
export const signedEntry = (ref: ObjectRef, id: string, key: Uint8Array): string =>
  `${id} ${signatureOf(ref, id, key)}`;

/** Returns the id of an entry, or undefined if the entry was not written for this object with this key. */
export const verifiedId = (ref: ObjectRef, entry: string, key: Uint8Array): string | undefined => {
  const [id = '', signature = ''] = entry.split(' ');
  const [expected, given] = [signatureOf(ref, id, key), signature].map((text) =>
    createHash('sha256').update(text).digest(),
  );
  return expected !== undefined && given !== undefined && timingSafeEqual(expected, given) ? id : undefined;
};

/**
 * Returns the identity of an object, which is the uid under which the object was first seen (ADR 024).
 *
 * An object without an entry gets its own uid as identity, unless the operator already serves the object under another identity. An
 * entry with the object's own uid claims nothing else, so it is signed again if its signature does not verify, because the
 * installation key may have been lost. An entry with the identity under which the object is in use is also signed again, because
 * the key may have been replaced.
 */
export const resolveIdentity = (
  { kind, metadata: { namespace, name, uid } }: ResourceObject,
  { entry, inUse }: { readonly entry: string | undefined; readonly inUse: string | undefined },
  key: Uint8Array,
): Identity => {
  const unrecorded = { kind: 'unrecorded', id: inUse ?? uid } as const;
  if (entry === undefined) return unrecorded;
  const ref = { kind, namespace, name };
  const verified = verifiedId(ref, entry, key);
  if (verified !== undefined) return { kind: 'recorded', id: verified };
  const [id] = entry.split(' ', 1);
  if (id === uid || id === inUse) return unrecorded;
  const message =
    `The entry ${entryName(ref)} in Secret ${IDENTITIES_SECRET} was not signed for this object by this installation. ` +
    'Restore the Secret or the installation key, or run standin admin adopt. To start with an empty log, delete the entry.';
  return { kind: 'fault', reason: 'IdentityInvalid', message };
};
