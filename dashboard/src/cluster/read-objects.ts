import { isRecord, type Kind, type ObjectRef, type ResourceObject } from '@standin/contract';
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

/** Larger than what lists show of an object, such as a path, a URL or six conditions with the longest messages. */
const LISTED_PART_BYTES_MAX = 8 * 1024;

/**
 * Returns the objects of a kind in one namespace or in all namespaces, read with the user's token. They have only the parts that lists
 * show, because the objects of a namespace can have any size in total. Rejects with `SourceError`.
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

/** Leaves out long texts and lists, at any depth. */
export const withoutLargeParts = <T extends object>(object: T): T => smallPart(object) as T;

const smallPart = (value: unknown): unknown => {
  if (sizeOfJson(value) <= LISTED_PART_BYTES_MAX) return value;
  if (!isRecord(value)) return undefined;
  const parts = Object.entries(value).map(([name, part]) => [name, smallPart(part)] as const);
  return Object.fromEntries(parts.filter(([, part]) => part !== undefined));
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
