import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IdentityFault, Kind, ObjectRef, ResourceObject } from '@standin/contract';

/** The Secret of each namespace with the identities of its objects. */
export const IDENTITIES_SECRET = 'standin-identities';

/** Kinds with data that outlives the object: the log, the default URI, the ledger of a quota. */
const IDENTIFIED_KINDS: ReadonlySet<Kind> = new Set(['Account', 'Project']);

export const isIdentified = (kind: Kind): boolean => IDENTIFIED_KINDS.has(kind);

/** `unrecorded`: the entry must be written before anything depends on the id. */
export type Identity =
  | { readonly kind: 'recorded'; readonly id: string }
  | { readonly kind: 'unrecorded'; readonly id: string }
  | ({ readonly kind: 'fault' } & IdentityFault);

/** Kubernetes limits the length of a data key. */
const DATA_KEY_LENGTH_MAX = 253;

/** The data key of an object's entry: `Project.shop`. */
export const entryName = ({ kind, name }: Pick<ObjectRef, 'kind' | 'name'>): string => {
  const plain = `${kind}.${name}`;
  return plain.length <= DATA_KEY_LENGTH_MAX ? plain : `${kind}.${createHash('sha256').update(name).digest('hex')}`;
};

const signatureOf = ({ kind, namespace, name }: ObjectRef, id: string, key: Uint8Array): string =>
  createHmac('sha256', key)
    .update(JSON.stringify(['standin identity', kind, namespace, name, id]))
    .digest('base64url');

/** The value of an object's entry: `ID SIGNATURE`. */
export const signedEntry = (ref: ObjectRef, id: string, key: Uint8Array): string =>
  `${id} ${signatureOf(ref, id, key)}`;

/** The id of an entry. Undefined: the entry was not written for this object with this key. */
export const verifiedId = (ref: ObjectRef, entry: string, key: Uint8Array): string | undefined => {
  const [id = '', signature = ''] = entry.split(' ');
  const [expected, given] = [signatureOf(ref, id, key), signature].map((text) =>
    createHash('sha256').update(text).digest(),
  );
  return expected !== undefined && given !== undefined && timingSafeEqual(expected, given) ? id : undefined;
};

/**
 * The identity of an object: the uid under which it was first seen (ADR 024).
 *
 * An object without an entry is new: its own uid becomes its identity. An entry with that uid claims nothing else, so it is
 * signed again if its signature does not verify: the installation key may have been lost.
 */
export const resolveIdentity = (
  { kind, metadata: { namespace, name, uid } }: ResourceObject,
  entry: string | undefined,
  key: Uint8Array,
): Identity => {
  if (entry === undefined) return { kind: 'unrecorded', id: uid };
  const ref = { kind, namespace, name };
  const id = verifiedId(ref, entry, key);
  if (id !== undefined) return { kind: 'recorded', id };
  if (entry.split(' ', 1)[0] === uid) return { kind: 'unrecorded', id: uid };
  const message =
    `The entry ${entryName(ref)} in Secret ${IDENTITIES_SECRET} was not signed for this object by this installation. ` +
    'Restore the Secret or the installation key, or run standin adopt. To start with an empty log, delete the entry.';
  return { kind: 'fault', reason: 'IdentityInvalid', message };
};
