import type { Kind, ObjectRef, ResourceObject } from '@standin/contract';
import { readStatus } from '@standin/crds';
import {
  asSourceError,
  collectionPath,
  isNotFound,
  listAll,
  objectPath,
  toResourceObject,
  toSourceError,
  type CustomResource,
} from '@standin/kube';
import type { ClusterUser } from './cluster-user.ts';

/**
 * Converts an object from the API server. The uid of an Account or a Project is its identity, which the operator writes into the
 * status (ADR 024). Until the operator has written it, the identity is the object's own uid, which is unique.
 */
export const readObject = (kind: Kind, object: CustomResource): ResourceObject => {
  const read = toResourceObject(kind, object);
  const id = kind === 'Account' || kind === 'Project' ? readStatus(kind, object.status).id : undefined;
  return id === undefined ? read : { ...read, metadata: { ...read.metadata, uid: id } };
};

/** Returns the objects of a kind in one namespace or in all namespaces, read with the user's token. Rejects with `SourceError`. */
export const listIn = async (
  { client }: ClusterUser,
  kind: Kind,
  namespace: string | undefined,
): Promise<readonly ResourceObject[]> => {
  const { items } = await asSourceError(listAll<CustomResource>(client, collectionPath(kind, namespace)));
  return items.map((object) => readObject(kind, object));
};

/** Returns an object, or undefined if it does not exist. Rejects with `SourceError`. */
export const getObject = async ({ client }: ClusterUser, ref: ObjectRef): Promise<ResourceObject | undefined> => {
  try {
    return readObject(ref.kind, await client.get<CustomResource>(objectPath(ref)));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw toSourceError(error);
  }
};
