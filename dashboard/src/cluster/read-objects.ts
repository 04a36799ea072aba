import type { Kind, ObjectRef, ResourceObject } from '@standin/contract';
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

/** Returns the objects of a kind in one namespace or in all namespaces, read with the user's token. Rejects with `SourceError`. */
export const listIn = async (
  { client }: ClusterUser,
  kind: Kind,
  namespace: string | undefined,
): Promise<readonly ResourceObject[]> => {
  const { items } = await asSourceError(listAll<CustomResource>(client, collectionPath(kind, namespace)));
  return items.map((object) => toResourceObject(kind, object));
};

/** Returns an object, or undefined if it does not exist. Rejects with `SourceError`. */
export const getObject = async ({ client }: ClusterUser, ref: ObjectRef): Promise<ResourceObject | undefined> => {
  try {
    return toResourceObject(ref.kind, await client.get<CustomResource>(objectPath(ref)));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw toSourceError(error);
  }
};
