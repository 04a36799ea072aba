import { isRecord, type Kind, type ObjectMeta, type ObjectRef, type ResourceObject } from '@standin/contract';
import {
  asSourceError,
  collectionPath,
  isNotFound,
  listPages,
  objectPath,
  toResourceObject,
  toSourceError,
  type CustomResource,
} from '@standin/kube';
import type { ClusterUser } from './cluster-user.ts';

/** A larger object is listed without its large parts, because the objects of a namespace can have any size in total. */
const LISTED_BYTES_MAX = 64 * 1024;
/** Larger than what lists show of a spec or a status, such as a path or the conditions. */
const LISTED_PART_BYTES_MAX = 8 * 1024;

/**
 * Returns the objects of a kind in one namespace or in all namespaces, read with the user's token. Large objects have only the parts
 * that lists show. Rejects with `SourceError`.
 */
export const listIn = async (
  { client }: ClusterUser,
  kind: Kind,
  namespace: string | undefined,
): Promise<readonly ResourceObject[]> => {
  const listed: ResourceObject[] = [];
  const read = async (): Promise<void> => {
    for await (const { items } of listPages<CustomResource>(client, collectionPath(kind, namespace), {}))
      for (const object of items) listed.push(withoutLargeParts(toResourceObject(kind, object)));
  };
  await asSourceError(read());
  return listed;
};

const sizeOfJson = (value: unknown): number => (value === undefined ? 0 : JSON.stringify(value).length);

const withoutLargeParts = (object: ResourceObject): ResourceObject => {
  if (sizeOfJson(object) <= LISTED_BYTES_MAX) return object;
  const { metadata, spec, status } = object;
  return {
    ...object,
    metadata: smallParts(metadata, LISTED_BYTES_MAX) as ObjectMeta,
    spec: smallParts(spec, LISTED_PART_BYTES_MAX),
    status: smallParts(status, LISTED_PART_BYTES_MAX),
  };
};

const smallParts = (value: unknown, bytesMax: number): unknown =>
  isRecord(value)
    ? Object.fromEntries(Object.entries(value).filter(([, part]) => sizeOfJson(part) <= bytesMax))
    : undefined;

/** Returns an object, or undefined if it does not exist. Rejects with `SourceError`. */
export const getObject = async ({ client }: ClusterUser, ref: ObjectRef): Promise<ResourceObject | undefined> => {
  try {
    return toResourceObject(ref.kind, await client.get<CustomResource>(objectPath(ref)));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw toSourceError(error);
  }
};
